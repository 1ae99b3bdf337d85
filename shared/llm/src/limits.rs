//! The time limits of one model call. All run apart; the first that ends, ends the call.

use std::time::Duration;

use tokio::time::Instant;

/// Answer tokens that the slowest server worth waiting for writes in one second. A 20B model on a processor
/// alone writes about this many.
const SLOWEST_TOKENS_PER_S: u64 = 10;

/// How long one model call may take. The time to connect is the client's own: see
/// [`CONNECT_TIMEOUT`](crate::CONNECT_TIMEOUT).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeLimits {
    /// Until the first token of an empty prompt. Default 30 s.
    pub first_token: Duration,
    /// Prompt tokens that the server is expected to read in one second; they prolong `first_token`.
    /// Default 100.
    pub prompt_tokens_per_s: u64,
    /// The longest that `first_token` grows to. Default 5 min.
    pub first_token_cap: Duration,
    /// Between two pieces of the answer. Default 60 s.
    pub idle: Duration,
    /// The whole call. Default 10 min.
    pub whole: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            first_token: Duration::from_secs(30),
            prompt_tokens_per_s: 100,
            first_token_cap: Duration::from_secs(5 * 60),
            idle: Duration::from_secs(60),
            whole: Duration::from_secs(10 * 60),
        }
    }
}

impl TimeLimits {
    /// The default limits with another one for the whole call.
    pub fn with_whole(whole: Duration) -> Self {
        Self { whole, ..Self::default() }
    }

    /// Time until the first token of a prompt of `prompt_tokens`.
    pub fn first_token_of(&self, prompt_tokens: u64) -> Duration {
        let reading_ms = prompt_tokens.saturating_mul(1_000) / self.prompt_tokens_per_s.max(1);
        self.first_token.saturating_add(Duration::from_millis(reading_ms)).min(self.first_token_cap)
    }

    /// Time until an answer that comes in one piece: nothing is heard before its end, so the time to read the
    /// prompt is prolonged by the time to write the longest answer at 10 tokens a second. Native tool
    /// mode alone asks for such answers.
    pub fn whole_piece_of(&self, prompt_tokens: u64, max_tokens: u32) -> Duration {
        let writing = Duration::from_secs(u64::from(max_tokens) / SLOWEST_TOKENS_PER_S);
        self.first_token_of(prompt_tokens).saturating_add(writing).min(self.whole)
    }
}

/// The limits of one call that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    pub(crate) started: Instant,
    pub(crate) first_token: Duration,
    pub(crate) idle: Duration,
    pub(crate) whole: Duration,
    /// Whether the answer comes piece by piece.
    pub(crate) streams: bool,
}

/// Which limit ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    FirstToken,
    Idle,
    Whole,
}

impl Deadlines {
    pub(crate) fn start(limits: &TimeLimits, prompt_tokens: u64) -> Self {
        Self {
            started: Instant::now(),
            first_token: limits.first_token_of(prompt_tokens),
            idle: limits.idle,
            whole: limits.whole,
            streams: true,
        }
    }

    /// The limits of a call whose answer comes in one piece: its first sign of life is its end.
    pub(crate) fn start_in_one_piece(limits: &TimeLimits, prompt_tokens: u64, max_tokens: u32) -> Self {
        let first_token = limits.whole_piece_of(prompt_tokens, max_tokens);
        Self { first_token, streams: false, ..Self::start(limits, prompt_tokens) }
    }

    /// When the wait for the next piece ends, and which limit ends it. `last_piece` is `None` before the
    /// first token.
    pub(crate) fn next(&self, last_piece: Option<Instant>) -> (Instant, Ended) {
        let (own, ended) = match last_piece {
            None => (self.started + self.first_token, Ended::FirstToken),
            Some(last) => (last + self.idle, Ended::Idle),
        };
        let whole = self.started + self.whole;
        if whole <= own { (whole, Ended::Whole) } else { (own, ended) }
    }

    /// What a person reads about a limit that ended the call.
    pub(crate) fn say(&self, ended: Ended) -> String {
        match ended {
            Ended::FirstToken if self.streams => format!("no first token within {:?}", self.first_token),
            Ended::FirstToken => format!("no answer within {:?}", self.first_token),
            Ended::Idle => format!("the answer stood still for {:?}", self.idle),
            Ended::Whole => format!("the call was not finished within {:?}", self.whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_token_limit_grows_with_the_prompt_up_to_its_cap() {
        let limits = TimeLimits::default();
        let seconds: Vec<u64> = [0, 1_000, 27_000, 100_000, u64::MAX]
            .map(|tokens| limits.first_token_of(tokens).as_secs())
            .into();
        assert_eq!(seconds, [30, 40, 300, 300, 300]);
    }

    #[test]
    fn an_answer_in_one_piece_has_the_time_to_be_written_too() {
        let limits = TimeLimits::default();
        let seconds = |prompt, answer| limits.whole_piece_of(prompt, answer).as_secs();
        assert_eq!([seconds(0, 0), seconds(1_000, 1_000), seconds(0, 4_096)], [30, 140, 439]);
        assert_eq!(seconds(20_000, 8_192), 600, "never longer than the whole call");
    }

    #[tokio::test]
    async fn the_nearest_limit_ends_the_wait() {
        let limits =
            TimeLimits { idle: Duration::from_secs(5), ..TimeLimits::with_whole(Duration::from_secs(60)) };
        let deadlines = Deadlines::start(&limits, 0);
        let at = |seconds| deadlines.started + Duration::from_secs(seconds);
        assert_eq!(deadlines.next(None), (at(30), Ended::FirstToken));
        assert_eq!(deadlines.next(Some(at(10))), (at(15), Ended::Idle));
        assert_eq!(deadlines.next(Some(at(58))), (at(60), Ended::Whole));
    }
}
