//! `muster relay`: the same relay as `muster-agent relay`.

use agent::relay::{RelayAddresses, RelayArgs, RelayCommandError, RelayConfig, run as run_relay};
use serde_json::json;

use super::{Context, environment};
use crate::failure::{Exit, Failure, Kind, chain};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    relay: RelayArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let config = RelayConfig::resolve(&args.relay, environment)?;
    let out = &context.out;
    if args.relay.print_config {
        out.config(&config.to_table())?;
        return Ok(Exit::Ok);
    }
    let announce = |addresses: RelayAddresses| {
        let announced = match out.is_document() {
            true => {
                out.stream_document(&json!({"agents": addresses.agents, "http": addresses.http, "metrics": addresses.metrics}))
            }
            false => out.success(addresses),
        };
        // A closed stdout is no reason to stop.
        announced.ok();
    };
    match run_relay(&config, announce) {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => {
            let failure = Failure::new(Kind::Failed, format!("relay: {}", chain(&error)));
            Err(match error {
                RelayCommandError::Relay(_) => {
                    failure.advise("choose another address with --listen, or port 0 for any")
                }
                RelayCommandError::Config(_) | RelayCommandError::Io(_) => failure,
            })
        }
    }
}
