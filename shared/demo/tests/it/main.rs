//! The demo model over real HTTP: the whole project is built with it, it is stopped and started in between,
//! it finds what is wrong with requests, and it fails on demand.

#![expect(clippy::unwrap_used, reason = "a test fails where its own support does")]

mod client;
mod harness;
mod initializer;
mod kanban;
mod misbehaviour;
mod mode_probe;
mod protocol;
mod research;
mod restart;
