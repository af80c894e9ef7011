//! The agent against a scripted server, over in-memory streams and over real TLS.

mod bench;
mod config;
mod delivery;
mod enrolment;
mod peer;
mod reconcile;
mod session;
