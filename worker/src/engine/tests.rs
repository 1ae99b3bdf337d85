//! The engine on a real database, with a scripted model over HTTP.

pub(crate) mod bed;
mod endings;
mod journal;
mod leases;
pub(crate) mod model;
mod outages;
mod workers;
mod working_time;
