//! Benchmarks: commands that print one table, never timed assertions.

pub(crate) mod agent;
pub(crate) mod api;
pub(crate) mod fleet;
pub(crate) mod growth;
pub(crate) mod hosts;
pub(crate) mod view;

use std::time::{Duration, Instant};

use crate::table::Table;

pub(crate) fn timed<T>(mut work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

pub(crate) fn median<T>(
    n: usize,
    mut work: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<Duration> {
    let mut times = (0..n)
        .map(|_| timed(&mut work))
        .collect::<anyhow::Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times[n / 2])
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// Adds a row, and prints it at once: a benchmark takes minutes.
fn row(table: &mut Table, what: impl Into<String>, measured: impl Into<String>, aim: &str) {
    let (what, measured) = (what.into(), measured.into());
    eprintln!("{what}: {measured}");
    table.row([what, measured, aim.to_owned()]);
}
