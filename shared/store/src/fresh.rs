//! Fresh ids: the only randomness of the state of record.

use nightforge_domain::{BootId, TaskId};

/// A new task id: a ULID in lower case, so that ids sort by age.
pub fn fresh_id() -> TaskId {
    text().parse().expect("a ULID in lower case is a task id")
}

/// A new boot id, taken by each process at its start.
pub fn fresh_boot_id() -> BootId {
    text().parse().expect("a ULID in lower case is a boot id")
}

#[expect(clippy::disallowed_methods, reason = "this is the module made for it")]
pub(crate) fn text() -> String {
    ulid::Ulid::generate().to_string().to_ascii_lowercase()
}
