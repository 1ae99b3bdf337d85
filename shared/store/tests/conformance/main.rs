//! What every database under the store has to do, a story a file. Each test runs on SQLite, and on the PostgreSQL
//! server at `NIGHTFORGE_TEST_POSTGRES_URL` as well when that is set; a server that can't be reached is a failure.

#![expect(clippy::unwrap_used, reason = "a test fails where its own support does")]

mod advance;
mod bed;
mod claim;
mod crowd;
mod endings;
mod fenced;
mod history;
mod leader;
mod ledger;
mod opening;
mod people;
mod presence;
mod reading;
mod reference;
mod submit;
mod sweep;
mod work;
