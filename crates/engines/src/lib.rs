//! Real PostgreSQL and NATS servers for tests, benchmarks and examples: from the distribution's packages, as child processes on
//! free loopback ports.
//!
//! Everything here blocks, so that plain and asynchronous tests can use it. Dropping a server ends it and removes its files; so
//! does a test that panics or is killed (see [`server_process`]).

mod error;
mod nats;
mod port;
mod postgres;
mod programs;
mod server_process;

pub use error::EngineError;
pub use nats::{Nats, NatsCluster};
pub use port::Port;
pub use postgres::{Postgres, PostgresOptions};
