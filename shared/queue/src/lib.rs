//! Bells: messages that say "look", carried by apalis. This is the only crate that names it.
//!
//! A bell carries the id of a task (for schedulers) or the name of a model (for workers) and nothing else. It
//! reserves nothing and may be lost or doubled: the database decides, and the sweeper rings again. What is
//! promised is that a bell is never *absorbed* wrongly: a ring is merged into an earlier one only while that
//! one has not been returned by [`TaskBells::next`] or [`ModelBells::next`].
//!
//! Where to start: [`Bells`] is the handle that everybody holds, `ledger` knows which bells are outstanding,
//! and `memory` carries them through apalis's in-memory backend.

mod bell;
mod bells;
mod ledger;
mod memory;

pub use bell::{Bell, BellStats, MAX_OUTSTANDING, MAX_OUTSTANDING_PER_MODEL};
pub use bells::{Bells, ModelBells, TaskBells};
