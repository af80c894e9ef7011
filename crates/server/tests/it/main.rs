//! The server over real sockets and a real store: every endpoint in every dialect, limits, agents, webhooks, the CMDB.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]
#![allow(clippy::disallowed_methods, reason = "tests inspect the fleet")]

mod access_log;
mod agent_listener;
mod cmdb;
mod gse;
mod gsekit;
mod http_limits;
mod install;
mod native;
mod openapi;
mod overload;
mod random;
mod receiver;
mod reference;
mod rig;
mod roles;
mod server_paths;
mod slow_agents;
