//! The clock of the person at the terminal; the server compares only with the database's.

use jiff::ZonedDateTime;

/// Now, in the local time zone.
pub(crate) fn now() -> ZonedDateTime {
    ZonedDateTime::now()
}
