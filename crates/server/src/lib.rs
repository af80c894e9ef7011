//! The door: HTTP for callers, TLS for agents. Boot order is in [`boot`], and shutdown is the same list backwards.

pub mod boot;
pub mod config;

pub use boot::{BootError, Running, start};
pub use config::Config;
