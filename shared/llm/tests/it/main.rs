//! The client against real HTTP servers on loopback.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chat;
mod environment;
mod faults;
mod probe;
mod server;
mod structured;
