//! Parts of end-to-end tests: real servers and agents as child processes on random ports and in temporary folders, an HTTP
//! client, a fake agent, a child program with any behaviour a test needs, a soak, and a simulated fleet for scale.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]
#![allow(
    clippy::print_stdout,
    reason = "libtest shows the output of failed tests"
)]

pub mod api;
pub mod cluster;
pub mod fake_agent;
pub mod odd;
pub mod program;
pub mod restricted;
pub mod sim;
pub mod soak;

pub use api::Api;
pub use cluster::{Agent, Cluster, Network, Relay, Replicas, Setup};
pub use fake_agent::FakeAgent;
pub use testing::{precondition, wait};
