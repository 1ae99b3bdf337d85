//! What every database under the store has to do, a story a file. Each test runs on SQLite and on PostgreSQL. What
//! only a server can do, such as vanish, is told in `postgres/`, with servers of their own.

#![expect(clippy::unwrap_used, reason = "a test fails where its own support does")]

mod advance;
mod bed;
mod claim;
mod crowd;
mod dead_letters;
mod endings;
mod fenced;
mod history;
mod hosts;
mod installation;
mod leader;
mod ledger;
mod migrating;
mod opening;
mod pauses;
mod people;
mod postgres;
mod presence;
mod queues;
mod reading;
mod reference;
mod runs;
mod script;
mod sources;
mod submit;
mod sweep;
mod team;
mod upgrade;
mod work;
mod workers;
