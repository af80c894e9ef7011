//! `muster ps`: processes with their state.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use api::ProcessView;
use clap::builder::PossibleValuesParser;
use model::ProcessState;
use model::selector::NamePattern;
use serde_json::{Value, json};

use super::{Context, row_limit};
use crate::client::{Client, Page, Path};
use crate::failure::{Exit, Failure, Kind};
use crate::format::{age, bytes, clock, count, counted, now, pairs, yes_no};
use crate::out::Out;
use crate::processes::{parse_selector, query};
use crate::state::{RESTART_MARK, last_exit_text, live_pid, state_style, state_text};
use crate::table::{Cell, TextTable};

mod view;

pub const EXAMPLES: &str = "\
Examples:
  muster ps
  muster ps 'app/*' db/redis -l tier=front,zone!=b
  muster ps --namespace web --state failed,backoff
  muster ps --order state,-restarts                        what needs attention first
  muster ps -l tier=front --sort -cpu                      what uses most CPU
  muster ps --search 'nginx 10.0.3' --wanted running --connected false
  muster ps --pending                                      what runs with an older spec until it is restarted
  muster ps --host 10.0.0.1 -o wide
  muster ps -w                                             kept up to date in place, like top
  muster ps --state failed -o name | xargs muster status
  muster ps -o json --managed true | jq '.processes[].name'
  muster ps --biz shop --set zone-1 --state stopped        of a business, by its name or its id
  muster ps --biz 2 --expr 'zone-[1-3].login.*.*.[0:2]' -o wide
  muster ps --biz 2 --order module,-id --page 2 --limit 50";

/// The state of a process of a business that was never registered.
const UNREGISTERED: &str = "unregistered";
/// How many rows a table has without `--limit`.
const DEFAULT_ROWS: usize = 1000;
/// Usage figures change without an event; they are read again this often.
const REFRESH: Duration = Duration::from_secs(10);
/// Changes that come together are shown together.
const GATHER: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these, with or without wildcards: web/nginx 'app/*' '[web,db]/api-?'
    #[arg(value_name = "NAMESPACE/NAME")]
    names: Vec<NamePattern>,
    /// Only with these labels, or on hosts with them: tier=front,zone!=b,env in (a,b),!old
    #[arg(short = 'l', long, visible_alias = "label", value_name = "LABELS", value_parser = parse_selector)]
    selector: Vec<String>,
    /// Only of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Only of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only on this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<model::Host>,
    /// Only in one of these states, separated by commas; of a business, those with an instance in one
    #[arg(short, long, alias = "status", value_name = "STATES", value_delimiter = ',', value_parser = state_parser())]
    state: Vec<String>,
    /// Only those that run with an older spec until they are restarted
    #[arg(long)]
    pending: bool,
    /// Only those that are managed, or those that are not
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    managed: Option<bool>,
    /// Only those that are wanted so: running or stopped
    #[arg(long, value_name = "FLAG", value_parser = ["running", "stopped"], conflicts_with = "biz")]
    wanted: Option<String>,
    /// Only those whose host's agent is connected, or those whose is not
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    connected: Option<bool>,
    /// Only those with this text in NAMESPACE/NAME, the host's address or name, or the value of a label (with --biz in an
    /// address, or the name of the cloud area, set, module, service instance or process); all words must be found
    #[arg(long, visible_alias = "find", value_name = "TEXT")]
    search: Vec<String>,
    /// Up to three of state, restarts, last_exit, started, cpu, mem, name, host, registered, separated by commas (with --biz
    /// some of set, module, name, id, ip, status, state, started); - before one turns it round
    #[arg(
        long,
        visible_alias = "sort",
        value_name = "KEYS",
        allow_hyphen_values = true
    )]
    order: Option<String>,
    /// Show more columns, as -o wide does
    #[arg(long)]
    wide: bool,
    /// At most this many rows; 0: all [default: 1000 in a table, all in JSON]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Keep the table up to date in place, like top, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    view: view::ViewArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    if args.watch && out.is_document() {
        return Err(Failure::usage("--watch shows a table, not a document")
            .advise("muster watch -o json prints each change as a line of JSON"));
    }
    let client = context.client()?;
    if let Some(biz) = &args.view.biz {
        return view::run(out, &client, args, biz.id(&client)?);
    }
    if args.state.iter().any(|state| state == UNREGISTERED) {
        return Err(
            Failure::usage("only processes of a business can be unregistered")
                .advise("muster ps --biz BIZ --state unregistered lists those of the business BIZ"),
        );
    }
    let limit = row_limit(args.limit, out.is_document(), DEFAULT_ROWS);
    let wide = args.wide || out.is_wide();
    let path = path(args).maybe("with_versions", wide.then_some(true));
    if out.is_document() {
        let page = client.pages::<Value>(&path, "processes", limit)?;
        out.document(&json!({"count": page.count, "processes": page.rows}))?;
        return Ok(Exit::Ok);
    }
    let read = || client.pages(&path, "processes", limit);
    if args.watch {
        let namespace = args.namespace.as_deref();
        return watch(out, &client, namespace, args.host, &args.selector, || {
            let page: Page<ProcessView> = read()?;
            let states = page.rows.iter().map(|row| &*row.state);
            Ok((summary(page.count, states), table(&page.rows, wide)))
        });
    }
    show(out, &read()?, wide).map(|()| Exit::Ok)
}

fn state_parser() -> PossibleValuesParser {
    let states = ProcessState::ALL.map(ProcessState::as_str);
    PossibleValuesParser::new(states.into_iter().chain([UNREGISTERED]))
}

fn path(args: &Args) -> Path {
    query(Path::new("processes"), &args.names, &args.selector)
        .maybe("namespace", args.namespace.as_ref())
        .maybe("name", args.name.as_ref())
        .maybe("host", args.host)
        .list("state", &args.state)
        .maybe("managed", args.managed)
        .maybe("wanted", args.wanted.as_ref())
        .maybe("connected", args.connected)
        .maybe(
            "q",
            (!args.search.is_empty()).then(|| args.search.join(" ")),
        )
        .maybe("restart_needed", args.pending.then_some(true))
        .maybe("order", args.order.as_ref())
}

fn show(out: &Out, page: &Page<ProcessView>, wide: bool) -> Result<(), Failure> {
    out.table_or(&table(&page.rows, wide), "no processes")?;
    page.note_rest(out, "process");
    note_pending(out, &page.rows);
    Ok(())
}

/// Explains the mark of processes that run with an older spec.
pub(super) fn note_pending(out: &Out, rows: &[ProcessView]) {
    if rows.iter().any(|row| row.restart_needed) {
        out.note("* runs with an older spec: muster restart applies the new one");
    }
}

/// `42 processes: 40 running, 2 failed`.
fn summary<'a>(total: u64, states: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for state in states {
        *counts.entry(state).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(state, n)| format!("{} {state}", count(n)))
        .collect();
    match counts.is_empty() {
        true => "no processes".to_owned(),
        false => format!("{}: {}", counted(total, "process"), counts.join(", ")),
    }
}

/// Draws a summary and its table after each change event, and every few seconds in any case; on a terminal in place.
fn watch(
    out: &Out,
    client: &Client,
    namespace: Option<&str>,
    host: Option<model::Host>,
    labels: &[String],
    read: impl Fn() -> Result<(String, TextTable), Failure>,
) -> Result<Exit, Failure> {
    let host = host.map(|host| host.to_string());
    let namespace = namespace.map(str::to_owned);
    let labels = labels.to_vec();
    let (changed, changes) = sync_channel::<()>(1);
    let watching = Client::new(client.account().clone())?;
    // Not joined: it waits for the next change as long as the program runs.
    std::thread::spawn(move || {
        let kinds = ["status".to_owned(), "agent".to_owned()];
        loop {
            if let Ok(stream) =
                watching.watch(namespace.as_deref(), host.as_deref(), &labels, &kinds)
            {
                for _change in stream.map_while(Result::ok) {
                    let _one_is_enough = changed.try_send(());
                }
            }
            std::thread::sleep(REFRESH);
            let _one_is_enough = changed.try_send(());
        }
    });
    let mut last = None;
    loop {
        match read() {
            Ok((summary, table)) => {
                let head = format!("{summary}   {} UTC, Ctrl-C ends", clock(now()));
                out.screen(&head, &table)?;
                last = Some(table);
            }
            // A server that restarts is no reason to end: the last table stays, and its head says so.
            Err(failure) if failure.kind == Kind::Unreachable => match &last {
                Some(table) => out.screen(&format!("{}; trying again", failure.what()), table)?,
                None => return Err(failure),
            },
            Err(failure) => return Err(failure),
        }
        match changes.recv_timeout(REFRESH) {
            Ok(()) => std::thread::sleep(GATHER),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Ok),
        }
    }
}

/// The table of processes, as `status` shows it too.
pub(super) fn table(rows: &[ProcessView], wide: bool) -> TextTable {
    let now = now();
    let mut table = TextTable::new(match wide {
        false => {
            "PROCESS|HOST|STATE|?MANAGED|>?PID|>UP|>?RESTARTS|?LAST EXIT|>?CPU%|>?MEM%|~MESSAGE"
        }
        true => {
            "PROCESS|HOST|STATE|MANAGED|>PID|>UP|>RESTARTS|LAST EXIT|>CPU%|>MEM%|>FD|>DISK|>NET/S|VERSION|?DEFINITION|AGENT|~LABELS|>REPORTED|~MESSAGE"
        }
    });
    for row in rows {
        table.row(cells(row, wide, now));
    }
    table
}

fn cells(row: &ProcessView, wide: bool, now: model::UnixMillis) -> Vec<Cell> {
    // Only a process that is known to live has figures.
    let pid = live_pid(row);
    let is_live = pid.is_some();
    let live = |text: String| Cell::from(if is_live { text } else { String::new() });
    let mut cells = vec![
        Cell::from(format!("{}/{}", row.namespace, row.name)),
        row.host.to_string().into(),
        state(row, now),
        yes_no(row.managed).into(),
        live(pid.unwrap_or_default().to_string()),
        live(age(row.started_at, now)),
        row.restarts.to_string().into(),
        row.last_exit.map(last_exit_text).unwrap_or_default().into(),
        live(format!("{:.1}", row.cpu)),
        live(format!("{:.1}", row.mem)),
    ];
    if wide {
        cells.extend([
            live(row.fd.to_string()),
            live(bytes(row.disk)),
            live(bytes(row.net)),
            (&*row.version).into(),
            definition_version(row).into(),
            row.agent_id.as_deref().unwrap_or_default().into(),
            pairs(&row.labels, ",").into(),
            age(row.reported_at, now).into(),
        ]);
    }
    cells.push((&*row.message).into());
    cells
}

/// The version of its definition, beside that of its program.
fn definition_version(row: &ProcessView) -> String {
    row.spec_version
        .map_or(String::new(), |number| format!("version {number}"))
}

fn state(row: &ProcessView, now: model::UnixMillis) -> Cell {
    let mut text = state_text(row, now).into_owned();
    if row.restart_needed {
        text.push_str(RESTART_MARK);
    }
    Cell::styled(state_style(&row.state), text)
}
