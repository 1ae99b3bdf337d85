//! How long a view may be: tokens of a prompt's budget as bytes.

use nightforge_domain::research::views::FIXED_BYTES;

use crate::engine::JobContext;

/// Bytes that a token is taken for, as a fraction: the estimate that calls are held to is bytes / 2.5. A Chinese or
/// Japanese character is three bytes there, which is more than tokenizers make of one.
const BYTES: (u64, u64) = (5, 2);

/// Share of the budget that the first ask may fill: a re-ask shows the refused answer as well.
const FIRST_ASK: (u64, u64) = (3, 4);

/// Bytes for a view in a prompt whose fixed text has `system_bytes`.
pub(crate) fn view_bytes(context: &JobContext, system_bytes: usize) -> usize {
    bytes(context.prompt_budget(), system_bytes + FIXED_BYTES)
}

fn bytes(budget_tokens: u64, beside: usize) -> usize {
    let all = budget_tokens.saturating_mul(BYTES.0) / BYTES.1 * FIRST_ASK.0 / FIRST_ASK.1;
    usize::try_from(all).unwrap_or(usize::MAX).saturating_sub(beside)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn a_prompt_leaves_room_for_a_second_ask() {
        assert_eq!(bytes(1_000, 500), 1_875 - 500);
        assert_eq!(bytes(100, 5_000), 0);
    }
}
