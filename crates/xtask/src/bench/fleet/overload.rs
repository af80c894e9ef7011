//! Many more statuses than the servers can take, while operations run: goodput must not collapse, every target must end with
//! success, and no agent may lose its session.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::{Args, operate, row, seconds};
use crate::bench::hosts;
use crate::deployment::Deployment;
use crate::interrupt;
use crate::table::{Table, thousands};

/// The load, in relation to the most that the servers took.
const TIMES: f64 = 3.0;
/// Until every connection is full of statuses.
const RUN_UP: Duration = Duration::from_secs(2);
/// Limit for a server to process what has queued up on its connections.
const PATIENCE: Duration = Duration::from_secs(120);

/// `best` is the most that the servers took, in statuses per second.
pub(super) fn measure(
    args: &Args,
    deployment: &mut Deployment,
    best: f64,
    table: &mut Table,
) -> anyhow::Result<()> {
    let n_lost = lost(deployment)?;
    let asked = best * TIMES;
    deployment.simulator.tell(&format!("rate {asked}"))?;
    interrupt::sleep(RUN_UP)?;
    let (hosts, mut client) = (hosts::list(args.agents), deployment.client()?);
    let (before, cpu, started) = (deployment.statuses()?, deployment.cpu(), Instant::now());
    let mut operations = Vec::new();
    while operations.is_empty() || started.elapsed() < args.overload_time() {
        let name = format!("proc-{}", operations.len() % args.procs);
        operations
            .push(operate::operate(&mut client, &hosts, &name, args.patience(PATIENCE))?.ended);
        interrupt::sleep(Duration::from_secs(1))?;
    }
    let n_taken = deployment.statuses()? - before;
    let taken = n_taken as f64 / started.elapsed().as_secs_f64();
    let cpu = deployment.cpu().since(cpu);
    deployment.simulator.tell("rate 0")?;
    deployment.until_quiet(args.patience(PATIENCE))?;
    let n_lost = lost(deployment)? - n_lost;
    ensure!(n_lost == 0, "{n_lost} agents lost their session");
    operations.sort_unstable();
    row(
        table,
        format!("statuses taken when {}/s are reported", thousands(asked)),
        format!(
            "{}/s, {:.0} % of the most (server {:.0} %, simulator {:.0} % of a core)",
            thousands(taken),
            100.0 * taken / best,
            cpu.servers,
            cpu.simulator
        ),
        "≥ 90 % of the most",
    );
    row(
        table,
        format!(
            "… operate {} hosts meanwhile until every target has ended, median of {}",
            thousands(args.agents as f64),
            operations.len()
        ),
        format!(
            "{} (slowest {}; no agent lost its session)",
            seconds(operations[operations.len() / 2]),
            seconds(operations[operations.len() - 1])
        ),
        "",
    );
    Ok(())
}

/// How many sessions have ended so far, as the agents see it.
fn lost(deployment: &mut Deployment) -> anyhow::Result<u64> {
    let lost = deployment.simulator.stats()?["lost"].as_u64();
    lost.context("the simulator says how many sessions were lost")
}
