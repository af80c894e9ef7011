//! The hand: one agent on one host, between its supervisor and the server.
//!
//! The path of a command: TLS connection ([`connect`]) → frame ([`session`]) → request ([`reconcile`]) → supervisor. The
//! path of a status back: supervisor → notice → the latest of each process ([`report`]) → frame. Results and events go the
//! same way through [`lane`], which keeps them until the server has them. [`hand::Hand`] holds all of it between two
//! connections, and [`mod@run`] is the boot order. [`upgrade`] is the other side of [`image`]: it replaces a running agent. Nothing here knows SQL or HTTP, and nothing here touches a process.

mod answer;
pub mod backoff;
pub mod choice;
pub mod config;
pub mod connect;
pub mod data;
pub mod enrol;
pub mod error;
pub mod facts;
pub mod hand;
pub mod identity;
pub mod image;
pub mod keeper;
pub mod lane;
pub mod log;
mod memory;
pub mod reconcile;
pub mod renewal;
pub mod report;
pub mod run;
pub mod session;
pub mod sessions;
pub mod tls;
pub mod upgrade;

pub use config::{AgentArgs, AgentConfig};
pub use error::AgentError;
pub use run::{command, run, run_until};
