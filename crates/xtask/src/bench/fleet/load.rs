//! Status load: an idle fleet, a steady load, and the maximum.

use std::time::{Duration, Instant};

use super::{Args, Step, row};
use crate::deployment::{CpuShare, Deployment};
use crate::interrupt;
use crate::table::{Table, thousands};

/// Warm-up before a load is measured.
const RUN_UP: Duration = Duration::from_secs(2);
/// How often each process is reported at the steady load.
const STEADY_PERIOD_SECS: f64 = 60.0;
/// The first load of the search for the maximum, in statuses per second.
const FIRST: f64 = 100_000.0;
/// The factor between two loads.
const STEP: f64 = 1.5;
const MAX_STEPS: usize = 8;
/// Limit for a server to process what has queued up on its connections.
const PATIENCE: Duration = Duration::from_secs(120);
/// Below this share of the load the servers do not keep up.
const KEEPS_UP: f64 = 0.95;
/// Below this growth the maximum is reached.
const MORE: f64 = 1.05;
/// The interval of heartbeats, all of which must be counted.
const HEARTBEAT: Duration = Duration::from_secs(10);

pub(super) fn measure(
    args: &Args,
    deployment: &mut Deployment,
    table: &mut Table,
) -> anyhow::Result<()> {
    if args.runs(Step::Idle) {
        let (_, idle) = under(deployment, 0.0, args.load_time().max(HEARTBEAT))?;
        row(
            table,
            "CPU of the idle server: heartbeats only",
            format!(
                "{:.1} % of a core{}",
                idle.servers,
                of_relay(deployment, idle)
            ),
            "",
        );
    }
    if args.runs(Step::Steady) {
        let (taken, cpu) = under(deployment, steady(args), args.load_time())?;
        row(
            table,
            "CPU at a steady load: each process once a minute",
            format!(
                "{:.1} % of a core at {} statuses/s{}",
                cpu.servers,
                thousands(taken),
                of_relay(deployment, cpu)
            ),
            "",
        );
    }
    Ok(())
}

/// Measures the most statuses that the servers take, and returns it.
pub(super) fn most(
    args: &Args,
    deployment: &mut Deployment,
    table: &mut Table,
) -> anyhow::Result<f64> {
    let (taken, cpu) = at_most(args, deployment)?;
    row(
        table,
        "status updates taken at most, in reports of all of a host's processes",
        format!(
            "{}/s (server {:.0} %, simulator {:.0} % of a core; {:.1} µs of the server each{})",
            thousands(taken),
            cpu.servers,
            cpu.simulator,
            cpu.servers * 1e4 / taken.max(1.0),
            of_relay(deployment, cpu)
        ),
        "≥ 200,000/s",
    );
    deployment.simulator.tell("rate 0")?;
    deployment.until_quiet(args.patience(PATIENCE))?;
    Ok(taken)
}

/// The share of the relays, if there are some.
fn of_relay(deployment: &Deployment, cpu: CpuShare) -> String {
    match deployment.relays.is_empty() {
        false => format!("; relays {:.1} %", cpu.relay),
        true => String::new(),
    }
}

/// Statuses per second at the steady load.
pub(super) fn steady(args: &Args) -> f64 {
    steady_rate(args.n_processes())
}

pub(super) fn steady_rate(n_processes: usize) -> f64 {
    n_processes as f64 / STEADY_PERIOD_SECS
}

/// Raises the load until the server does not keep up; returns the maximum.
fn at_most(args: &Args, deployment: &mut Deployment) -> anyhow::Result<(f64, CpuShare)> {
    let mut best = (0.0, deployment.cpu().since(deployment.cpu()));
    let mut rate = FIRST;
    for _ in 0..MAX_STEPS {
        let (taken, cpu) = under(deployment, rate, args.load_time())?;
        eprintln!(
            "asked {}/s, taken {}/s; server {:.0} %, simulator {:.0} %",
            thousands(rate),
            thousands(taken),
            cpu.servers,
            cpu.simulator
        );
        let is_limit = taken < rate * KEEPS_UP && taken < best.0 * MORE;
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

/// Statuses per second that the server accepted under a load, and the CPU share.
fn under(
    deployment: &mut Deployment,
    rate: f64,
    time: Duration,
) -> anyhow::Result<(f64, CpuShare)> {
    deployment.simulator.tell(&format!("rate {rate}"))?;
    interrupt::sleep(RUN_UP)?;
    let (before, cpu_before) = (deployment.statuses()?, deployment.cpu());
    let started = Instant::now();
    interrupt::sleep(time)?;
    let after = deployment.statuses()?;
    let taken = (after - before) as f64 / started.elapsed().as_secs_f64();
    Ok((taken, deployment.cpu().since(cpu_before)))
}
