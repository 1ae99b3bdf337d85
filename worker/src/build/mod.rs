//! The build harness: everything about a coding session that need not be thought about.

mod bearings;
mod burden;
mod conversation;
mod gate;
mod init_script;
mod keeping;
mod progress;
mod red;
mod repetition;
mod runner;
mod session;
mod staged;
mod syntax;
#[cfg(test)]
pub(crate) mod tests;
mod toolbox;
mod workspace;

pub(crate) use gate::failing_tests;
pub(crate) use init_script::{InitRun, run_twice};
pub(crate) use progress::{FEATURE_LIST, INIT_SCRIPT, PROGRESS, first_entry, one_line};
pub(crate) use runner::{Ran, Runner, programs};
pub(crate) use session::Session;
pub(crate) use workspace::{Workspace, blocking};
