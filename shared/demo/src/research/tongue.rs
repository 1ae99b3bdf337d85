//! The language that the model writes its own words in. What it quotes stays as it is.

use super::view::View;
use super::words::is_hiragana;

/// Languages that the model has words in; in others it quotes, with English between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    English,
    Japanese,
}

impl Tongue {
    pub(super) fn of(view: &View, objective: &str) -> Self {
        let named = view.section("LANGUAGE").unwrap_or_default();
        let is_japanese =
            named == "Japanese" || named.starts_with("the language") && objective.contains(is_hiragana);
        if is_japanese { Tongue::Japanese } else { Tongue::English }
    }

    pub(super) fn pick<'a>(self, english: &'a str, japanese: &'a str) -> &'a str {
        match self {
            Tongue::English => english,
            Tongue::Japanese => japanese,
        }
    }

    pub(super) fn say(self, english: String, japanese: String) -> String {
        match self {
            Tongue::English => english,
            Tongue::Japanese => japanese,
        }
    }

    /// Sentences one after the other.
    pub(super) fn join(self, sentences: &[&str]) -> String {
        sentences.join(self.pick(" ", ""))
    }
}
