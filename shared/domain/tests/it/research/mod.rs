//! Stories about a research team: what the machine does with each answer of its agents.

mod contracts;
mod guard;
mod limits;
mod results;
mod team;
mod turns;
