//! `muster replicas`: the replicas of an installation.

use api::ReplicaList;

use super::Context;
use crate::client::Path;
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster replicas
  muster replicas --url http://10.0.0.2:7100      as another one sees them
  muster replicas -o json | jq '.replicas[] | select(.leads) | .address'";

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let response = context.client()?.get(&Path::new("replicas"))?;
    out.response(response, |list: ReplicaList| {
        let mut table = TextTable::new("REPLICA|ADDRESS|>AGENTS|STATE|BACKGROUND WORK|");
        for row in list.replicas {
            let state = match row.draining {
                true => Cell::styled(Style::Warn, "draining"),
                false => Cell::styled(Style::Good, "up"),
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
        if !list.bus_up {
            out.warn(
                "NATS is not connected: replicas exchange messages through the store, which is slower",
            );
        }
        if !list.store_up {
            out.warn("the store is not reachable: what is shown may be old, and nothing can be changed");
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}
