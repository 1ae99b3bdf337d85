//! The stories of the design, told with the built executable and with real services.

#![expect(clippy::unwrap_used, reason = "a story fails by panicking")]

mod cluster;
mod demo;
mod faults;
mod layout;
mod llama;
mod research;
mod resume;
