//! Real servers, as tests use them.

#![allow(
    clippy::unwrap_used,
    reason = "clippy spares #[test] functions only, not what they call"
)]

mod nats;
mod orphan;
mod postgres;
