//! The agent of one host: connects its supervisor with the server.
//!
//! A command takes this path: TLS connection ([`connect`]) → frame ([`session`]) → request ([`reconcile`]) → supervisor. A
//! status takes this path: supervisor → notice → latest status per process ([`report`]) → frame. Results and events go
//! through [`ack_queue`], which keeps them until the server acknowledges them. [`state::AgentState`] holds all of it between
//! two connections, [`mod@run`] is the boot order, and [`upgrade`] replaces the binary of a running agent ([`image`]).
//!
//! [`mod@relay`] is the other program in the same binary: it forwards the connections of agents to servers.
//!
//! Nothing here knows SQL or HTTP, and nothing here touches a process.

pub mod ack_queue;
mod answer;
pub mod backoff;
pub mod check;
pub mod command_line;
pub mod config;
pub mod connect;
pub mod data;
pub mod enrol;
pub mod error;
pub mod facts;
pub mod identity;
pub mod image;
pub mod join_only;
pub mod log;
mod memory;
pub mod reconcile;
pub mod relay;
pub mod renewal;
pub mod report;
pub mod run;
pub mod server_order;
pub mod session;
pub mod sessions;
pub mod state;
pub mod supervisor_link;
pub mod tls;
pub mod upgrade;

pub use config::{AgentArgs, AgentConfig};
pub use error::AgentError;
pub use run::{command, run, run_until};
pub use supervisor::OtherProcess;
pub use supervisor::ourselves::give_memory_back;

/// The versions of the protocol with servers that this build speaks.
pub const PROTOCOLS: std::ops::RangeInclusive<u32> = wire::version::OLDEST..=wire::version::NEWEST;
