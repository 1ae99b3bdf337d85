//! The model client: one OpenAI-compatible endpoint, plain answers and answers of a contract's shape.
//!
//! Start reading at [`Client::look`], [`Client::chat`], then [`Client::structured`]. Nothing here retries a failed call: a
//! [`CallError`] has a class, and the class tells the caller what the failure costs the job.

mod budget;
mod classify;
mod client;
mod conform;
mod endpoint;
mod error;
mod extract;
mod ledger;
mod limits;
mod mode;
mod native;
mod prompt;
mod request;
mod schema;
mod served;
mod server;
mod stream;
mod structured;
mod transport;
mod turns;
mod validate;
mod wire;

pub use budget::{LEAST_BUILD_CONTEXT_TOKENS, TokenRatio, estimate_tokens, prompt_budget};
pub use client::{Answer, Client};
pub use endpoint::{CONNECT_TIMEOUT, ConfigError, EndpointConfig};
pub use error::CallError;
pub use extract::{ExtractError, Extracted, extract};
pub use ledger::{CallLog, CallObserver, CallOutcome, CallRecord, Level};
pub use limits::TimeLimits;
pub use mode::{Mode, ModeChoice, ModeRule};
pub use request::{ChatRequest, Message, ReasoningEffort, Role, Sampling, StructuredRequest};
pub use schema::{NotPortable, portable_schema};
pub use secrecy::SecretString;
pub use server::{
    EndpointState, LOAD_TIME, ListedModel, Residence, ServerKind, Sighting, Survey, same_model,
};
pub use structured::Structured;
pub use turns::REASK_TEMPERATURE;

/// Tracing targets that write whole prompts and answers; a subscriber must switch them off.
pub const TRACING_TARGETS_WITH_BODIES: &[&str] = &["async_openai"];
