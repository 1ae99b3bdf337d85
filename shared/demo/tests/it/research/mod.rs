//! The research team as an engine asks it: each role on hand-written requests, what is wrong with requests, and whole
//! tasks between the model and the real state machine.

mod corpus;
mod endings;
mod misbehaviour;
mod protocol;
mod requests;
mod roles;
mod stories;
mod team;
