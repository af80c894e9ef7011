//! A seeded simulation of the whole system: thousands of histories with faults.
//!
//! Real are the server's control with its SQLite store and its sessions with agents, the agent's sessions, reports and
//! reconciliation, the supervisor's runner with its journal, and the machines. Fake are the host below the supervisor
//! (`supervisor/src/fake_os`), the network (`link`), and time, which is paused and moves on when no task can run.
//!
//! A seed determines a history: the requests and the faults. Two runs of one seed differ only in the order of events at
//! the same moment.
//!
//! The crate is empty outside of tests, so that building the workspace enables no test feature of a dependency (tokio's
//! paused clock) and shares its artefacts with `cargo build -p cli`.

#![cfg(test)]
#![allow(clippy::print_stdout, reason = "a failed history is read by people")]
#![allow(clippy::disallowed_methods, reason = "checks inspect the fleet")]

mod action;
mod agent_side;
mod ask;
mod busy;
mod check;
mod clock_hold;
mod history;
mod history_log;
mod link;
mod program;
mod replicas;
mod rolls;
mod server_side;
mod servers;
mod tests;
mod world;
