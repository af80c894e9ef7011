//! `muster agent`: the same agent as the binary `muster-agent`, and the agents of the fleet as programs.

mod upgrade;
mod versions;

use std::time::Duration;

use agent::check::{self, CheckArgs, CheckSubject};
use agent::join_only::join_only;
use agent::{AgentArgs, AgentConfig, AgentError, OtherProcess};
use model::Host;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process};
use serde::de::IgnoredAny;
use serde_json::json;

use super::{Context, environment};
use crate::client::Path;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure, Kind, chain};

pub const EXAMPLES: &str = "\
Examples:
  First start, with a token of muster token create:
    MUSTER_JOIN_TOKEN=… muster agent --server 10.0.0.1:7101 --ip 10.0.0.7 \\
      --data /var/lib/muster-agent
  Later starts need neither token nor address of the host:
    muster agent --server 10.0.0.1:7101
  Several replicas; the agent connects to one of them:
    muster agent --server r1:7101,r2:7101,r3:7101
  What would it use?
    muster agent --config /etc/muster/agent.toml --print-config
  Is this host fit for an agent?
    muster agent check --server 10.0.0.1:7101
  Another binary for the agent that runs, in place:
    muster agent upgrade --binary ./muster
  The same for every agent of the fleet, a few at a time:
    muster agent upgrade --all --batch 5% --max-failures 3

A flag counts before its environment variable, the variable before the file, the file before the
default.
Stopping the agent leaves every process running.";

const REVOKE_EXAMPLES: &str = "\
Examples:
  A host was stolen, or given away:
    muster agent revoke 10.0.0.7
  It is ours again, and may join once:
    muster token create --host 10.0.0.7 --uses 1 --expires 1h
  A host was reinstalled, and the server rejects its new agent because the old one was connected lately:
    muster agent revoke 10.0.0.7

Asks first; without a terminal it needs --yes. Its processes keep running. An agent with a join
token that is still valid joins again by itself; to prevent that, delete the token first (muster
token list).";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(flatten)]
    agent: AgentArgs,
    /// Leave when this process, our parent, ends.
    #[arg(long, hide = true, value_name = "PID")]
    exit_with_parent: Option<i32>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Replace the binary of running agents, in place: of the fleet, or of this machine
    #[command(disable_version_flag = true, after_help = upgrade::examples())]
    Upgrade(Box<upgrade::Args>),
    /// Show which version of the agent is where, and which ones the server has
    #[command(after_help = versions::EXAMPLES)]
    Versions,
    /// Tell whether this host is fit for an agent; changes nothing
    #[command(after_help = check::EXAMPLES)]
    Check(CheckArgs),
    /// Revoke all certificates of a host; its agent has to join again
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke {
        /// IP or CLOUD:IP
        #[arg(value_name = "HOST")]
        host: Host,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    match &args.action {
        Some(Action::Upgrade(args)) => return upgrade::run(context, args),
        Some(Action::Versions) => return versions::run(context),
        Some(Action::Check(args)) => return check(context, args),
        Some(Action::Revoke { host, confirm }) => return revoke(context, *host, *confirm),
        None => {}
    }
    if let Some(parent) = args.exit_with_parent {
        exit_with(parent)?;
    }
    if args.agent.print_config && context.out.is_document() {
        let config = AgentConfig::resolve(&args.agent, environment)?;
        let table = config.to_toml().parse().map_err(|e| {
            Failure::new(
                Kind::Failed,
                format!("the agent's settings cannot be written as TOML: {e}"),
            )
        })?;
        context.out.config(&table)?;
        return Ok(Exit::Ok);
    }
    if args.agent.join_only && context.out.is_document() {
        let config = AgentConfig::resolve(&args.agent, environment)?;
        context
            .out
            .document(&join_only(&config).map_err(failure)?)?;
        return Ok(Exit::Ok);
    }
    agent::command("muster", args.agent).map_err(failure)?;
    Ok(Exit::Ok)
}

fn failure(error: AgentError) -> Failure {
    let kind = match &error {
        AgentError::Config(_)
        | AgentError::Data(_)
        | AgentError::Identity(_)
        | AgentError::Enrol(_) => Kind::Usage,
        _ => Kind::Failed,
    };
    Failure::new(kind, format!("agent: {}", chain(&error)))
}

fn revoke(context: &Context, host: Host, confirm: ConfirmArgs) -> Result<Exit, Failure> {
    confirm.ask(&format!("refuse all certificates of {host}"))?;
    let path = Path::new("hosts").join(host).join("revoke");
    context.client()?.post::<IgnoredAny>(&path, &json!({}))?;
    let document = json!({"host": host, "revoked": true});
    context.out.result(
        &document,
        format!("revoked the certificates of {host}: its agent has to join again"),
    )?;
    Ok(Exit::Ok)
}

fn check(context: &Context, args: &CheckArgs) -> Result<Exit, Failure> {
    let subject = CheckSubject::resolve(args, environment)?;
    let report = check::check_host(&subject, ());
    match context.out.is_document() {
        true => context.out.document(&check::to_document(&report))?,
        false => context.out.text(&report.to_text())?,
    }
    Ok(Exit::some_failed(check::exit_code(&report) != 0))
}

/// Stops this agent as SIGTERM does when its parent, `muster up`, ends, even by SIGKILL.
fn exit_with(parent: i32) -> Result<(), Failure> {
    let gone = || {
        Failure::new(
            Kind::Failed,
            "the agent ends, because the muster that started it has ended",
        )
    };
    let process = OtherProcess::find(parent)
        .map_err(|error| {
            Failure::new(
                Kind::Failed,
                format!("agent: its parent cannot be watched: {error}"),
            )
        })?
        .ok_or_else(gone)?;
    // The pid may have been reused before the process was found.
    if getppid() != Pid::from_raw(parent) {
        return Err(gone());
    }
    std::thread::Builder::new()
        .name("parent".into())
        .spawn(move || {
            while !process.ends_within(Duration::from_secs(3600)) {}
            // We can always signal ourselves.
            kill_process(getpid(), Signal::TERM).ok();
        })
        .map_err(|e| Failure::new(Kind::Failed, format!("agent: cannot watch its parent: {e}")))?;
    Ok(())
}
