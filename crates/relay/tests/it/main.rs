//! A relay between real sockets.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod limits;
mod rig;
mod servers;
mod streams;
