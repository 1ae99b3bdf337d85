//! What only a server can do: vanish, hang, lose an answer, make one wait for another.

mod contention;
mod frozen;
mod locked;
mod lost_answers;
mod outage;
mod tls;
