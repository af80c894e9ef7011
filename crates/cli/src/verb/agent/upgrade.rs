//! `muster agent upgrade`: of the agent on this machine, or of agents of the fleet, through their server.

use std::time::Duration;

use agent::upgrade::{self as local, UpgradeArgs as LocalArgs, UpgradeError};
use api::{AgentUpgradeBody, AgentUpgradeView, JobOptionsBody, LeftOutView, Scalar};
use model::job::BatchSize;

use super::super::job::to_its_end;
use super::super::{Context, environment};
use crate::client::Path;
use crate::confirm::ConfirmArgs;
use crate::failure::{EXIT_CODES, Exit, Failure, Kind, chain};
use crate::format::{clean, count, counted, parse_duration};
use crate::pace::{parse_batch, size_of};
use crate::processes::parse_selector;

pub(super) fn examples() -> String {
    format!(
        "\
Examples:
  muster agent upgrade --all                                   to the newest that the server has
  muster agent upgrade --all --version 0.2.0 --batch 5% --max-failures 3 --pause 30s
  muster agent upgrade --host 10.0.0.1,10.0.0.2                these hosts first
  muster agent upgrade --label tier=front --dry-run            only show which ones
  muster agent upgrade --all --no-wait                         print the job's id; muster job pause,
                                                               resume, cancel and retry take it
  muster agent versions                                        which version is where

  The agent on this machine, without a server:
  muster agent upgrade --binary ./muster              the agent in /var/lib/muster-agent
  muster-agent upgrade --binary ./muster-agent        the same for the small binary
  muster agent upgrade --data ~/data/agent            the file was replaced already
  muster agent upgrade --binary ./muster -o json      what was done, as JSON

An agent keeps its pid, and no process is touched. If the new binary does not come up, or does not
connect, the agent returns to the old one. A roll-out stops after --max-failures failures.

{EXIT_CODES}"
    )
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    local: LocalArgs,
    #[command(flatten)]
    fleet: FleetArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Agents of the fleet")]
struct FleetArgs {
    /// Every agent
    #[arg(long, conflicts_with_all = ["data", "config", "binary", "expect_version"])]
    all: bool,
    /// The agents of these hosts, separated by commas
    #[arg(
        short = 'H',
        long,
        value_name = "HOST",
        value_delimiter = ',',
        conflicts_with_all = ["data", "config", "binary", "expect_version", "all"]
    )]
    host: Vec<String>,
    /// The agents of hosts that have these labels, or a process that has them
    #[arg(
        short = 'l',
        long,
        visible_alias = "selector",
        value_name = "LABELS",
        value_parser = parse_selector,
        conflicts_with_all = ["data", "config", "binary", "expect_version"]
    )]
    label: Option<String>,
    /// Only agents of these cloud areas, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with_all = ["data", "config", "binary"])]
    cloud: Vec<u32>,
    /// Only agents of these versions, separated by commas
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',', conflicts_with_all = ["data", "config", "binary"])]
    from_version: Vec<String>,
    /// The version that they are to be of [default: the newest that the server has]
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["data", "config", "binary"])]
    version: Option<String>,
    /// At most this many at a time, or this share of all: 10, 5% [default: 5%]
    #[arg(long, value_name = "N", value_parser = parse_batch)]
    batch: Option<BatchSize>,
    /// Continue after up to this many failures [default: 0]
    #[arg(long, value_name = "N")]
    max_failures: Option<u32>,
    /// Wait this long between two batches (5s, 2m)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pause: Option<Duration>,
    /// Only show which agents would be upgraded
    #[arg(long, conflicts_with = "no_wait")]
    dry_run: bool,
    /// Print the job's id and do not wait for its end
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl FleetArgs {
    fn names_agents(&self) -> bool {
        self.all
            || !self.host.is_empty()
            || self.label.is_some()
            || !self.cloud.is_empty()
            || !self.from_version.is_empty()
    }

    fn is_given(&self) -> bool {
        let Self {
            version,
            batch,
            max_failures,
            pause,
            ..
        } = self;
        let has_pace = batch.is_some() || max_failures.is_some() || pause.is_some();
        self.names_agents() || version.is_some() || has_pace || self.dry_run || self.no_wait
    }

    fn body(&self) -> AgentUpgradeBody {
        let some = |texts: &[String]| (!texts.is_empty()).then(|| texts.to_vec());
        let pause = self.pause.map(|pause| pause.as_secs());
        let clouds = self.cloud.iter().copied().map(i64::from).collect();
        AgentUpgradeBody {
            version: self.version.clone(),
            all: self.all.then_some(true),
            hosts: some(&self.host),
            label: self.label.clone(),
            clouds: (!self.cloud.is_empty()).then_some(clouds),
            from_versions: some(&self.from_version),
            expect_count: None,
            dry_run: Some(true),
            options: Some(JobOptionsBody {
                batch_size: self.batch.map_or(Scalar::Absent, size_of),
                max_failures: self.max_failures.map(Into::into),
                pause_secs: pause.map(|secs| i64::try_from(secs).unwrap_or(i64::MAX)),
                ..JobOptionsBody::default()
            }),
        }
    }
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match args.fleet.is_given() {
        true => of_fleet(context, &args.fleet),
        false => of_this_machine(context, &args.local),
    }
}

fn of_fleet(context: &Context, args: &FleetArgs) -> Result<Exit, Failure> {
    if !args.names_agents() {
        return Err(Failure::usage(
            "which agents? --all, --host, --label, --cloud or --from-version",
        ));
    }
    let client = context.client()?;
    let out = &context.out;
    let path = Path::new("agents").join("upgrade");
    let mut body = args.body();
    let plan: AgentUpgradeView = client.post(&path, &body)?;
    if args.dry_run {
        out.result(&plan, sentence(&plan))?;
        return Ok(Exit::Ok);
    }
    for group in &plan.left_out {
        out.note(left_out(group));
    }
    if plan.count == 0 {
        let only_done = plan
            .left_out
            .iter()
            .all(|group| group.reason == "already_so");
        let text = match plan.left_out.is_empty() {
            true => "no agent matches".to_owned(),
            false => format!("nothing to do: no agent to upgrade to {}", plan.version),
        };
        return match only_done && !plan.left_out.is_empty() {
            true => {
                out.result(&plan, text)?;
                Ok(Exit::Ok)
            }
            false => Err(Failure::new(Kind::NotFound, text)),
        };
    }
    if plan.count > 1 {
        let what = format!(
            "upgrade {} to {}",
            counted(plan.count, "agent"),
            plan.version
        );
        args.confirm.ask(&what)?;
    }
    body.dry_run = None;
    body.version = Some(plan.version);
    body.expect_count = i64::try_from(plan.count).ok();
    let begun: AgentUpgradeView = client.post(&path, &body)?;
    let Some(job) = begun.job else {
        return Err(Failure::new(Kind::Failed, "the server began no job"));
    };
    if args.no_wait {
        out.result(&begun, job)?;
        return Ok(Exit::Ok);
    }
    to_its_end(&client, out, job, None)
}

/// What a dry run found.
fn sentence(plan: &AgentUpgradeView) -> String {
    let mut hosts = plan.hosts.join(", ");
    if plan.count > plan.hosts.len() {
        hosts.push_str(", …");
    }
    let mut lines = vec![match plan.count {
        0 => format!("no agent would be upgraded to {}", plan.version),
        n => format!(
            "{} would be upgraded to {}: {hosts}",
            counted(n, "agent"),
            plan.version
        ),
    }];
    lines.extend(plan.left_out.iter().map(left_out));
    lines
        .iter()
        .map(|line| clean(line))
        .collect::<Vec<_>>()
        .join("\n")
}

fn left_out(group: &LeftOutView) -> String {
    let why = match group.reason.as_str() {
        "already_so" => "of that version already",
        "away" => "not connected",
        "not_replaceable" => {
            "not replaceable by the server, as part of muster up or as too old; use the package or install.sh"
        }
        "no_binary" => {
            "the server has no binary for this processor and program (muster agent versions)"
        }
        other => other,
    };
    let hosts = group.hosts.join(", ");
    let more = match group.count > group.hosts.len() as u64 {
        true => ", …",
        false => "",
    };
    format!("left out {}: {why} ({hosts}{more})", count(group.count))
}

fn of_this_machine(context: &Context, args: &LocalArgs) -> Result<Exit, Failure> {
    match local::upgrade(args, environment) {
        Ok(upgraded) => {
            context.out.result(&upgraded, &upgraded)?;
            Ok(Exit::Ok)
        }
        Err(error) => {
            let kind = match &error {
                UpgradeError::Config(_) | UpgradeError::Refused { .. } => Kind::Usage,
                UpgradeError::NotRunning { .. } => Kind::NotFound,
                UpgradeError::TimedOut { .. } => Kind::TimedOut,
                UpgradeError::Swap { .. }
                | UpgradeError::Tell { .. }
                | UpgradeError::Failed { .. } => Kind::Failed,
            };
            Err(Failure::new(kind, format!("agent: {}", chain(&error))))
        }
    }
}
