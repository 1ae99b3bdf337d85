//! Noticing that an agent goes in circles.

/// What the harness says about the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// Nothing to say.
    None,
    /// The agent should be told.
    Warn,
    /// The session should end.
    End,
}

/// The calls of a session with their results.
#[derive(Debug, Default)]
pub(crate) struct Calls(Vec<(String, String)>);

impl Calls {
    /// Notes a call. The same call with the same result: three times in a row warns, five times ends; two calls in
    /// turn, likewise with three and five rounds.
    pub(crate) fn note(&mut self, call: String, result: String) -> Repetition {
        self.0.push((call, result));
        let longest = self.in_a_row(1).max(self.in_a_row(2));
        match longest {
            0..3 => Repetition::None,
            3..5 => Repetition::Warn,
            _ => Repetition::End,
        }
    }

    /// How often the last `period` calls stand at the end, one after another.
    fn in_a_row(&self, period: usize) -> usize {
        let calls = &self.0;
        if calls.len() < period {
            return 0;
        }
        let last = &calls[calls.len() - period..];
        calls.rchunks_exact(period).take_while(|chunk| *chunk == last).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(calls: &str) -> Vec<Repetition> {
        let mut noted = Calls::default();
        calls.split(' ').map(|call| noted.note(call.to_owned(), "same".to_owned())).collect()
    }

    #[test]
    fn the_same_call_warns_at_three_and_ends_at_five() {
        use Repetition::{End, None, Warn};
        assert_eq!(play("a a a a a"), [None, None, Warn, Warn, End]);
        assert_eq!(play("a a b a a"), [None; 5]);
    }

    #[test]
    fn two_calls_in_turn_count_by_rounds() {
        let found = play("a b a b a b a b a b");
        assert_eq!(found[5], Repetition::Warn);
        assert_eq!(found[9], Repetition::End);
        assert!(found[..5].iter().all(|repetition| *repetition == Repetition::None));
    }

    #[test]
    fn another_result_is_progress() {
        let mut calls = Calls::default();
        for result in 0..9 {
            assert_eq!(calls.note("run_tests".to_owned(), result.to_string()), Repetition::None);
        }
    }
}
