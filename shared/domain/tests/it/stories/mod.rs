//! Stories of `build`, told in the words of [`crate::play`].

mod ending;
mod gates;
mod late;
mod limits;
mod turns;
