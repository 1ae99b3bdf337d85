//! The stories of the design, told with the built executable and with real services.

mod demo;
mod layout;
mod resume;
