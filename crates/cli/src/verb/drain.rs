//! `muster drain`: a replica lets its agents go to the others.

use serde::{Deserialize, Serialize};

use super::Context;
use crate::failure::{Exit, Failure};

pub const EXAMPLES: &str = "\
Examples:
  muster drain --url http://10.0.0.2:7100             before that replica is stopped for long
  muster replicas                                     how many agents are still there
  muster drain --undo --url http://10.0.0.2:7100      let it take agents again

It drains the replica that answers. Agents go once another replica has welcomed them, so
nothing fails meanwhile. A replica that is stopped with SIGTERM drains by itself.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Let it take agents again
    #[arg(long)]
    undo: bool,
}

#[derive(Debug, Deserialize, Serialize)]
struct Draining {
    draining: bool,
    agents: usize,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let answer: Draining = match args.undo {
        true => client.undo("drain")?,
        false => client.create("drain", &serde_json::json!({}))?,
    };
    let url = &client.account().url;
    let said = match answer.draining {
        true => format!(
            "{url} drains: {} of its agents are still there",
            answer.agents
        ),
        false => format!("{url} takes agents again"),
    };
    context.out.did(&answer, said)?;
    Ok(Exit::Ok)
}
