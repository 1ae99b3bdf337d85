//! The interface over real HTTP, on a database of its own.

mod guards;
mod reading;
mod server;
mod submitting;
