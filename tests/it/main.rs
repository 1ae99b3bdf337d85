//! The stories of the design, told with the built executable and with real services.

mod demo;
mod faults;
mod layout;
mod resume;
