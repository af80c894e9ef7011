//! The agent against a scripted server, over in-memory streams and over real TLS.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod answer;
mod binary;
mod check;
mod config;
mod config_files;
mod delivery;
mod enrolment;
mod fake_server;
mod fixture;
mod join_only;
mod moving;
mod reboot;
mod reconcile;
mod renewal;
mod session;
mod upgrade;
