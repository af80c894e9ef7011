//! `muster completions`: what a shell needs to complete our command line.

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use super::Context;
use crate::args::Cli;
use crate::failure::{Exit, Failure};

pub const EXAMPLES: &str = "\
Examples:
  muster completions bash > /etc/bash_completion.d/muster
  muster completions zsh > \"${fpath[1]}/_muster\"
  muster completions fish > ~/.config/fish/completions/muster.fish";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "muster", &mut script);
    let script = String::from_utf8_lossy(&script);
    match context.out.is_json() {
        true => context
            .out
            .json(&json!({"shell": args.shell.to_string(), "script": script}))?,
        false => context.out.text(&script)?,
    }
    Ok(Exit::Ok)
}
