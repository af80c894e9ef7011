//! Benchmarks: commands that print one table, never timed assertions.

pub(crate) mod agent;
pub(crate) mod api;
