//! The state machines from outside: stories by example, and properties of random histories.

#![expect(clippy::unwrap_used, reason = "a test fails where its own support does")]

mod play;
mod properties;
mod research;
mod stories;
