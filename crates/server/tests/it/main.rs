//! The HTTP door: every endpoint in every dialect, every error row, over real sockets and a real store.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod access_log;
mod agents_door;
mod cmdb;
mod doors;
mod gse;
mod gsekit;
mod native;
mod openapi;
mod random;
mod receiver;
mod rig;
mod roles;
mod server_paths;
mod slow_agents;
