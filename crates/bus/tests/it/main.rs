//! The bus's promises, each a test. `conformance` holds what every engine keeps.

#![allow(unreachable_pub, reason = "nothing outside sees a test binary")]
#![allow(
    clippy::unwrap_used,
    reason = "clippy spares #[test] functions only, not what they call"
)]

mod conformance;
mod local;
mod mail;
mod nats;
mod post_office;
