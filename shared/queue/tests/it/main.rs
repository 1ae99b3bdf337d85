//! Stories of bells, a file each.

mod apalis;
mod conformance;
mod in_memory;
