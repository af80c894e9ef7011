//! Benchmarks: commands that print one table, never timed assertions.

pub(crate) mod api;
