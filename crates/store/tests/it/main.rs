//! The guarantees of the store, each a test. `conformance` holds those of both databases; `sqlite` and `postgres` run it and add
//! their own.

#![allow(unreachable_pub, reason = "nothing outside sees a test binary")]
#![allow(
    clippy::unwrap_used,
    reason = "clippy spares #[test] functions only, not what they call"
)]

mod conformance;
mod copy;
mod crash;
mod follower_state;
mod migrate;
mod postgres;
mod random;
mod sample;
mod sqlite;
mod test_database;
