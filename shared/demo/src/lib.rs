//! A scripted OpenAI-compatible model server over real HTTP, the objective that it can build, and those that it can
//! research.
//!
//! The server stands in for a model on a machine without one, and in tests. It keeps no state of a
//! conversation: every answer follows from the request alone, so a server that was killed and started again
//! goes on where the old one stopped. It checks every request and answers 400 to one that breaks the
//! protocol; [`DemoModel::violations`] lists what it found.
//!
//! Start reading at `chat` (one request), then `protocol` (what is checked), `script` (what is built), `research`
//! (what the research team says).

mod answer;
mod chat;
mod contract_name;
mod misbehaviour;
mod protocol;
mod question;
mod record;
mod research;
mod script;
mod server;
mod wire;

pub use misbehaviour::Misbehaviour;
pub use server::{DemoModel, DemoOptions};

/// What the script builds, as a user would ask for it.
pub const OBJECTIVE: &str = "Build a small Kanban board, a Trello in miniature. Pages come from the server, \
    cards are kept in SQLite, and nothing but Python's standard library is used. A person sees three columns \
    (To do, Doing, Done), adds cards, moves them, opens and changes them, deletes them and searches for them. \
    Empty titles are refused, what people type is never taken for HTML, and the board survives a restart.";

/// The research question of the demo. The script sends one round of work back, slips where small models do (an answer
/// that is no JSON, a source and a quote that do not exist, a wrong figure) and meets a page that gives orders.
pub const RESEARCH_OBJECTIVE: &str = research::RESEARCH_OBJECTIVE;

/// The demo's research question in Japanese; everything that the model writes on it is Japanese. Any other research
/// objective is answered too, from the words of whatever sources there are.
pub const JAPANESE_OBJECTIVE: &str = research::JAPANESE_OBJECTIVE;

/// The only model that the server knows.
pub const MODEL: &str = "nightforge-demo";

/// Tokens that fit into one slot's context.
pub const CONTEXT_TOKENS: u32 = 32_768;

/// How many features the script proposes and builds; a task's `min_features` must not be above it.
pub fn feature_count() -> usize {
    script::FEATURES.len()
}
