//! `muster-agent check`: is this host fit for an agent?
//!
//! Looks at the host and at each configured server, and changes nothing: it creates no folder, takes no lock and sends no
//! token. So it works beside a running agent, and before there is a configuration. A running agent answers the same to the
//! server's question ([`crate::answer`]).
//!
//! Each check has a limit of some seconds. Those of the host run on a thread each, because a directory service or a network
//! disk may hang; the servers are asked at the same time.

mod data;
mod host;
mod identity;
mod limits;
mod parse;
mod servers;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use model::UnixMillis;
use model::host_check::{CheckResult, HostCheck, HostCheckReport};
use supervisor::ControlGroups;

use crate::config::{AgentArgs, AgentConfig, ConfigError, Join, ServerAddress};
use identity::FoundIdentity;

pub const EXAMPLES: &str = "\
Examples:
  Before an agent is installed:
    muster-agent check
  Can this host join that server? Nothing is sent but a question for the time:
    MUSTER_JOIN_TOKEN=… muster-agent check --server 10.0.0.1:7101
  With the configuration of the agent that runs here:
    muster-agent check --config /etc/muster/agent.toml
  The same with the other binary, and for programs:
    muster agent check -o json | jq '.checks[] | select(.result != \"ok\")'

Changes nothing. Run it as the user that the agent runs as. Exit code 0: all is ok or degraded;
1: something is \"no\"; 2: wrong usage or configuration.";

/// How long a check of the host may take.
const HOST_LIMIT: Duration = Duration::from_secs(4);

/// The flags, as `muster-agent check` and `muster agent check` share them.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct CheckArgs {
    /// Where servers listen for agents, separated by commas [env: MUSTER_SERVER]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub server: Vec<String>,
    /// Where the agent keeps identity and journal [env: MUSTER_AGENT_DATA] [default: /var/lib/muster-agent]
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Token for enrolment; only its fingerprint is used, to verify the server [env: MUSTER_JOIN_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub join: Option<String>,
    /// auto or off: whether the agent will use control groups [env: MUSTER_CGROUPS] [default: auto]
    #[arg(long, value_name = "USE")]
    pub cgroups: Option<String>,
    /// The agent's TOML file [env: MUSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
}

/// What to check.
#[derive(Debug, Clone)]
pub struct CheckSubject {
    servers: Vec<ServerAddress>,
    data: PathBuf,
    join: Option<Join>,
    cgroups: ControlGroups,
}

impl CheckSubject {
    /// What `muster-agent` would use with these flags. There may be no server yet.
    pub fn resolve(
        args: &CheckArgs,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let args = AgentArgs {
            server: args.server.clone(),
            data: args.data.clone(),
            join: args.join.clone(),
            cgroups: args.cgroups.clone(),
            config: args.config.clone(),
            ..AgentArgs::default()
        };
        let config = AgentConfig::resolve_so_far(&args, env)?;
        Ok(Self::of(&config))
    }

    /// What the agent with this configuration uses.
    pub fn of(config: &AgentConfig) -> Self {
        Self {
            servers: config.servers.clone(),
            data: config.data.clone(),
            join: config.join.clone(),
            cgroups: config.cgroups,
        }
    }
}

/// Runs all checks. Blocks for some seconds at most. `guard` lives until the last of them has ended, which may be later: a
/// check that hangs is given up, and its thread stays.
pub fn check_host<G: Clone + Send + 'static>(subject: &CheckSubject, guard: G) -> HostCheckReport {
    let subject = Arc::new(subject.clone());
    let started = Instant::now();
    let identity = begin("data", &guard, {
        let data = subject.data.clone();
        move || identity::find(&data)
    });
    let host: Vec<_> = host::CHECKS
        .iter()
        .map(|(name, check)| {
            let subject = Arc::clone(&subject);
            (*name, begin(name, &guard, move || check(&subject)))
        })
        .collect();

    // The certificate is needed first: with it the agent authenticates itself.
    let identity = await_until(&identity, started + HOST_LIMIT).unwrap_or(FoundIdentity::Hangs);
    let asked = servers::check(&subject, &identity, &guard);

    let mut report = HostCheckReport::default();
    for (name, running) in host {
        let found = await_until(&running, started + HOST_LIMIT);
        report
            .checks
            .extend(found.unwrap_or_else(|| vec![hangs(name)]));
    }
    let now = crate::session::now();
    report.checks.extend(identity.check(&subject, now));
    report.checks.extend(asked.checks);
    report.left_out.extend(identity.left_out(&subject));
    report.left_out.extend(asked.left_out);
    report
}

fn hangs(name: &str) -> HostCheck {
    let message = format!("no answer within {} s", HOST_LIMIT.as_secs());
    let hint = match name {
        "users" => {
            "the directory service of this host does not answer: starts of processes would wait for it; see the `passwd` line of /etc/nsswitch.conf"
        }
        "data" => "the disk of the data folder hangs: give the agent a folder on a local disk",
        _ => "the host is overloaded, or a file system hangs",
    };
    HostCheck::no(name, message, hint)
}

/// Runs a check on a thread of its own.
fn begin<T: Send + 'static>(
    name: &str,
    guard: &(impl Clone + Send + 'static),
    check: impl FnOnce() -> T + Send + 'static,
) -> mpsc::Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    let guard = guard.clone();
    // A check that cannot get a thread is reported as one that hangs.
    let _ = std::thread::Builder::new()
        .name(format!("check-{name}"))
        .spawn(move || {
            // The reader may have given up.
            let _ = sender.send(check());
            drop(guard);
        });
    receiver
}

fn await_until<T>(running: &mpsc::Receiver<T>, deadline: Instant) -> Option<T> {
    let left = deadline.saturating_duration_since(Instant::now());
    running.recv_timeout(left).ok()
}

/// The report as one document, with the worst result on top.
pub fn to_document(report: &HostCheckReport) -> serde_json::Value {
    serde_json::json!({
        "result": report.result(),
        "checks": report.checks,
        "left_out": report.left_out,
    })
}

pub fn to_json(report: &HostCheckReport) -> String {
    format!("{:#}\n", to_document(report))
}

/// The exit code of a check.
pub fn exit_code(report: &HostCheckReport) -> u8 {
    u8::from(report.result() == CheckResult::No)
}

/// The day of a moment.
fn day(at: UnixMillis) -> String {
    let text = at.to_rfc3339();
    text.split('T').next().unwrap_or_default().to_owned()
}
