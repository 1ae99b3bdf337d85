//! What the jobs of a research task do: search, read, show, ask.

mod addresses;
pub(crate) mod messages;
mod pages;
pub(crate) mod reading;
pub(crate) mod reporting;
pub(crate) mod room;
mod rows;
pub(crate) mod searching;
mod setup;
pub(crate) mod steps;
mod turns;

#[cfg(test)]
mod tests;

pub use setup::SearchSetup;
