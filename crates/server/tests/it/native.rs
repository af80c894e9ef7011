//! The native API.

mod access;
mod processes;
mod tasks;
mod watch;
