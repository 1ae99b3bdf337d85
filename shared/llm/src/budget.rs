//! How long a prompt may be, and how many tokens a text is estimated to have.

use std::sync::{Mutex, PoisonError};

use crate::server::ServerKind;

/// The least context for a `build` task, in tokens. With fewer, a coding session has no room for its own history.
pub const LEAST_BUILD_CONTEXT_TOKENS: u64 = 16_384;

/// Room that the server's own template and our counting error may take, in tokens.
const RESERVE_TOKENS: u64 = 512;

/// The largest prompt, in tokens, that leaves room for `max_tokens` of answer in a context of `context`
/// tokens: `min(context − max_tokens − 512, 0.6 · context)`, and 0 where nothing is left.
///
/// On Ollama at most `0.5 · context`: it cuts a prompt that is too long in silence, from the front.
pub fn prompt_budget(context: u64, max_tokens: u32, server: ServerKind) -> u64 {
    let beside_the_answer = context.saturating_sub(u64::from(max_tokens)).saturating_sub(RESERVE_TOKENS);
    let share = match server {
        ServerKind::Ollama => context / 2,
        _ => context.saturating_mul(3) / 5,
    };
    beside_the_answer.min(share)
}

/// Tokens of a text where the server can't count them: bytes / 2.5, rounded up.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).saturating_mul(2).div_ceil(5)
}

/// Calls after which the ratio is relied on where being wrong costs an answer.
const CALLS_TO_LEARN: u32 = 5;
/// The calls that the ratio looks back on; an older one has ever less weight.
const CALLS_REMEMBERED: u32 = 8;
/// A shorter prompt says more about the template's own text than about the model's tokens.
const LEAST_ESTIMATE: u64 = 200;
/// A count under this part of what is expected is taken for a prompt that was cut, not for a shorter one.
const LEAST_CREDIBLE: f64 = 0.7;

/// How many tokens a model really makes of what [`estimate_tokens`] calls one: a running ratio, fed with the
/// server's own `usage.prompt_tokens`. Begins at 1.
#[derive(Debug, Default)]
pub struct TokenRatio {
    seen: Mutex<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    ratio: f64,
    calls: u32,
}

impl Default for Seen {
    fn default() -> Self {
        Self { ratio: 1.0, calls: 0 }
    }
}

impl TokenRatio {
    /// A call whose prompt was estimated (uncorrected) at `estimated` tokens had `counted`.
    ///
    /// Left out are short prompts, counts that no tokenizer gives (under a fifth or over three times the estimate),
    /// and, once the ratio is learned, counts under 0.7 of what it expects: those prompts were cut.
    pub fn record(&self, estimated: u64, counted: u64) {
        if estimated < LEAST_ESTIMATE {
            return;
        }
        let ratio = counted as f64 / estimated as f64;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = seen.calls >= CALLS_TO_LEARN && ratio < seen.ratio * LEAST_CREDIBLE;
        if cut || !(0.2..=3.0).contains(&ratio) {
            return;
        }
        // The estimate itself counts as the first call.
        seen.calls = seen.calls.saturating_add(1);
        let weight = (seen.calls + 1).min(CALLS_REMEMBERED);
        seen.ratio += (ratio - seen.ratio) / f64::from(weight);
    }

    /// The estimate as this model's calls correct it.
    pub fn correct(&self, estimated: u64) -> u64 {
        let ratio = self.seen.lock().unwrap_or_else(PoisonError::into_inner).ratio;
        (estimated as f64 * ratio).ceil() as u64
    }

    /// The same, where five calls and more have been seen; before, the ratio proves nothing.
    pub fn expected(&self, estimated: u64) -> Option<u64> {
        let calls = self.seen.lock().unwrap_or_else(PoisonError::into_inner).calls;
        (calls >= CALLS_TO_LEARN).then(|| self.correct(estimated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_leaves_room_for_the_answer() {
        let budget = |context, max_tokens| prompt_budget(context, max_tokens, ServerKind::LmStudio);
        assert_eq!(budget(32_768, 8_192), 19_660, "0.6 of the context is the smaller one");
        assert_eq!(budget(16_384, 8_192), 7_680, "context − max_tokens − 512 is the smaller one");
        assert_eq!(budget(4_096, 4_096), 0);
        assert_eq!(budget(0, 1), 0);
    }

    #[test]
    fn ollama_gets_half_a_context_at_most() {
        assert_eq!(prompt_budget(32_768, 4_096, ServerKind::Ollama), 16_384);
        assert_eq!(prompt_budget(16_384, 8_192, ServerKind::Ollama), 7_680);
    }

    #[test]
    fn estimate_is_two_and_a_half_bytes_a_token() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("a"), 1);
        assert_eq!(estimate_tokens("12345"), 2);
        assert_eq!(estimate_tokens("123456"), 3);
        assert_eq!(estimate_tokens("ééééé"), 4, "bytes, not characters");
    }

    #[test]
    fn the_ratio_comes_near_what_calls_took_and_is_relied_on_after_five() {
        let ratio = TokenRatio::default();
        assert_eq!(ratio.correct(1_000), 1_000);
        for _ in 0..4 {
            ratio.record(1_000, 600);
        }
        assert_eq!(ratio.expected(1_000), None);
        for _ in 0..30 {
            ratio.record(1_000, 600);
        }
        let expected = ratio.expected(1_000).unwrap();
        assert!((600..=620).contains(&expected), "{expected}");
    }

    #[test]
    fn cut_prompts_and_odd_counts_teach_nothing() {
        let ratio = TokenRatio::default();
        for (estimated, counted) in [(100, 300), (1_000, 10), (1_000, 0), (1_000, 9_000)] {
            ratio.record(estimated, counted);
            assert_eq!(ratio.correct(1_000), 1_000, "{estimated} {counted}");
        }
        for _ in 0..5 {
            ratio.record(1_000, 1_000);
        }
        ratio.record(1_000, 650);
        assert_eq!(ratio.expected(1_000), Some(1_000));
        ratio.record(1_000, 800);
        assert!(ratio.correct(1_000) < 1_000);
    }
}
