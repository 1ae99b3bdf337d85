//! Where research finds and reads what it cites: search back-ends, the guarded page reader, the corpus index.
//!
//! Start reading at [`Search`] (one query, three kinds of answer) and [`Reader`] (one address, its text or why not).
//! Nothing here knows of tasks, jobs or models; whoever calls decides what is asked, and makes a row of every hit
//! before a model sees it.

mod answer;
mod canonical;
mod corpus;
mod demo;
mod extract;
mod guard;
mod reader;
pub mod search;

pub use answer::{Hit, SearchAnswer};
pub use canonical::canonical_url;
pub use corpus::{Corpus, CorpusError, CorpusReport};
pub use demo::{Category, Demo, DemoDocument, Expectation, Question, Questions, QuestionsError};
pub use extract::{Extracted, Extractor, Unreadable, extract_main};
pub use guard::{NoPlace, Resolve, Resolving, SystemResolve};
pub use reader::{HostTurns, LocalTurns, Page, PageProblem, Reader, ReaderConfig, ReaderConfigError};
pub use search::{Backend, Found, NamedHit, Search};
