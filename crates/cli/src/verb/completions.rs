//! `muster completions`: what a shell needs to complete our command line.

use clap_complete::env::Shells;
use serde_json::json;

use super::Context;
use crate::completion::VARIABLE;
use crate::failure::{Exit, Failure, Kind};

pub const EXAMPLES: &str = "\
Examples:
  muster completions bash > /etc/bash_completion.d/muster
  muster completions zsh > \"${fpath[1]}/_muster\"
  muster completions fish > ~/.config/fish/completions/muster.fish

Names of processes, namespaces, hosts and businesses are completed from the server that
the environment and cli.toml name.";

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shell
    #[arg(value_parser = SHELLS)]
    shell: String,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let shells = Shells::builtins();
    let shell = shells
        .completer(&args.shell)
        .ok_or_else(|| Failure::usage(format!("{}: no such shell", args.shell)))?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "muster", "muster", "muster", &mut script)
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot write the script: {e}")))?;
    let script = String::from_utf8_lossy(&script);
    match context.out.is_document() {
        true => context
            .out
            .document(&json!({"shell": args.shell, "script": script}))?,
        false => context.out.text(&script)?,
    }
    Ok(Exit::Ok)
}
