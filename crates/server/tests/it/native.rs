//! The native API.

mod access;
mod events;
mod processes;
mod tasks;
mod watch;
mod webhooks;
