//! Streams between real sockets.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod faults;
mod rig;
mod streams;
