//! The native API.

mod access;
mod events;
mod live;
mod processes;
mod tasks;
mod watch;
mod webhooks;
