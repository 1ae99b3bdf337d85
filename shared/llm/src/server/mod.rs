//! What is behind an endpoint: which server it is, what it has loaded, and whether the model can be asked.
//!
//! Start reading at [`Client::look`](crate::Client::look). `survey` finds out which server answers and what it
//! has, with a file for each server; `judge` makes a state of that for one model. `load` and `count` use what
//! was learned.

mod ask;
mod count;
mod judge;
mod kind;
mod learned;
mod llama_cpp;
mod lm_studio;
mod load;
mod names;
mod ollama;
mod other;
mod sglang;
mod state;
mod survey;
mod vllm;

pub(crate) use learned::Learned;

pub use kind::ServerKind;
pub use load::LOAD_TIME;
pub use names::same_model;
pub use state::{EndpointState, Sighting};
pub use survey::{ListedModel, Residence, Survey};
