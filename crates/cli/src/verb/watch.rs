//! `muster watch`: change events as they happen.

use api::{AgentChange, EventRow, Lagged, StatusChange, TaskProgress};
use model::{Host, UnixMillis};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Context;
use super::hosts::connection;
use crate::client::{ChangeEvent, reopen};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{clean, clock, count, now};
use crate::out::Out;
use crate::state::{state_style, with_details};

pub const EXAMPLES: &str = "\
Examples:
  muster watch
  muster watch --namespace web --kind status,event
  muster watch -o json | jq -c 'select(.event == \"event\")'

Runs until Ctrl-C, and connects again when the server was away. Times are UTC.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Only on this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
    /// Only these kinds, separated by commas
    #[arg(short, long = "kind", value_name = "KIND", value_delimiter = ',', value_parser = ["status", "task", "event", "agent"])]
    kinds: Vec<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let host = args.host.map(|host| host.to_string());
    let open = || client.watch(args.namespace.as_deref(), host.as_deref(), &args.kinds);
    let mut stream = open()?;
    out.note(format!(
        "watching {} (Ctrl-C ends it)",
        client.account().url
    ));
    loop {
        for change in stream.by_ref().map_while(Result::ok) {
            show(out, &change)?;
        }
        out.note("the connection was lost: changes until it is back are not shown");
        stream = reopen(open)?;
        out.note("connected again");
    }
}

fn show(out: &Out, change: &ChangeEvent) -> Result<(), Failure> {
    match out.is_document() {
        true => out.stream_document(&json!({"event": change.kind, "data": change.data})),
        false => out.line(sentence(out, change)),
    }
}

/// `10:45:02  status  web/nginx on 0:10.0.0.1: running, pid 77`.
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
        "lagged" => parsed(data, |lagged: Lagged| {
            format!("too much at once: {} left out", count(lagged.missed))
        }),
        _ => clean(&data.to_string()),
    };
    let clock = out.paint(Style::Dim, &clock(at));
    format!("{clock}  {:<6}  {text}", change.kind)
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
