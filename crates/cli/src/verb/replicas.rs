//! `muster replicas`: the servers that are one installation.

use super::{Context, rows};
use crate::client::ReplicaRow;
use crate::failure::{Exit, Failure};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster replicas
  muster replicas --url http://10.0.0.2:7100      as another one sees them
  muster replicas -o json | jq '.replicas[] | select(.leads) | .address'";

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let answer = context.client()?.list("replicas")?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new([
        Column::text("REPLICA"),
        Column::text("ADDRESS"),
        Column::number("AGENTS"),
        Column::text("STATE"),
        Column::text("BACKGROUND WORK"),
        Column::text(""),
    ]);
    for row in rows::<ReplicaRow>(&answer, "replicas")? {
        let state = match row.draining {
            true => Cell::toned(Tone::Warn, "draining"),
            false => Cell::toned(Tone::Good, "up"),
        };
        let leads = if row.leads { "yes" } else { "" };
        let this = if row.this { "answers you" } else { "" };
        table.row([
            Cell::from(row.id),
            row.address.into(),
            row.agents.to_string().into(),
            state,
            leads.into(),
            this.into(),
        ]);
    }
    out.table(&table)?;
    if answer["bus_up"] == false {
        out.warn("the bus is away: replicas hear of each other through the store, which is slower");
    }
    if answer["store_up"] == false {
        out.warn("the store is away: what is shown may be old, and nothing can be changed");
    }
    Ok(Exit::Ok)
}
