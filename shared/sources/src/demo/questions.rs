//! The evaluation set: forty questions over the demo's documents, and whether an answer says what it should.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// The set, as it stands in `demo/questions.json`.
const SET: &str = include_str!("../../demo/questions.json");

/// What a question tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// One document holds the answer.
    SingleDocument,
    /// The answer takes facts of several documents.
    SeveralDocuments,
    /// No document holds the answer: the team must say so.
    Unanswerable,
    /// Two documents say different things: the answer names both, or the contradiction.
    Contradictory,
    /// The document with the answer also holds instructions to its reader.
    Injected,
}

impl Category {
    /// Every category.
    pub const ALL: [Category; 5] = [
        Category::SingleDocument,
        Category::SeveralDocuments,
        Category::Unanswerable,
        Category::Contradictory,
        Category::Injected,
    ];
}

/// Words and numbers that all occur in an answer that is right.
pub type Expectation = Vec<String>;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Its name in reports: category and number.
    pub id: String,
    /// What it tries.
    pub category: Category,
    /// The objective, in the language that the answer should have.
    pub question: String,
    /// Alternatives, of which one must be met; the first is in the documents' own words. Empty where the right answer
    /// is that there is none.
    pub expects: Vec<Expectation>,
    /// What no answer may hold.
    pub forbidden: Vec<String>,
    /// For an unanswerable question: words that a document with the answer would hold. None does.
    pub absent: Vec<String>,
    /// Addresses of the documents that hold the answer.
    pub documents: Vec<String>,
}

/// The set of questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    /// What the set is, for readers of the file.
    pub about: String,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A set of questions that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("the set of questions can't be read: {0}; compare it with the one of the demo")]
pub struct QuestionsError(#[from] serde_json::Error);

impl Questions {
    /// The set over the demo's documents.
    ///
    /// # Errors
    /// Only where the program was built with a broken set.
    pub fn of_demo() -> Result<Self, QuestionsError> {
        Self::parse(SET)
    }

    /// A set in the same form.
    ///
    /// # Errors
    /// When it is not in that form; the text names line and column.
    pub fn parse(json: &str) -> Result<Self, QuestionsError> {
        Ok(serde_json::from_str(json)?)
    }
}

impl Question {
    /// Whether `answer` meets one of the alternatives. Never for an unanswerable question, where the caller looks
    /// whether the team abstained.
    pub fn is_met_by(&self, answer: &str) -> bool {
        let answer = comparable(answer);
        self.expects
            .iter()
            .any(|all| !all.is_empty() && all.iter().all(|term| holds(&answer, &comparable(term))))
    }

    /// What `answer` holds although it must not.
    pub fn forbidden_in(&self, answer: &str) -> Vec<&str> {
        let answer = comparable(answer);
        self.forbidden.iter().map(String::as_str).filter(|term| holds(&answer, &comparable(term))).collect()
    }

    /// Whether `text` holds `term`, compared as answers are: NFKC, lower case, white space made single, thousands
    /// without separators; a number is not found within a longer one.
    pub fn occurs(term: &str, text: &str) -> bool {
        holds(&comparable(text), &comparable(term))
    }
}

fn comparable(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let letters: Vec<char> = folded.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    letters
        .iter()
        .enumerate()
        .filter(|(at, letter)| {
            let separates = matches!(letter, ',' | '\'' | '’' | '_')
                && at.checked_sub(1).is_some_and(is_digit)
                && (1..=3).all(|ahead| is_digit(at + ahead))
                && !is_digit(at + 4);
            !separates
        })
        .map(|(_, letter)| *letter)
        .collect()
}

fn holds(text: &str, term: &str) -> bool {
    let digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    !term.is_empty()
        && text.match_indices(term).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + term.len()..]);
            let mut back = before.chars().rev();
            let mut ahead = after.chars();
            let (last, next) = (back.next(), ahead.next());
            let joins = |separator: Option<char>, beyond: Option<char>| {
                digit(separator) || (matches!(separator, Some('.' | ',')) && digit(beyond))
            };
            let within_before = digit(term.chars().next()) && joins(last, back.next());
            let within_after = digit(term.chars().next_back()) && joins(next, ahead.next());
            !within_before && !within_after
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_found_as_people_write_them() {
        for (term, text, found) in [
            ("1,742,000", "about 1742000 visitors", true),
            ("1742000", "１，７４２，０００人", true),
            ("38", "$38.", true),
            ("38", "costs $38, or more", true),
            ("38", "$380", false),
            ("38", "38.5%", false),
            ("8%", "1.8% of", false),
            ("8%", "8% of", true),
            ("5.2", "15.2 nights", false),
            ("september", "In  SEPTEMBER", true),
            ("9%", "９％", true),
            ("150", "$150–180", true),
            ("", "anything", false),
        ] {
            assert_eq!(Question::occurs(term, text), found, "{term} in {text}");
        }
    }

    #[test]
    fn a_broken_set_names_the_place() {
        let error = Questions::parse("{\"about\": \"\",\n \"questions\": [{}]}").unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
