//! Kill and restart of a server: until it is ready, until every agent is connected, until it knows every status.

use std::time::{Duration, Instant};

use super::{Args, row, seconds};
use crate::deployment::Deployment;
use crate::table::{Table, thousands};

const PATIENCE: Duration = Duration::from_secs(180);

pub(super) fn measure(
    args: &Args,
    deployment: &mut Deployment,
    table: &mut Table,
) -> anyhow::Result<()> {
    match args.replicas {
        1 => alone(args, deployment, table),
        _ => one_of_several(args, deployment, table),
    }
}

fn alone(args: &Args, deployment: &mut Deployment, table: &mut Table) -> anyhow::Result<()> {
    let started = Instant::now();
    deployment.kill_server()?;
    let ready = deployment.start_server()?;
    deployment.until_connected(args.agents, args.patience(PATIENCE))?;
    let back = started.elapsed();
    deployment.until_statuses(args.n_processes() as u64, args.patience(PATIENCE))?;
    let known = started.elapsed();
    row(
        table,
        format!(
            "kill -9 of the server and start: all {} agents are back",
            thousands(args.agents as f64)
        ),
        format!(
            "{} (ready after {}, every status told again after {})",
            seconds(back),
            seconds(ready),
            seconds(known)
        ),
        "",
    );
    Ok(())
}

fn one_of_several(
    args: &Args,
    deployment: &mut Deployment,
    table: &mut Table,
) -> anyhow::Result<()> {
    let n_lost = deployment.simulator.stats()?["lost"].as_u64().unwrap_or(0);
    let started = Instant::now();
    deployment.kill_server()?;
    deployment.until_lost(n_lost, args.patience(PATIENCE))?;
    deployment.until_connected(args.agents, args.patience(PATIENCE))?;
    let over = started.elapsed();
    row(
        table,
        format!(
            "kill -9 of one of {} servers: its agents are with the others",
            args.replicas
        ),
        seconds(over),
        "",
    );
    let ready = deployment.start_server()?;
    row(
        table,
        "start of that one until it is ready",
        seconds(ready),
        "",
    );
    Ok(())
}
