//! The client against real HTTP servers on loopback.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_server;
mod chat;
mod count;
mod environment;
mod faults;
mod llama;
mod llama_looks;
mod load;
mod look;
mod mode;
mod native;
mod prompts;
mod recorded;
mod server;
mod servers;
mod structured;
