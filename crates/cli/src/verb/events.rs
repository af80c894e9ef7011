//! `muster events`: what happened to processes without anybody asking.

use std::collections::VecDeque;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use model::Host;
use model::event::EventKind;
use serde_json::Value;

use super::{Context, rows};
use crate::client::{Client, EventFilter, EventRow, Happening, Stream};
use crate::failure::{Exit, Failure, Kind};
use crate::out::Out;
use crate::show::{clean, count, parse_duration};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster events                                           the last 50
  muster events --since 1h --namespace web
  muster events --host 10.0.0.7 --kind process_exit,process_cancel_restart
  muster events -f --name nginx                           the last ones, and then as they come
  muster events --since 7d --limit 1000 -o json | jq -r '.events[].process' | sort | uniq -c

Events are kept for 30 days. Times are UTC.";

const RETRY: Duration = Duration::from_secs(1);
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
    fn filter(&self) -> EventFilter {
        let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
        let hosts: Vec<String> = self.host.iter().map(Host::to_string).collect();
        let ago = |ago: Option<Duration>| ago.map(|ago| format!("{}s", ago.as_secs()));
        EventFilter {
            limit: self.limit,
            before: self.before,
            namespaces: joined(&self.namespace),
            name: self.name.clone(),
            hosts: joined(&hosts),
            kinds: joined(&self.kind),
            since: ago(self.since),
            until: ago(self.until),
        }
    }

    /// Whether an event of the stream, which knows namespaces and hosts only, is wanted.
    fn wants(&self, event: &EventRow) -> bool {
        let name = event.process.split_once('/').map(|(_, name)| name);
        (self.kind.is_empty() || self.kind.contains(&event.kind))
            && (self.name.is_none() || self.name.as_deref() == name)
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    if args.follow {
        return Follower::new(out, &client, args).run();
    }
    let answer = client.events(&args.filter())?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new([
        Column::text("AT"),
        Column::text("HOST"),
        Column::text("PROCESS"),
        Column::text("KIND"),
        Column::elastic("REASON"),
    ]);
    for row in rows::<EventRow>(&answer, "events")? {
        let tone = tone(&row.kind);
        table.row([
            Cell::from(row.at.to_rfc3339()),
            row.host.into(),
            row.process.into(),
            Cell::toned(tone, row.kind),
            row.reason.into(),
        ]);
    }
    match table.is_empty() {
        true => out.note("no events"),
        false => out.table(&table)?,
    }
    if let Some(next) = answer["next"].as_u64() {
        out.note(format!("there are older ones: --before {next}"));
    }
    Ok(Exit::Ok)
}

fn tone(kind: &str) -> Tone {
    match EventKind::parse(kind) {
        Some(EventKind::ProcessRestartSuccess) => Tone::Good,
        Some(EventKind::ProcessRestartFailed | EventKind::ProcessCancelRestart) => Tone::Bad,
        _ => Tone::Warn,
    }
}

/// Shows what there is, and then what comes. The stream is opened before the list is read, so that nothing falls between
/// them; what is in both is shown once.
struct Follower<'a> {
    out: &'a Out,
    client: &'a Client,
    args: &'a Args,
    shown: VecDeque<Value>,
    /// The time of the last event shown: where to read on after the connection was lost.
    last: Option<i64>,
}

impl<'a> Follower<'a> {
    fn new(out: &'a Out, client: &'a Client, args: &'a Args) -> Self {
        Self {
            out,
            client,
            args,
            shown: VecDeque::new(),
            last: None,
        }
    }

    fn run(mut self) -> Result<Exit, Failure> {
        let mut stream = self.open()?;
        loop {
            self.catch_up()?;
            for happening in stream.by_ref().map_while(Result::ok) {
                self.take(&happening)?;
            }
            self.out.note("the connection ended");
            stream = loop {
                std::thread::sleep(RETRY);
                match self.open() {
                    Ok(stream) => break stream,
                    Err(failure) if failure.kind == Kind::Unreachable => {}
                    Err(failure) => return Err(failure),
                }
            };
            self.out.note("connected again");
        }
    }

    fn open(&self) -> Result<Stream, Failure> {
        let filter = self.args.filter();
        let kinds = ["event".to_owned()];
        self.client.watch(
            filter.namespaces.as_deref(),
            filter.hosts.as_deref(),
            &kinds,
        )
    }

    fn catch_up(&mut self) -> Result<(), Failure> {
        let mut filter = self.args.filter();
        if let Some(last) = self.last {
            filter.since = Some(last.to_string());
            filter.limit = MAX_LIMIT;
        }
        let answer = self.client.events(&filter)?;
        for event in rows::<Value>(&answer, "events")?.into_iter().rev() {
            self.show(event)?;
        }
        Ok(())
    }

    fn take(&mut self, happening: &Happening) -> Result<(), Failure> {
        match happening.kind.as_str() {
            "event" => {
                let event = read(&happening.data);
                match self.args.wants(&event) {
                    true => self.show(happening.data.clone()),
                    false => Ok(()),
                }
            }
            "lagged" => {
                let missed = happening.data["missed"].as_u64().unwrap_or_default();
                self.out.warn(format!(
                    "too much at once: up to {} left out; muster events lists them",
                    count(missed)
                ));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn show(&mut self, mut event: Value) -> Result<(), Failure> {
        // The stream knows no ids.
        if let Some(fields) = event.as_object_mut() {
            fields.remove("id");
        }
        if self.shown.contains(&event) {
            return Ok(());
        }
        let row = read(&event);
        self.last = self.last.max(Some(row.at.0));
        match self.out.is_json() {
            true => self.out.json_line(&event)?,
            false => self.out.line(sentence(self.out, &row))?,
        }
        self.shown.push_back(event);
        if self.shown.len() > MAX_REMEMBERED {
            self.shown.pop_front();
        }
        Ok(())
    }
}

fn read(event: &Value) -> EventRow {
    // What a newer server says otherwise is shown as far as it is understood.
    serde_json::from_value(event.clone()).unwrap_or_default()
}

/// `2026-11-15T10:45:02Z  process_exit  web/nginx on 0:10.0.0.1: exited with code 3`.
fn sentence(out: &Out, event: &EventRow) -> String {
    format!(
        "{}  {}  {} on {}: {}",
        out.paint(Tone::Dim, &event.at.to_rfc3339()),
        out.paint(tone(&event.kind), &clean(&event.kind)),
        clean(&event.process),
        clean(&event.host),
        clean(&event.reason)
    )
}
