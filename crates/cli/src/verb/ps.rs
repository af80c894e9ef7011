//! `muster ps`: processes with their state.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use api::ProcessView;
use model::ProcessState;
use serde_json::{Value, json};

use super::{Context, row_limit};
use crate::client::{Client, Page, Path};
use crate::failure::{Exit, Failure};
use crate::format::{age, bytes, now, pairs, yes_no};
use crate::out::Out;
use crate::state::{RESTART_MARK, last_exit_text, live_pid, state_style, state_text};
use crate::table::{Cell, TextTable};

mod view;

pub const EXAMPLES: &str = "\
Examples:
  muster ps
  muster ps --namespace web --state failed,backoff
  muster ps --order state,-restarts                        what needs attention first
  muster ps --pending                                      what runs with an older spec until it is restarted
  muster ps --host 10.0.0.1 --wide
  muster ps --watch                                        again whenever something changes
  muster ps -o json --managed true | jq '.processes[].name'
  muster ps --biz 2 --set zone-1 --status stopped          of a business
  muster ps --biz 2 --expr 'zone-[1-3].login.*.*.[0:2]' --wide
  muster ps --biz 2 --order module,-id --page 2 --limit 50";

/// How many rows a table has without `--limit`.
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
    /// Only in one of these states, separated by commas
    #[arg(short, long, value_name = "STATES", value_delimiter = ',',
        value_parser = ProcessState::ALL.map(ProcessState::as_str))]
    state: Vec<String>,
    /// Only those that run with an older spec until they are restarted
    #[arg(long)]
    pending: bool,
    /// Only those that are managed, or those that are not
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    managed: Option<bool>,
    /// Up to three of state, restarts, last_exit, started, cpu, mem, separated by commas (with --biz some of set, module,
    /// name, id, ip); - before one turns it round
    #[arg(long, value_name = "KEYS", allow_hyphen_values = true)]
    order: Option<String>,
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

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    if args.watch && out.is_json() {
        return Err(Failure::usage("--watch shows a table, not JSON")
            .advise("muster watch -o json prints each change as a line of JSON"));
    }
    let client = context.client()?;
    if let Some(biz) = args.view.biz {
        return view::run(out, &client, args, biz);
    }
    let limit = row_limit(args.limit, out.is_json(), DEFAULT_ROWS);
    let path = path(args);
    if out.is_json() {
        let page = client.pages::<Value>(&path, "processes", limit)?;
        out.json(&json!({"count": page.count, "processes": page.rows}))?;
        return Ok(Exit::Ok);
    }
    let read = || client.pages(&path, "processes", limit);
    let draw = |page: &Page<ProcessView>| show(out, page, args.wide);
    match args.watch {
        true => {
            let namespace = args.namespace.as_deref();
            watch(out, &client, namespace, args.host, read, draw)
        }
        false => draw(&read()?).map(|()| Exit::Ok),
    }
}

fn path(args: &Args) -> Path {
    Path::new("processes")
        .maybe("namespace", args.namespace.as_ref())
        .maybe("name", args.name.as_ref())
        .maybe("host", args.host)
        .list("state", &args.state)
        .maybe("managed", args.managed)
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

/// Draws the table again after each change event, and every few seconds in any case.
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
pub(super) fn table(rows: &[ProcessView], wide: bool) -> TextTable {
    let now = now();
    let mut table = TextTable::new(match wide {
        false => "PROCESS|HOST|STATE|MANAGED|>PID|>UP|>RESTARTS|LAST EXIT|>CPU%|>MEM%|~MESSAGE",
        true => {
            "PROCESS|HOST|STATE|MANAGED|>PID|>UP|>RESTARTS|LAST EXIT|>CPU%|>MEM%|>FD|>DISK|>NET/S|VERSION|AGENT|~LABELS|>REPORTED|~MESSAGE"
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
            row.agent_id.as_deref().unwrap_or_default().into(),
            pairs(&row.labels, ",").into(),
            age(row.reported_at, now).into(),
        ]);
    }
    cells.push((&*row.message).into());
    cells
}

fn state(row: &ProcessView, now: model::UnixMillis) -> Cell {
    let mut text = state_text(row, now).into_owned();
    if row.restart_needed {
        text.push_str(RESTART_MARK);
    }
    Cell::styled(state_style(&row.state), text)
}
