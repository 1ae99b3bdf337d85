//! The demo's own little web: invented documents behind `demo://`, a search over them, and questions about them.
//!
//! Every title carries `[Demo data]`, and every document says that it is invented.

mod catalogue;
mod questions;
mod text;

pub use catalogue::DemoDocument;
pub use questions::{Category, Expectation, Question, Questions, QuestionsError};

use catalogue::{ENTRIES, Entry};
use text::searchable;

use crate::answer::{Hit, SearchAnswer};
use crate::corpus::fold::fold;
use crate::corpus::query::Query;
use crate::corpus::snippet::snippet;

/// Words that say what the demo is about: a query with one of them is answered from the demo.
const SUBJECTS: [&str; 10] =
    ["nassau", "bahamas", "pilates", "reformer", "stopover", "kyoto", "tea", "京都", "茶道", "茶の湯"];

/// Words that say nothing of a subject.
const EMPTY_WORDS: [&str; 32] = [
    "a", "an", "and", "are", "at", "be", "by", "can", "do", "does", "for", "from", "how", "in", "is", "it",
    "many", "much", "not", "of", "on", "or", "per", "that", "the", "there", "to", "what", "which", "who",
    "with", "would",
];

/// Share of a query's words that a document must hold when none of them is a subject.
const ENOUGH: f64 = 0.6;

/// A word of at least so many bytes is also found at the beginning of longer ones.
const PREFIX_BYTES: usize = 4;

/// Documents with less than this share of the best one's points are left out.
const WORTH_SHOWING: f64 = 0.2;

/// Search over the demo's documents. The same query always gives the same answer.
#[derive(Debug)]
pub struct Demo {
    documents: Vec<Searchable>,
}

#[derive(Debug)]
struct Searchable {
    entry: &'static Entry,
    text: String,
    title: Searched,
    body: Searched,
}

/// A text as it is searched.
#[derive(Debug)]
struct Searched {
    folded: String,
    words: Vec<String>,
}

impl Default for Demo {
    fn default() -> Self {
        Self::new()
    }
}

impl Demo {
    /// Reads the documents that are part of this program.
    pub fn new() -> Self {
        let documents = ENTRIES
            .iter()
            .map(|entry| {
                let text = searchable(&entry.document);
                Searchable {
                    entry,
                    title: Searched::new(&format!("{} {}", entry.title, entry.keywords)),
                    body: Searched::new(&text),
                    text,
                }
            })
            .collect();
        Self { documents }
    }

    /// Every address, in a fixed order.
    pub fn addresses() -> impl Iterator<Item = &'static str> {
        ENTRIES.iter().map(|entry| entry.address)
    }

    /// The document at an address of the demo. A fragment is passed over.
    pub fn document(url: &str) -> Option<DemoDocument> {
        let address = url.split_once('#').map_or(url, |(address, _)| address);
        ENTRIES.iter().find(|entry| entry.address == address).map(|entry| entry.document)
    }

    /// At most `limit` documents, best first, without their texts: those must be read. Where the demo holds nothing
    /// on the subject, one placeholder says so.
    pub fn search(&self, query: &str, limit: usize) -> SearchAnswer {
        let terms = Terms::parse(query);
        let mut scored: Vec<(f64, usize)> = self
            .documents
            .iter()
            .enumerate()
            .filter(|(_, document)| terms.is_answered_by(document))
            .map(|(index, document)| (self.points(&terms, document), index))
            .filter(|(points, _)| *points > 0.0)
            .collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let best = scored.first().map_or(0.0, |(points, _)| *points);
        scored.retain(|(points, _)| *points >= best * WORTH_SHOWING);
        scored.truncate(limit.max(1));
        let mut hits: Vec<Hit> = scored.iter().map(|(_, index)| self.documents[*index].hit(&terms)).collect();
        if hits.is_empty() {
            hits.push(placeholder(query));
        }
        SearchAnswer::Hits { hits }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of sixteen documents")]
    fn points(&self, terms: &Terms, document: &Searchable) -> f64 {
        terms
            .all()
            .map(|term| {
                let with = self.documents.iter().filter(|other| other.holds(term)).count().max(1);
                let rarity = (1.0 + self.documents.len() as f64 / with as f64).ln();
                let in_title = if document.title.times(term) > 0 { 3.0 } else { 0.0 };
                let times = document.body.times(term).min(4) as f64;
                rarity * (in_title + times / (times + 1.0))
            })
            .sum()
    }
}

impl Searchable {
    fn holds(&self, term: Term<'_>) -> bool {
        self.title.times(term) > 0 || self.body.times(term) > 0
    }

    fn hit(&self, terms: &Terms) -> Hit {
        Hit {
            url: self.entry.address.to_owned(),
            title: self.entry.title.to_owned(),
            snippet: snippet(&self.text, &terms.query),
            published: Some(self.entry.published.to_owned()),
            text: None,
            placeholder: false,
        }
    }
}

impl Searched {
    fn new(text: &str) -> Self {
        let folded = fold(text);
        let words = folded.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        Self { words: words.map(str::to_owned).collect(), folded }
    }

    fn times(&self, term: Term<'_>) -> usize {
        match term {
            // A number with separators is no word of its own.
            Term::Word(word) if word.contains(['.', ',']) => self.folded.matches(word).count(),
            Term::Word(word) => {
                let begins = word.len() >= PREFIX_BYTES;
                let found = |other: &&String| *other == word || (begins && other.starts_with(word));
                self.words.iter().filter(found).count()
            }
            Term::Piece(piece) => self.folded.matches(piece).count(),
        }
    }
}

/// One thing that is looked for.
#[derive(Clone, Copy)]
enum Term<'a> {
    /// Found as a word, or as the beginning of one.
    Word(&'a str),
    /// Found anywhere: languages without spaces.
    Piece(&'a str),
}

/// What a query asks for.
struct Terms {
    query: Query,
    has_subject: bool,
}

impl Terms {
    fn parse(text: &str) -> Self {
        let folded = fold(text);
        let mut query = Query::parse(text);
        let has_subject = SUBJECTS.iter().any(|subject| {
            if subject.is_ascii() {
                query.words.iter().any(|word| word == subject)
            } else {
                folded.contains(subject)
            }
        });
        query.words.retain(|word| !EMPTY_WORDS.contains(&word.as_str()));
        for word in &mut query.words {
            // Found at the beginning of longer words, so the singular finds both.
            if word.len() > 4 && word.ends_with('s') && !word.ends_with("ss") {
                word.pop();
            }
        }
        Self { query, has_subject }
    }

    fn all(&self) -> impl Iterator<Item = Term<'_>> {
        let words = self.query.words.iter().map(|word| Term::Word(word));
        words.chain(self.query.pieces.iter().map(|piece| Term::Piece(piece)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a query has at most 96 terms")]
    fn is_answered_by(&self, document: &Searchable) -> bool {
        let all = self.all().count();
        let held = self.all().filter(|term| document.holds(*term)).count();
        self.has_subject || (held >= 2 && held as f64 >= all as f64 * ENOUGH)
    }
}

fn placeholder(query: &str) -> Hit {
    let asked: String = query.chars().take(120).collect();
    Hit {
        url: "demo://no-curated-data".to_owned(),
        title: "[Demo data] No curated demo data".to_owned(),
        snippet: format!(
            "No curated demo data for \"{asked}\". The demo holds invented documents on Pilates for visitors to Nassau \
             and on tea ceremony courses in Kyoto only; configure a search back-end for other subjects."
        ),
        published: None,
        text: None,
        placeholder: true,
    }
}
