//! The engines that tests, benches and examples run against: real PostgreSQL and real NATS, from the distribution's packages,
//! as child processes on free ports of the loopback.
//!
//! Everything here blocks, so that it serves plain and asynchronous tests alike. An engine that is dropped is gone, with its
//! files; so is one whose test panics or is killed (see [`leash`]).

mod error;
mod leash;
mod nats;
mod port;
mod postgres;
mod programs;

pub use error::EngineError;
pub use nats::{Nats, NatsCluster};
pub use port::Port;
pub use postgres::{Postgres, PostgresOptions};
