//! The store's promises, each a test. `conformance` holds what every engine keeps; `sqlite` and `postgres` run it and add
//! their own.

#![allow(unreachable_pub, reason = "nothing outside sees a test binary")]
#![allow(
    clippy::unwrap_used,
    reason = "clippy spares #[test] functions only, not what they call"
)]

mod conformance;
mod copy;
mod crash;
mod migrate;
mod picture;
mod place;
mod postgres;
mod random;
mod some;
mod sqlite;
