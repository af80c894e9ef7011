//! What tests of the whole are made of: a real server and real agents as processes of their own, on random ports and in
//! temporary folders; a small HTTP client; a child program that misbehaves as told; and a simulated fleet for scale.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]
#![allow(
    clippy::print_stdout,
    reason = "what a failed test prints is shown with it"
)]

pub mod api;
pub mod cluster;
pub mod fake_agent;
pub mod odd;
pub mod program;
pub mod sim;
pub mod soak;

pub use api::Api;
pub use cluster::{Agent, Cluster, Network, Replicas, Setup};
pub use fake_agent::FakeAgent;
pub use testing::{precondition, wait};
