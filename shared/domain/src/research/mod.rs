//! Task kind `research`: a Manager, Researchers and a Critic, their records, and the state machine between them.
//!
//! Start reading at `turns` (what comes next), then `guard` (which decisions are taken), `machine` (what results
//! change).

mod bounds;
mod changes;
mod grounding;
mod guard;
mod language;
mod machine;
pub mod outside;
pub mod passages;
mod phase;
mod record;
mod report;
mod result;
mod source;
mod titles;
mod turns;
pub mod views;

pub use changes::{Changes, changes};
pub use grounding::{Normalised, ground, ground_synthesis, normalised};
pub use guard::{Accepted, MAX_ROUNDS_WITHOUT_SOURCES, Menu, RESERVED_CALLS, menu, validate_manager_action};
pub use language::{Language, UnknownLanguage, language_of};
pub use machine::{Rejection, Research};
pub use phase::Phase;
pub use record::{
    DecisionRecord, Evidence, Finding, FindingId, Found, GroundedFinding, GroundedKeyFinding, GroundedReport,
    GroundedSynthesis, Level, Message, MessageType, Origin, Party, Record, Review, Subtask, SubtaskStatus,
    Uncertainty,
};
pub use report::{html, markdown};
pub use result::{Cost, Counts, Outcome, ResearchResult, ResultSource, result_of};
pub use source::{NoSourceId, Source, SourceId, SourceStatus};
pub use titles::title_key;
pub use turns::Granted;
