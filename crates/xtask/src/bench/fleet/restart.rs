//! The server is killed and started again: until it is ready, until every agent is back, until it knows every process.

use std::time::{Duration, Instant};

use super::stage::Stage;
use super::{Args, row, seconds};
use crate::table::{Table, thousands};

const PATIENCE: Duration = Duration::from_secs(180);

pub(super) fn measure(args: &Args, stage: &mut Stage, table: &mut Table) -> anyhow::Result<()> {
    let started = Instant::now();
    let ready = stage.restart_server()?;
    stage.until_connected(args.agents, PATIENCE)?;
    let back = started.elapsed();
    stage.until_statuses(args.n_processes() as u64, PATIENCE)?;
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
