//! Connect storm, and memory per connected agent and per registered process.

use std::time::{Duration, Instant};

use super::{Args, row, seconds};
use crate::bench::api;
use crate::bench::hosts;
use crate::deployment::Deployment;
use crate::interrupt;
use crate::table::{Table, thousands};

const PATIENCE: Duration = Duration::from_secs(180);
/// After this idle time temporary memory is freed.
const REST: Duration = Duration::from_secs(3);

pub(super) fn measure(
    args: &Args,
    deployment: &mut Deployment,
    table: &mut Table,
) -> anyhow::Result<()> {
    connect(args, deployment, table)?;
    register(args, deployment, table)
}

pub(super) fn enrolled(args: &Args, took: Duration, table: &mut Table) {
    let n_agents = thousands(args.agents as f64);
    let rate = args.agents as f64 / took.as_secs_f64();
    row(
        table,
        format!("enrol {n_agents} agents: keys, certificates, durable"),
        format!("{} ({}/s)", seconds(took), thousands(rate)),
        "",
    );
}

fn connect(args: &Args, deployment: &mut Deployment, table: &mut Table) -> anyhow::Result<()> {
    let before = deployment.memory()?;
    let relay_before = deployment.relay_memory()?;
    let simulator_before = deployment.simulator.memory()?;
    let cpu_before = deployment.cpu();
    let started = Instant::now();
    deployment.simulator.tell("connect")?;
    deployment.until_connected(args.agents, args.patience(PATIENCE))?;
    let took = started.elapsed();
    let cpu = deployment.cpu().since(cpu_before);
    let failed = deployment.simulator.stats()?["failed_connects"].clone();
    row(
        table,
        format!(
            "connect storm until {} agents are up",
            thousands(args.agents as f64)
        ),
        format!(
            "{} ({}/s; {failed} tries in vain; server {:.0} %, simulator {:.0} % of a core)",
            seconds(took),
            thousands(args.agents as f64 / took.as_secs_f64()),
            cpu.servers,
            cpu.simulator
        ),
        "",
    );
    interrupt::sleep(REST)?;
    let grown = deployment.memory()?.saturating_sub(before);
    row(
        table,
        "memory per connected agent (growth of RSS)",
        format!("{:.1} KiB", grown as f64 / 1024.0 / args.agents as f64),
        "≤ 30 KiB",
    );
    let grown = deployment
        .simulator
        .memory()?
        .saturating_sub(simulator_before);
    row(
        table,
        "… of the simulator, per connected agent (growth of PSS)",
        format!(
            "{:.1} KiB, and {:.1} KiB before",
            grown as f64 / 1024.0 / args.agents as f64,
            simulator_before as f64 / 1024.0 / args.agents as f64
        ),
        "",
    );
    if let (Some(before), Some(after)) = (relay_before, deployment.relay_memory()?) {
        let grown = after.saturating_sub(before);
        row(
            table,
            "… of the relays, per connection (growth of PSS)",
            format!(
                "{:.1} KiB; {:.0} % of a core during the storm, {:.1} MiB in all",
                grown as f64 / 1024.0 / args.agents as f64,
                cpu.relay,
                after as f64 / 1024.0 / 1024.0
            ),
            "",
        );
    }
    Ok(())
}

fn register(args: &Args, deployment: &mut Deployment, table: &mut Table) -> anyhow::Result<()> {
    let before = deployment.memory()?;
    let simulator_before = deployment.simulator.memory()?;
    let (registered, held) = register_all(deployment, args.agents, args.procs)?;
    let n_processes = thousands(args.n_processes() as f64);
    row(
        table,
        format!(
            "register {n_processes} processes in {} requests, durable",
            args.procs
        ),
        format!(
            "{} ({}/s)",
            seconds(registered),
            thousands(args.n_processes() as f64 / registered.as_secs_f64())
        ),
        "",
    );
    row(
        table,
        "… until every agent holds its own and has reported them",
        seconds(held),
        "",
    );
    interrupt::sleep(REST)?;
    // Each server holds all of them.
    let grown = deployment.memory()?.saturating_sub(before) / deployment.n_servers() as u64;
    row(
        table,
        "memory per registered and reported process, in each server",
        format!("{:.0} bytes", grown as f64 / args.n_processes() as f64),
        "≤ 200 bytes",
    );
    let grown = deployment
        .simulator
        .memory()?
        .saturating_sub(simulator_before);
    row(
        table,
        "… in the simulator",
        format!("{:.0} bytes", grown as f64 / args.n_processes() as f64),
        "",
    );
    row(
        table,
        "store on disk after that",
        format!("{:.0} MB", deployment.store_bytes()? as f64 / 1e6),
        "",
    );
    Ok(())
}

/// Registers as many processes on each host; returns the time until the requests were answered, and until every agent has
/// reported its processes.
pub(super) fn register_all(
    deployment: &Deployment,
    n_agents: usize,
    n_names: usize,
) -> anyhow::Result<(Duration, Duration)> {
    let hosts = hosts::list(n_agents);
    let mut client = deployment.client()?;
    let taken = deployment.statuses()?;
    let started = Instant::now();
    for number in 0..n_names {
        let body = api::register_on(&hosts, &format!("proc-{number}"));
        client.gse("register_proc_info", &body)?;
    }
    let registered = started.elapsed();
    let patience = super::patience(PATIENCE, n_agents);
    deployment.until_statuses(taken + (n_agents * n_names) as u64, patience)?;
    Ok((registered, started.elapsed()))
}
