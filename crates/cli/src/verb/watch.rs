//! `muster watch`: change events as they happen.

use api::{
    AgentChange, EventRow, JobProgress, Lagged, RegistrationChange, StatusChange, TaskProgress,
    TemplateChange, TopologyChange,
};
use model::{Host, UnixMillis};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Context;
use super::hosts::connection;
use crate::client::{ChangeEvent, reopen};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{clean, clock, count, counted, now};
use crate::out::Out;
use crate::processes::parse_selector;
use crate::state::{state_style, with_details};

pub const EXAMPLES: &str = "\
Examples:
  muster watch
  muster watch --namespace web --kind status,event
  muster watch -l tier=front,env!=test
  muster watch -o json | jq -c 'select(.event == \"event\")'

Runs until Ctrl-C. When the connection was lost it connects again and shows what happened meanwhile, as far as the server
still knows. Times are UTC.";

const KINDS: [&str; 8] = [
    "status",
    "task",
    "job",
    "event",
    "agent",
    "registration",
    "topology",
    "template",
];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Only on this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
    /// Only statuses, events, registrations and tasks of processes with these labels: tier=front,zone!=b
    #[arg(short = 'l', long, visible_alias = "selector", value_name = "LABELS", value_parser = parse_selector)]
    label: Vec<String>,
    /// Only these kinds, separated by commas
    #[arg(short, long = "kind", value_name = "KIND", value_delimiter = ',', value_parser = KINDS)]
    kinds: Vec<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let host = args.host.map(|host| host.to_string());
    let open = |since: Option<&str>| {
        client.watch_since(
            since,
            args.namespace.as_deref(),
            host.as_deref(),
            &args.label,
            &args.kinds,
        )
    };
    let mut stream = open(None)?;
    out.note(format!(
        "watching {} (Ctrl-C ends it)",
        client.account().url
    ));
    loop {
        for change in stream.by_ref().map_while(Result::ok) {
            show(out, &change)?;
        }
        out.note("the connection was lost");
        let since = stream.last_id().map(str::to_owned);
        stream = reopen(|| open(since.as_deref()))?;
        out.note("connected again");
    }
}

fn show(out: &Out, change: &ChangeEvent) -> Result<(), Failure> {
    match out.is_document() {
        true => out.stream_document(&json!({"event": change.kind, "data": change.data})),
        false => out.line(sentence(out, change)),
    }
}

/// `10:45:02  status        web/nginx on 0:10.0.0.1: running, pid 77`.
fn sentence(out: &Out, change: &ChangeEvent) -> String {
    let data = &change.data;
    let at = data["at"].as_i64().map_or_else(now, UnixMillis);
    let text = match change.kind.as_str() {
        "status" => parsed(data, |status| status_text(out, &status)),
        "task" => parsed(data, |task: TaskProgress| {
            format!(
                "{}: {} of {} ended, {} ok",
                clean(&task.id),
                count(task.ended),
                count(task.total),
                count(task.ok)
            )
        }),
        "agent" => parsed(data, |agent: AgentChange| {
            let (style, word) = connection(agent.connected);
            let host = clean(&agent.host.to_string());
            format!("{host}: {}", out.paint(style, word))
        }),
        "event" => parsed(data, |event: EventRow| {
            clean(&format!(
                "{} on {}: {}: {}",
                event.process, event.host, event.kind, event.reason
            ))
        }),
        "job" => parsed(data, |job: JobProgress| {
            clean(&format!(
                "{} ({}{}): {}",
                job.id,
                job.action,
                of_business(job.business),
                job.status
            ))
        }),
        "registration" => parsed(data, |registration: RegistrationChange| {
            clean(&format!(
                "{}: {} on {}",
                registration.process,
                registration.what,
                counted(registration.hosts as u64, "host")
            ))
        }),
        "topology" => parsed(data, |topology: TopologyChange| {
            format!("business {} changed", topology.business)
        }),
        "template" => parsed(data, |template: TemplateChange| {
            format!(
                "template {} of business {} changed",
                template.template, template.business
            )
        }),
        "lagged" => parsed(data, |lagged: Lagged| match lagged.missed {
            Some(missed) => format!("too much at once: {} left out", count(missed)),
            None => "the server no longer knows what happened meanwhile".to_owned(),
        }),
        _ => clean(&data.to_string()),
    };
    let clock = out.paint(Style::Dim, &clock(at));
    format!("{clock}  {:<12}  {text}", change.kind)
}

/// The data as `show` writes it, or as it came where a newer server writes it in another form.
fn parsed<T: DeserializeOwned>(data: &Value, show: impl FnOnce(T) -> String) -> String {
    serde_json::from_value(data.clone()).map_or_else(|_| clean(&data.to_string()), show)
}

fn status_text(out: &Out, status: &StatusChange) -> String {
    let state = with_details(&status.state, None, status.next_at, now());
    let pid = match status.pid {
        Some(pid) => format!(", pid {pid}"),
        None => String::new(),
    };
    let message = match &*status.message {
        "" => String::new(),
        message => format!(": {}", clean(message)),
    };
    format!(
        "{} on {}: {}{pid}{message}",
        clean(&status.process),
        clean(&status.host.to_string()),
        out.paint(state_style(&status.state), &clean(&state))
    )
}

/// A job over registered processes has no business.
fn of_business(business: Option<u32>) -> String {
    business.map_or_else(String::new, |business| format!(" of business {business}"))
}
