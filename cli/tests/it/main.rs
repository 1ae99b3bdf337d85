//! The built executable, as a person or a script runs it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, which is what is meant")]

mod configuration;
mod help;
mod operating;
mod postgres;
mod program;
mod redis;
mod research;
mod research_settings;
mod roles;
mod running;
mod usage;
