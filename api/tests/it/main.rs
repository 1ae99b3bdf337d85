//! The interface over real HTTP, on a database of its own.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, which is what is meant")]

mod guards;
mod operating;
mod reading;
mod research;
mod server;
mod submitting;
mod team;
