//! A seeded simulation of the whole: thousands of histories in which everything that can go wrong does.
//!
//! Real are the server's control with its SQLite store and its conversation with agents, the agent's sessions, reports
//! and reconciliation, the supervisor's runner with its journal, and the machines. Pretended are the host below the
//! supervisor (`supervisor/src/fake_os`), the network (`link`), and time, which is paused and moves when nobody has
//! anything to do.
//!
//! A seed is a history: what is asked, what dies, what is lost. It begins anew from the seed whenever it is run; only
//! the order of what happens at the very same moment may differ.
//!
//! The crate is empty outside of tests, so that building the workspace enables no test feature of a dependency (tokio's
//! paused clock) and shares its artefacts with `cargo build -p cli`.

#![cfg(test)]
#![allow(clippy::print_stdout, reason = "a failed history is read by people")]

mod action;
mod agent_side;
mod ask;
mod brake;
mod busy;
mod check;
mod diary;
mod history;
mod link;
mod program;
mod replicas;
mod server_side;
mod servers;
mod tests;
mod world;
