//! Statuses: what a quiet fleet costs, what a steady load costs, and how much the server takes at most.

use std::time::{Duration, Instant};

use super::stage::{CpuShare, Stage};
use super::{Args, row};
use crate::bench::agent::interrupt;
use crate::table::{Table, thousands};

/// A load counts from here on: by then every agent has its pace.
const RUN_UP: Duration = Duration::from_secs(2);
/// How often each process is reported at the steady load.
const STEADY_PERIOD_SECS: f64 = 60.0;
/// The first load on the way to the limit, in statuses per second.
const FIRST: f64 = 100_000.0;
/// Each next one is so much more.
const STEP: f64 = 1.5;
const MAX_STEPS: usize = 8;
/// How long a server may take over what has piled up on its connections.
const PATIENCE: Duration = Duration::from_secs(120);
/// Less of what was asked than this, and the servers do not keep up.
const KEPT_UP: f64 = 0.95;
/// With so little more than before, the limit is reached.
const MORE: f64 = 1.05;
/// Agents have this long between two heartbeats, and all of them are to be counted.
const HEARTBEAT: Duration = Duration::from_secs(10);

pub(super) fn measure(args: &Args, stage: &mut Stage, table: &mut Table) -> anyhow::Result<()> {
    let (_, idle) = under(stage, 0.0, args.load_time().max(HEARTBEAT))?;
    row(
        table,
        "CPU of the idle server: heartbeats only",
        format!("{:.1} % of a core", idle.servers),
        "",
    );
    let steady = steady(args);
    let (taken, cpu) = under(stage, steady, args.load_time())?;
    row(
        table,
        "CPU at a steady load: each process once a minute",
        format!(
            "{:.1} % of a core at {} statuses/s",
            cpu.servers,
            thousands(taken)
        ),
        "",
    );
    let (taken, cpu) = at_most(args, stage)?;
    row(
        table,
        "status updates taken at most, in reports of all of a host's processes",
        format!(
            "{}/s (server {:.0} %, simulator {:.0} % of a core; {:.1} µs of the server each)",
            thousands(taken),
            cpu.servers,
            cpu.simulator,
            cpu.servers * 1e4 / taken.max(1.0)
        ),
        "≥ 200,000/s",
    );
    stage.simulator.tell("rate 0")?;
    stage.until_quiet(PATIENCE)
}

/// Statuses per second of a fleet that goes about its business.
pub(super) fn steady(args: &Args) -> f64 {
    args.n_processes() as f64 / STEADY_PERIOD_SECS
}

/// Raises the load until the server no longer keeps up; the most that it took.
fn at_most(args: &Args, stage: &mut Stage) -> anyhow::Result<(f64, CpuShare)> {
    let mut best = (0.0, stage.cpu().since(stage.cpu()));
    let mut rate = FIRST;
    for _ in 0..MAX_STEPS {
        let (taken, cpu) = under(stage, rate, args.load_time())?;
        eprintln!(
            "asked {}/s, taken {}/s; server {:.0} %, simulator {:.0} %",
            thousands(rate),
            thousands(taken),
            cpu.servers,
            cpu.simulator
        );
        let is_limit = taken < rate * KEPT_UP && taken < best.0 * MORE;
        if taken > best.0 {
            best = (taken, cpu);
        }
        if is_limit {
            break;
        }
        rate *= STEP;
    }
    Ok(best)
}

/// Statuses per second that the server took under a load, and the CPU meanwhile.
fn under(stage: &mut Stage, rate: f64, time: Duration) -> anyhow::Result<(f64, CpuShare)> {
    stage.simulator.tell(&format!("rate {rate}"))?;
    interrupt::sleep(RUN_UP)?;
    let (before, cpu_before) = (stage.statuses()?, stage.cpu());
    let started = Instant::now();
    interrupt::sleep(time)?;
    let after = stage.statuses()?;
    let taken = (after - before) as f64 / started.elapsed().as_secs_f64();
    Ok((taken, stage.cpu().since(cpu_before)))
}
