//! The agent against a scripted server, over in-memory streams and over real TLS.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

mod answer;
mod bench;
mod config;
mod config_files;
mod delivery;
mod enrolment;
mod moving;
mod peer;
mod reconcile;
mod renewal;
mod session;
mod upgrade;
mod whole;
