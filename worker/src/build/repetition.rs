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
    pub(crate) fn note(&mut self, call: String, result: &str) -> Repetition {
        self.0.push((call, without_durations(result)));
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

/// Test runners say how long they took, which is another result each time only to the letter: `0.003s`, `1.2 ms`.
fn without_durations(result: &str) -> String {
    let mut text = String::with_capacity(result.len());
    let mut rest = result;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        let unit = after.trim_start_matches(' ');
        let is_duration = number.contains('.') && (unit.starts_with('s') || unit.starts_with("ms"));
        text.push_str(before);
        text.push_str(if is_duration { "#" } else { number });
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(calls: &str) -> Vec<Repetition> {
        let mut noted = Calls::default();
        calls.split(' ').map(|call| noted.note(call.to_owned(), "same")).collect()
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
            assert_eq!(calls.note("run_tests".to_owned(), &result.to_string()), Repetition::None);
        }
    }

    #[test]
    fn how_long_a_run_took_makes_no_other_result() {
        let mut calls = Calls::default();
        let last = (1..=5)
            .map(|run| calls.note("run_tests".to_owned(), &format!("Ran 1 test in 0.00{run}s\n")))
            .last();
        assert_eq!(last, Some(Repetition::End));
        assert_eq!(
            without_durations("Ran 12 tests in 0.003s: 1.5 ms, 3.12 of 4.0"),
            "Ran 12 tests in #s: # ms, 3.12 of 4.0"
        );
    }
}
