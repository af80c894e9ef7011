//! `muster drain`: moves the agents of a replica to the others.

use api::Draining;
use serde_json::json;

use super::Context;
use crate::client::Path;
use crate::failure::{Exit, Failure};

pub const EXAMPLES: &str = "\
Examples:
  muster drain --url http://10.0.0.2:7100             before that replica is stopped for long
  muster replicas                                     how many agents are still there
  muster drain --undo --url http://10.0.0.2:7100      let it take agents again

It drains the replica that answers. An agent leaves when another replica has accepted it, so
no request fails meanwhile. A replica that is stopped with SIGTERM drains by itself.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Let it accept agents again
    #[arg(long)]
    undo: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let path = Path::new("drain");
    let state: Draining = match args.undo {
        true => client.delete(&path)?,
        false => client.post(&path, &json!({}))?,
    };
    let url = &client.account().url;
    let text = match state.draining {
        true => format!(
            "{url} drains: {} of its agents are still there",
            state.agents
        ),
        false => format!("{url} takes agents again"),
    };
    context.out.result(&state, text)?;
    Ok(Exit::Ok)
}
