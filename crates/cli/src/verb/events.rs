//! `muster events`: exits, restarts and other events of processes.

use std::collections::VecDeque;
use std::time::Duration;

use api::{EventList, EventRow};
use clap::builder::PossibleValuesParser;
use model::Host;
use model::event::EventKind;
use serde_json::Value;

use super::Context;
use crate::client::{ChangeEvent, ChangeStream, Client, Path, not_as_expected, read, reopen};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{clean, count, parse_duration};
use crate::out::Out;
use crate::processes::{parse_selector, query};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster events                                           the last 50
  muster events --since 1h --namespace web
  muster events --host 10.0.0.7 --kind process_exit,process_cancel_restart
  muster events -l tier=front,env!=test
  muster events -f --name nginx                           the last ones, and then as they come
  muster events --since 7d --limit 1000 -o json | jq -r '.events[].process' | sort | uniq -c

Events are kept for 30 days. Times are UTC.";

/// How many events are remembered so that none is shown twice.
const MAX_REMEMBERED: usize = 4096;
const MAX_LIMIT: u16 = 1000;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of these namespaces, separated by commas
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',')]
    namespace: Vec<String>,
    /// Only of processes of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only on these hosts: IP or CLOUD:IP, separated by commas
    #[arg(short = 'H', long, value_name = "HOST", value_delimiter = ',')]
    host: Vec<Host>,
    /// Only these kinds, separated by commas
    #[arg(short, long, value_name = "KIND", value_delimiter = ',', value_parser = PossibleValuesParser::new(EventKind::ALL.map(EventKind::as_str)))]
    kind: Vec<String>,
    /// Only of processes with these labels now: tier=front,zone!=b,env in (a,b),!old
    #[arg(short = 'l', long, visible_alias = "selector", value_name = "LABELS", value_parser = parse_selector)]
    label: Vec<String>,
    /// Not older than this (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    since: Option<Duration>,
    /// Older than this (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "follow")]
    until: Option<Duration>,
    /// How many, the newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_LIMIT)))]
    limit: u16,
    /// Those before this number, which the page before ended with
    #[arg(long, value_name = "NUMBER", conflicts_with = "follow")]
    before: Option<u64>,
    /// Go on as they come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
}

impl Args {
    fn path(&self, since: Option<String>, limit: u16, before: Option<u64>) -> Path {
        let ago = |ago: Option<Duration>| ago.map(|ago| format!("{}s", ago.as_secs()));
        query(Path::new("events"), &[], &self.label)
            .query("limit", limit)
            .maybe("before", before)
            .list("namespace", &self.namespace)
            .maybe("name", self.name.as_ref())
            .list("host", &self.host)
            .list("kind", &self.kind)
            .maybe("since", since.or(ago(self.since)))
            .maybe("until", ago(self.until))
    }

    /// As many events as asked for. The server tests labels event by event and may answer with a part of a page.
    fn read(&self, client: &Client, since: Option<String>, limit: u16) -> Result<Value, Failure> {
        let mut page: Value = client.get(&self.path(since.clone(), limit, self.before))?;
        loop {
            let n_read = page["events"].as_array().map_or(0, Vec::len);
            let next = page["next"]
                .as_u64()
                .filter(|_| n_read < usize::from(limit));
            let Some(next) = next else { return Ok(page) };
            let rest = limit - n_read as u16;
            let mut more: Value = client.get(&self.path(since.clone(), rest, Some(next)))?;
            page["next"] = more["next"].take();
            if let (Some(events), Value::Array(more)) =
                (page["events"].as_array_mut(), more["events"].take())
            {
                events.extend(more);
            }
        }
    }

    /// Whether an event of the stream matches; the server filters the stream by namespace, host and labels only.
    fn matches(&self, event: &EventRow) -> bool {
        let name = event.process.split_once('/').map(|(_, name)| name);
        (self.kind.is_empty() || self.kind.iter().any(|kind| *kind == event.kind))
            && (self.name.is_none() || self.name.as_deref() == name)
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    if args.follow {
        let follower = Follower {
            out,
            client: &client,
            args,
            shown: VecDeque::new(),
            last: None,
        };
        return follower.run();
    }
    let response = args.read(&client, None, args.limit)?;
    out.response(response, |list: EventList| {
        let mut table = TextTable::new("AT|HOST|PROCESS|KIND|~REASON");
        for row in list.events.read().map_err(not_as_expected)? {
            table.row([
                Cell::from(row.at.to_rfc3339()),
                row.host.to_string().into(),
                row.process.into(),
                Cell::styled(style(&row.kind), row.kind),
                row.reason.into(),
            ]);
        }
        out.table_or(&table, "no events")?;
        if let Some(next) = list.next {
            out.note(format!("there are older ones: --before {next}"));
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

fn style(kind: &str) -> Style {
    match EventKind::parse(kind) {
        Some(EventKind::ProcessRestartSuccess) => Style::Good,
        Some(EventKind::ProcessRestartFailed | EventKind::ProcessCancelRestart) => Style::Bad,
        _ => Style::Warn,
    }
}

/// Shows the last events, and then each as it comes. The stream is opened before the list is read, so that no event is
/// missed between them; an event that is in both is shown once.
struct Follower<'a> {
    out: &'a Out,
    client: &'a Client,
    args: &'a Args,
    shown: VecDeque<Value>,
    /// The time of the last event shown, from which the list is read again after the connection was lost.
    last: Option<i64>,
}

impl Follower<'_> {
    fn run(mut self) -> Result<Exit, Failure> {
        let mut stream = self.open()?;
        loop {
            self.catch_up()?;
            for change in stream.by_ref().map_while(Result::ok) {
                self.receive(&change)?;
            }
            self.out.note("the connection was lost");
            stream = reopen(|| self.open())?;
            self.out.note("connected again");
        }
    }

    fn open(&self) -> Result<ChangeStream, Failure> {
        let joined = |list: Vec<String>| (!list.is_empty()).then(|| list.join(","));
        let namespaces = joined(self.args.namespace.clone());
        let hosts = joined(self.args.host.iter().map(Host::to_string).collect());
        self.client.watch(
            namespaces.as_deref(),
            hosts.as_deref(),
            &self.args.label,
            &["event"],
        )
    }

    fn catch_up(&mut self) -> Result<(), Failure> {
        let mut response = match self.last {
            Some(last) => (self.args).read(self.client, Some(last.to_string()), MAX_LIMIT)?,
            None => self.args.read(self.client, None, self.args.limit)?,
        };
        let events: Vec<Value> = read(response["events"].take())?;
        events
            .into_iter()
            .rev()
            .try_for_each(|event| self.show(event))
    }

    fn receive(&mut self, change: &ChangeEvent) -> Result<(), Failure> {
        match change.kind.as_str() {
            "event" => {
                let event = event_row(&change.data);
                match self.args.matches(&event) {
                    true => self.show(change.data.clone()),
                    false => Ok(()),
                }
            }
            "lagged" => {
                let missed = change.data["missed"].as_u64().unwrap_or_default();
                self.out.warn(format!(
                    "events came too fast: up to {} are not shown here; muster events lists them",
                    count(missed)
                ));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn show(&mut self, mut event: Value) -> Result<(), Failure> {
        // Events of the stream have no id.
        if let Some(fields) = event.as_object_mut() {
            fields.remove("id");
        }
        if self.shown.contains(&event) {
            return Ok(());
        }
        let row = event_row(&event);
        self.last = self.last.max(Some(row.at.0));
        match self.out.is_document() {
            true => self.out.stream_document(&event)?,
            false => self.out.line(sentence(self.out, &row))?,
        }
        self.shown.push_back(event);
        if self.shown.len() > MAX_REMEMBERED {
            self.shown.pop_front();
        }
        Ok(())
    }
}

fn event_row(event: &Value) -> EventRow<'static> {
    // An event that a newer server writes in another form is shown as far as it is understood.
    serde_json::from_value(event.clone()).unwrap_or_default()
}

/// `2026-11-15T10:45:02Z  process_exit  web/nginx on 0:10.0.0.1: exited with code 3`.
fn sentence(out: &Out, event: &EventRow) -> String {
    format!(
        "{}  {}  {} on {}: {}",
        out.paint(Style::Dim, &event.at.to_rfc3339()),
        out.paint(style(&event.kind), &clean(&event.kind)),
        clean(&event.process),
        clean(&event.host.to_string()),
        clean(&event.reason)
    )
}
