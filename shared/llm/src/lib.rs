//! The model client: one OpenAI-compatible endpoint, plain answers and answers of a contract's shape.
//!
//! Start reading at [`Client::chat`], then [`Client::structured`]. Nothing here retries a failed call: a
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
mod probe;
mod request;
mod schema;
mod stream;
mod structured;
mod transport;
mod turns;
mod wire;

pub use budget::{estimate_tokens, prompt_budget};
pub use client::{Answer, Client};
pub use endpoint::{CONNECT_TIMEOUT, ConfigError, EndpointConfig};
pub use error::CallError;
pub use extract::{ExtractError, Extracted, extract};
pub use ledger::{CallLog, CallObserver, CallOutcome, CallRecord, Level};
pub use limits::TimeLimits;
pub use probe::{Probe, same_model};
pub use request::{ChatRequest, Message, ReasoningEffort, Role, Sampling, StructuredRequest};
pub use schema::{NotPortable, portable_schema};
pub use secrecy::SecretString;
pub use structured::Structured;
pub use turns::REASK_TEMPERATURE;

/// Tracing targets that write whole prompts and answers; a subscriber must switch them off.
pub const TRACING_TARGETS_WITH_BODIES: &[&str] = &["async_openai"];
