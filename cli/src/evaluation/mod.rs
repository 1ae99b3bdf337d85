//! How good a team was at a set of questions: scored by code alone, from the results.

mod answer;
mod report;

pub(crate) use answer::{Scored, score};
pub(crate) use report::{Report, tabled};
