//! What each agent of the research team sees: never the whole transcript, always within a budget, and with what was
//! left out said in words.
//!
//! Views are data. They are made once for an agent run and journaled as its input; prompts only lay them out. Every
//! text in them that came from a person, an agent or a page has passed `text`: cleaned, escaped, and with its lines
//! indented, so that it can't begin a section of a prompt.
//!
//! Budgets are bytes of UTF-8, because a client without a tokenizer estimates tokens from bytes: a Japanese character
//! counts as three and takes about three times the tokens of a Latin one.

mod critic;
mod fit;
mod lines;
mod manager;
mod researcher;
mod synthesis;
mod text;

use serde::{Deserialize, Serialize};

pub use critic::{CriticFinding, CriticView, EarlierReview};
pub use lines::{BudgetLeft, FindingLine, IssueLine, MessageLine, Passage, ReviewLines, SubtaskLine};
pub use manager::{ManagerView, Withheld};
pub use researcher::{Excerpt, MAX_MARKER_BYTES, NotReadable, ReportView, ResearcherView};
pub use synthesis::{SynthesisFinding, SynthesisView};

use super::{Language, language_of};
use text::line;

/// Bytes that a rendered view may have beyond its budget: headings of sections, where is searched, the menu, the words about what was
/// left out, the reasons of a second ask, the question at the end.
pub const FIXED_BYTES: usize = 1_800;

/// Of the words that say where is searched.
const SEARCHED_IN_BYTES: usize = 160;

/// The least budget that holds what is always shown: the beginnings of the objective and of an assignment. Under it a
/// view is made as for it.
pub const LEAST_BYTES: usize = 800;

/// What the objective's language is called where it does not show.
const LANGUAGE_OF_OBJECTIVE: &str = "the language of the objective";

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked<'a> {
    /// The task's objective.
    pub objective: &'a str,
    /// The task's language, as a code such as `ja`; `None` lets the objective decide.
    pub language: Option<&'a str>,
    /// Where researchers search, in a few words; `None` where nobody knows.
    pub searched_in: Option<&'a str>,
}

impl Asked<'_> {
    fn searched_in(&self) -> Option<String> {
        self.searched_in.map(|places| line(places, SEARCHED_IN_BYTES))
    }

    /// The language as a prompt names it.
    fn language(&self) -> String {
        match self.language.map(|given| (given, given.parse::<Language>())) {
            Some((_, Ok(language))) => language.english_name.to_owned(),
            // Somebody wrote a language out; a model knows more of them than there are codes here.
            Some((given, Err(_))) if !given.trim().is_empty() => line(given, 60),
            _ => language_of(self.objective)
                .map_or(LANGUAGE_OF_OBJECTIVE, |language| language.english_name)
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
