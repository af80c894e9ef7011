//! What happened to a process or a host, in order: events, operations and who asked for them, agents that came and went,
//! specs, config files, health.
//!
//! Events are stored as such. The rest is derived from each commit (`committed`), in the same transaction, or from agents that
//! come and go (`agents`). Tasks are purged after two days and jobs have no host, so neither could answer for 30 days.

mod agents;
mod committed;
mod read;

pub(crate) use agents::{AgentLog, run as record_agents};
pub(crate) use committed::rows_of;
pub use read::{TimelineEntry, TimelineFilter, TimelineView, TimelineWord};
