//! Bells: messages that say "look", carried by apalis. This is the only crate that names apalis or redis.
//!
//! A bell carries the id of a task (for schedulers) or the name of a model (for workers) and nothing else. It
//! reserves nothing and may be lost or doubled: the database decides, and the sweeper rings again. What is
//! promised is that a bell is never *absorbed* wrongly: a ring is merged into an earlier one only while that
//! one has not been returned by [`TaskBells::next`] or [`ModelBells::next`].
//!
//! Where to start: [`Bells`] is the handle that everybody holds. Inside one process, `ledger` knows which bells
//! are outstanding and `memory` carries them through apalis's in-memory backend. Between processes, `redis`
//! carries them through apalis's Redis backend; its own head comment says which file does what.

mod back_off;
mod bell;
mod bells;
mod exchange;
mod ledger;
mod memory;
mod panic_text;
mod redis;

pub use self::redis::{RedisConfig, RedisRefused};
pub use bell::{Bell, BellStats, MAX_OUTSTANDING, MAX_OUTSTANDING_PER_MODEL};
pub use bells::{Bells, ModelBells, TaskBells};
