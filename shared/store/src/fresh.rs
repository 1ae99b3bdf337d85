//! Fresh ids: the only randomness of the state of record.

use std::sync::{Mutex, PoisonError};

use nightforge_domain::{BootId, TaskId};
use ulid::{Generator, Ulid};

use crate::TaskSecret;

/// Of one process, so that its ids of one millisecond are in the order of their making, too: queued tasks have their
/// turn by id.
static GENERATOR: Mutex<Generator> = Mutex::new(Generator::new());

/// A new task id: a ULID in lower case, so that ids sort by age.
pub fn fresh_id() -> TaskId {
    text().parse().expect("a ULID in lower case is a task id")
}

/// A new boot id, taken by each process at its start.
pub fn fresh_boot_id() -> BootId {
    text().parse().expect("a ULID in lower case is a boot id")
}

/// A fresh id of a model call.
pub fn fresh_call_id() -> String {
    text()
}

/// A new task's secret: 160 random bits. Unlike ids it does not count up, so none tells another.
#[expect(clippy::disallowed_methods, reason = "the module that this lint points to")]
pub(crate) fn fresh_secret() -> TaskSecret {
    let (first, second) = (Ulid::generate().random(), Ulid::generate().random());
    TaskSecret::new(format!("{first:020x}{second:020x}"))
}

pub(crate) fn text() -> String {
    let mut generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    let ulid = match generator.generate() {
        Ok(ulid) => ulid,
        Err(overflow) => overflow.commit_overflow_increment(),
    };
    ulid.to_string().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_process_are_in_the_order_of_their_making() {
        let ids: Vec<TaskId> = (0..1_000).map(|_| fresh_id()).collect();
        assert!(ids.is_sorted() && ids.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn secrets_of_one_instant_have_nothing_in_common() {
        let secrets: Vec<String> = (0..100).map(|_| fresh_secret().reveal().to_owned()).collect();
        let halves: std::collections::HashSet<&str> =
            secrets.iter().flat_map(|secret| [&secret[..20], &secret[20..]]).collect();
        assert_eq!(halves.len(), 200);
        let starts: std::collections::HashSet<&str> = secrets.iter().map(|secret| &secret[..8]).collect();
        assert!(starts.len() > 90, "an id's next one differs in its last digits only");
    }
}
