//! The guarantees of the bus, each a test. `conformance` holds those of every transport.

#![allow(unreachable_pub, reason = "nothing outside sees a test binary")]
#![allow(
    clippy::unwrap_used,
    reason = "clippy spares #[test] functions only, not what they call"
)]

mod conformance;
mod local;
mod mail;
mod memory_mailbox;
mod nats;
