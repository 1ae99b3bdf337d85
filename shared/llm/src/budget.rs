//! How long a prompt may be.

/// Room that the server's own template and our counting error may take, in tokens.
const RESERVE_TOKENS: u64 = 512;

/// The largest prompt, in tokens, that leaves room for `max_tokens` of answer in a context of `context`
/// tokens: `min(context − max_tokens − 512, 0.6 · context)`, and 0 where nothing is left.
pub fn prompt_budget(context: u64, max_tokens: u32) -> u64 {
    let beside_the_answer = context.saturating_sub(u64::from(max_tokens)).saturating_sub(RESERVE_TOKENS);
    beside_the_answer.min(context.saturating_mul(3) / 5)
}

/// Tokens of a text where the server can't count them: bytes / 2.5, rounded up.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).saturating_mul(2).div_ceil(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_leaves_room_for_the_answer() {
        assert_eq!(prompt_budget(32_768, 8_192), 19_660, "0.6 of the context is the smaller one");
        assert_eq!(prompt_budget(16_384, 8_192), 7_680, "context − max_tokens − 512 is the smaller one");
        assert_eq!(prompt_budget(4_096, 4_096), 0);
        assert_eq!(prompt_budget(0, 1), 0);
    }

    #[test]
    fn estimate_is_two_and_a_half_bytes_a_token() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("a"), 1);
        assert_eq!(estimate_tokens("12345"), 2);
        assert_eq!(estimate_tokens("123456"), 3);
        assert_eq!(estimate_tokens("ééééé"), 4, "bytes, not characters");
    }
}
