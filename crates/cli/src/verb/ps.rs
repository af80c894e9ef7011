//! `muster ps`: what runs where.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::Context;
use crate::client::{Client, Page, ProcessFilter, ProcessRow};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::show::{age, bytes, count, counted, now, yes_no};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

mod view;

pub const EXAMPLES: &str = "\
Examples:
  muster ps
  muster ps --namespace web --state stopped
  muster ps --host 10.0.0.1 --wide
  muster ps --watch                                        again whenever something changes
  muster ps -o json --managed true | jq '.processes[].name'
  muster ps --biz 2 --set zone-1 --status stopped          of a business
  muster ps --biz 2 --expr 'zone-[1-3].login.*.*.[0:2]' --wide
  muster ps --biz 2 --order module,-id --page 2 --limit 50";

/// How many rows a table has unless somebody asks for more.
const DEFAULT_ROWS: usize = 1000;
/// Usage figures change without an event; they are read again this often.
const REFRESH: Duration = Duration::from_secs(10);
/// Changes that come together are shown together.
const GATHER: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Only of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only on this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<model::Host>,
    /// Only in this state
    #[arg(short, long, value_enum)]
    state: Option<StateArg>,
    /// Only those that are managed, or those that are not
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    managed: Option<bool>,
    /// Show more columns
    #[arg(short, long)]
    wide: bool,
    /// At most this many rows; 0: all [default: 1000 in a table, all in JSON]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Show it again whenever something changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    view: view::ViewArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StateArg {
    Running,
    Stopped,
    Unknown,
}

impl StateArg {
    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Unknown => "unknown",
        }
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    if args.watch && out.is_json() {
        return Err(Failure::usage("--watch draws tables")
            .advise("muster watch -o json prints each change as a line of JSON"));
    }
    let client = context.client()?;
    if let Some(biz) = args.view.biz {
        return view::run(out, &client, args, biz);
    }
    let limit = match (args.limit, out.is_json()) {
        (Some(0), _) | (None, true) => None,
        (Some(limit), _) => Some(limit),
        (None, false) => Some(DEFAULT_ROWS),
    };
    if out.is_json() {
        let page = client.processes::<Value>(&filter(args), limit)?;
        out.json(&json!({"count": page.count, "processes": page.rows}))?;
        return Ok(Exit::Ok);
    }
    let read = || client.processes(&filter(args), limit);
    let draw = |page: &Page<ProcessRow>| show(out, page, args.wide);
    match args.watch {
        true => {
            let namespace = args.namespace.as_deref();
            watch(out, &client, namespace, args.host, read, draw)
        }
        false => draw(&read()?).map(|()| Exit::Ok),
    }
}

fn filter(args: &Args) -> ProcessFilter {
    ProcessFilter {
        namespace: args.namespace.clone(),
        name: args.name.clone(),
        host: args.host.map(|host| host.to_string()),
        state: args.state.map(StateArg::as_str),
        managed: args.managed,
    }
}

fn show(out: &Out, page: &Page<ProcessRow>, wide: bool) -> Result<(), Failure> {
    if page.rows.is_empty() {
        out.note("no processes");
        return Ok(());
    }
    out.table(&table(&page.rows, wide))?;
    if (page.rows.len() as u64) < page.count {
        out.note(format!(
            "{} of {} shown: --limit 0 shows all",
            count(page.rows.len() as u64),
            counted(page.count, "process")
        ));
    }
    Ok(())
}

/// The stream of changes only says "look again"; without it the table is still read every few seconds.
fn watch<T>(
    out: &Out,
    client: &Client,
    namespace: Option<&str>,
    host: Option<model::Host>,
    read: impl Fn() -> Result<T, Failure>,
    draw: impl Fn(&T) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let host = host.map(|host| host.to_string());
    let (changed, changes) = sync_channel::<()>(1);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let kinds = ["status".to_owned(), "agent".to_owned()];
            loop {
                if let Ok(stream) = client.watch(namespace, host.as_deref(), &kinds) {
                    for _happening in stream.map_while(Result::ok) {
                        let _one_is_enough = changed.try_send(());
                    }
                }
                std::thread::sleep(REFRESH);
                let _one_is_enough = changed.try_send(());
            }
        });
        loop {
            let page = read()?;
            if out.is_terminal() {
                out.clear()?;
            }
            draw(&page)?;
            match changes.recv_timeout(REFRESH) {
                Ok(()) => std::thread::sleep(GATHER),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Ok),
            }
        }
    })
}

/// The table of processes, as `status` shows it too.
pub(super) fn table(rows: &[ProcessRow], wide: bool) -> Table {
    let now = now();
    let mut columns = vec![
        Column::text("PROCESS"),
        Column::text("HOST"),
        Column::text("STATE"),
        Column::text("MANAGED"),
        Column::number("PID"),
        Column::number("UP"),
        Column::number("CPU%"),
        Column::number("MEM%"),
    ];
    if wide {
        columns.extend([
            Column::number("FD"),
            Column::number("DISK"),
            Column::number("NET/S"),
            Column::text("VERSION"),
            Column::text("AGENT"),
            Column::elastic("LABELS"),
            Column::number("REPORTED"),
        ]);
    }
    columns.push(Column::elastic("MESSAGE"));
    let mut table = Table::new(columns);
    for row in rows {
        table.row(cells(row, wide, now));
    }
    table
}

fn cells(row: &ProcessRow, wide: bool, now: model::UnixMillis) -> Vec<Cell> {
    let is_running = row.state == "running";
    // Figures of what does not run say nothing.
    let live = |text: String| Cell::from(if is_running { text } else { String::new() });
    let mut cells = vec![
        Cell::from(format!("{}/{}", row.namespace, row.name)),
        row.host.as_str().into(),
        state(&row.state),
        yes_no(row.managed).into(),
        live(row.pid.to_string()),
        live(age(row.started_at, now)),
        live(format!("{:.1}", row.cpu)),
        live(format!("{:.1}", row.mem)),
    ];
    if wide {
        let labels: Vec<String> = row.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        cells.extend([
            live(row.fd.to_string()),
            live(bytes(row.disk.max(0).unsigned_abs())),
            live(bytes(row.net.max(0).unsigned_abs())),
            row.version.as_str().into(),
            row.agent_id.as_deref().unwrap_or_default().into(),
            labels.join(",").into(),
            age(row.reported_at, now).into(),
        ]);
    }
    cells.push(row.message.as_str().into());
    cells
}

pub(super) fn state(state: &str) -> Cell {
    let tone = match state {
        "running" => Tone::Good,
        "stopped" => Tone::Dim,
        _ => Tone::Warn,
    };
    Cell::toned(tone, state)
}
