//! The harness on a real workspace: real git, real sandbox, real tests of a small Python project.

mod bearings;
pub(crate) mod bed;
mod gate;
mod hostile;
mod prompts;
mod protection;
mod session_limits;
mod sessions;
mod test_first;
mod workspaces;
