//! `muster watch`: what happens, as it happens.

use std::time::Duration;

use model::{Host, UnixMillis};
use serde_json::{Value, json};

use super::Context;
use crate::client::Happening;
use crate::failure::{Exit, Failure, Kind};
use crate::out::Out;
use crate::show::{clean, clock, count, now};
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster watch
  muster watch --namespace web --kind status,event
  muster watch -o json | jq -c 'select(.event == \"event\")'

Runs until Ctrl-C, and connects again when the server was away. Times are UTC.";

const RETRY: Duration = Duration::from_secs(1);

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
        for happening in stream.by_ref().map_while(Result::ok) {
            show(out, &happening)?;
        }
        out.note("the connection ended; what happens until the next one is not shown");
        stream = loop {
            std::thread::sleep(RETRY);
            match open() {
                Ok(stream) => break stream,
                Err(failure) if failure.kind == Kind::Unreachable => {}
                Err(failure) => return Err(failure),
            }
        };
        out.note("connected again");
    }
}

fn show(out: &Out, happening: &Happening) -> Result<(), Failure> {
    match out.is_json() {
        true => out.json_line(&json!({"event": happening.kind, "data": happening.data})),
        false => out.line(sentence(out, happening)),
    }
}

/// `10:45:02  status  web/nginx on 0:10.0.0.1: running, pid 77`.
fn sentence(out: &Out, happening: &Happening) -> String {
    let data = &happening.data;
    let at = data
        .get("at")
        .and_then(Value::as_i64)
        .map_or_else(now, UnixMillis);
    let what = match happening.kind.as_str() {
        "status" => status(out, data),
        "task" => format!(
            "{}: {} of {} ended, {} ok",
            text(data, "id"),
            number(data, "ended"),
            number(data, "total"),
            number(data, "ok")
        ),
        "agent" => {
            let (tone, word) = match data["connected"] == true {
                true => (Tone::Good, "connected"),
                false => (Tone::Warn, "away"),
            };
            format!("{}: {}", text(data, "host"), out.paint(tone, word))
        }
        "event" => format!(
            "{} on {}: {}: {}",
            text(data, "process"),
            text(data, "host"),
            text(data, "kind"),
            text(data, "reason")
        ),
        "lagged" => format!("too much at once: {} left out", number(data, "missed")),
        _ => clean(&data.to_string()),
    };
    let clock = out.paint(Tone::Dim, &clock(at));
    format!("{clock}  {:<6}  {what}", happening.kind)
}

fn status(out: &Out, data: &Value) -> String {
    let state = text(data, "state");
    let tone = match state.as_str() {
        "running" => Tone::Good,
        "stopped" => Tone::Bad,
        _ => Tone::Warn,
    };
    let pid = match data["pid"].as_i64() {
        Some(pid) if pid > 0 => format!(", pid {pid}"),
        _ => String::new(),
    };
    let message = match text(data, "message").as_str() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    format!(
        "{} on {}: {}{pid}{message}",
        text(data, "process"),
        text(data, "host"),
        out.paint(tone, &state)
    )
}

/// A field as text.
fn text(data: &Value, key: &str) -> String {
    match &data[key] {
        Value::String(text) => clean(text),
        Value::Null => String::new(),
        other => clean(&other.to_string()),
    }
}

fn number(data: &Value, key: &str) -> String {
    data[key].as_u64().map_or_else(|| "?".to_owned(), count)
}
