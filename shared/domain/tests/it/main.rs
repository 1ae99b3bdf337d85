//! The state machines from outside: stories by example, and properties of random histories.

mod play;
mod properties;
mod stories;
