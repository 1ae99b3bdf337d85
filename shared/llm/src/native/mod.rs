//! Native tool calls: the second mode of contracts that are one action a turn, for servers that take no
//! schema. The tools are made of the contract's own schema, and a call is read back into the contract, so
//! nothing outside of this folder knows which mode a model speaks.
//!
//! A model may call one tool in an answer. Several different calls are refused and asked for again, as two
//! different objects are in schema mode: the first is not always the one that is meant to run first, and one
//! that is dropped without a word is missed later. The same call said twice is one call.

mod call;
mod forms;
mod history;
mod tools;

pub(crate) use call::read_call;
pub(crate) use history::with_calls;
pub(crate) use tools::Tools;

#[cfg(test)]
mod tests;
