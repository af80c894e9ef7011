//! The flags that say how a job goes about its tasks, for `muster job` and for operations that roll.

use std::time::Duration;

use api::{JobOptionsBody, Scalar};
use model::job::{BatchSize, Gate, TaskOrder};

use crate::args::value_name;
use crate::format::parse_duration;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Pace and failures")]
pub struct PaceArgs {
    /// At most this many at a time, or this share of all: 10, 5% [default: all of one priority]
    #[arg(long, value_name = "N", value_parser = parse_batch)]
    batch: Option<BatchSize>,
    /// Begin with this many; if one of them fails, nothing more begins
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    canary: Option<u32>,
    /// Wait this long between two batches (5s, 2m)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pause: Option<Duration>,
    /// What each process must stay for so long before its task has succeeded: up:30s (it runs) or ready:30s (and is healthy)
    #[arg(long, value_name = "STATE:TIME", value_parser = parse_gate)]
    gate: Option<Gate>,
    /// Continue after up to this many failures [default: 0]
    #[arg(long, value_name = "N", value_parser = parse_failures)]
    max_failures: Option<u32>,
    /// The order of processes: priority, host or label:KEY, one value after the other [default: priority]
    #[arg(long, value_name = "ORDER", value_parser = parse_order)]
    order: Option<TaskOrder>,
    /// What has batches of its own, where a failure stops later tasks; without a business only business and host
    /// [default: business, which is all]
    #[arg(long, value_enum)]
    isolation: Option<IsolationArg>,
    /// Result codes that do not count as failures, separated by commas
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    ignore: Vec<i64>,
}

pub fn parse_batch(text: &str) -> Result<BatchSize, String> {
    BatchSize::parse(text).map_err(|invalid| invalid.rule)
}

fn parse_failures(text: &str) -> Result<u32, String> {
    let rule = || format!("must be a whole number of failures, not {text:?}");
    text.parse().map_err(|_| rule())
}

fn parse_gate(text: &str) -> Result<Gate, String> {
    Gate::parse(text).map_err(|invalid| invalid.rule)
}

fn parse_order(text: &str) -> Result<TaskOrder, String> {
    TaskOrder::parse(text).map_err(|invalid| invalid.rule)
}

/// The size as a request has it.
pub fn size_of(batch: BatchSize) -> Scalar {
    match batch {
        BatchSize::Tasks(n) => Scalar::Int(n.into()),
        BatchSize::Percent(percent) => format!("{percent}%").as_str().into(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum IsolationArg {
    Business,
    Set,
    Module,
    Host,
}

impl PaceArgs {
    /// Whether any of them is given, so that an operation becomes a job.
    pub fn is_given(&self) -> bool {
        let Self {
            batch,
            canary,
            pause,
            gate,
            max_failures,
            order,
            isolation,
            ignore,
        } = self;
        let has_pace = batch.is_some() || canary.is_some() || pause.is_some() || gate.is_some();
        let has_order = order.is_some() || isolation.is_some();
        has_pace || has_order || max_failures.is_some() || !ignore.is_empty()
    }

    pub fn options(&self) -> JobOptionsBody {
        let text = |text: Option<String>| text.map_or(Scalar::Absent, |text| text.as_str().into());
        let pause = self.pause.unwrap_or_default().as_secs();
        let isolation = self.isolation.unwrap_or(IsolationArg::Business);
        JobOptionsBody {
            isolation: value_name(isolation).as_str().into(),
            batch_size: self.batch.map_or(Scalar::Absent, size_of),
            max_failures: Some(self.max_failures.unwrap_or(0).into()),
            ignore_error_codes: Some(self.ignore.clone()),
            pause_secs: Some(u32::try_from(pause).unwrap_or(u32::MAX).into()),
            canary: self.canary.map(Into::into),
            gate: text(self.gate.map(|gate| gate.to_string())),
            order: text(self.order.as_ref().map(ToString::to_string)),
            ..JobOptionsBody::default()
        }
    }
}
