//! `muster unregister`: forget a process and leave it running.

use model::FullName;

use super::{Context, register};
use crate::failure::{Exit, Failure};
use crate::target::{TargetArgs, Targets};

pub const EXAMPLES: &str = "\
Examples:
  muster unregister web/nginx --host 10.0.0.1
  muster unregister web/nginx --all

What runs goes on running, and nobody looks after it any more. Stop it first if you want
it gone.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "NAMESPACE/NAME")]
    pub name: FullName,
    #[command(flatten)]
    pub targets: TargetArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let results = match args.targets.choose(&client, &args.name)? {
        Targets::All => client.unregister(&args.name, None)?,
        Targets::Hosts(hosts) => client.unregister(&args.name, Some(&hosts))?,
    };
    register::report(&context.out, "forgot", &args.name, &results)
}
