//! Benchmarks how cost grows with the fleet: the same operations at ten times more processes each time. What grows faster than
//! the fleet is marked. A real server for each size, HTTP on loopback.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{api, hosts, median, timed, view};
use crate::client::Client;
use crate::server::{self, Server};
use crate::table::{Table, thousands};

const BUSINESS: u32 = 2;
const MAX_MODULES: usize = 200;
const MODULES_OF_SET: usize = 10;
/// Processes on each host.
const PER_HOST: usize = 10;
/// Hosts in one registration.
const HOSTS_PER_REQUEST: usize = 10_000;
/// Timed requests per question.
const ROUNDS: usize = 11;
/// The largest size without `--large`.
const LARGE: usize = 10_000_000;
/// Ten times the fleet may cost this much more: measurements vary.
const LINEAR: f64 = 14.0;
/// Shorter times say more about the connection than about the fleet.
const NOTABLE_MS: f64 = 2.0;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many processes, one column each.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1000,10000,100000,1000000"
    )]
    processes: Vec<usize>,
    /// Adds 10,000,000 processes: some minutes, and up to 24 GiB of memory.
    #[arg(long)]
    large: bool,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    /// Of the whole operation, in milliseconds.
    Time(f64),
    /// Bytes per process.
    Memory(f64),
}

/// The figures of one size, in the order of the table.
#[derive(Debug, Default)]
struct Column(Vec<(String, Figure)>);

impl Column {
    fn time(&mut self, what: impl Into<String>, time: Duration) {
        self.put(what.into(), Figure::Time(time.as_secs_f64() * 1000.0));
    }

    fn memory(&mut self, what: &str, bytes: u64, n_processes: usize) {
        let each = bytes as f64 / n_processes as f64;
        self.put(what.to_owned(), Figure::Memory(each));
    }

    fn put(&mut self, what: String, figure: Figure) {
        eprintln!("  {what}: {}", figure.shown());
        self.0.push((what, figure));
    }
}

impl Figure {
    fn shown(self) -> String {
        match self {
            Self::Time(ms) if ms >= 1000.0 => format!("{:.2} s", ms / 1000.0),
            Self::Time(ms) => format!("{ms:.1} ms"),
            Self::Memory(bytes) => format!("{bytes:.0} B"),
        }
    }
}

/// How much more the largest fleet costs than one of a tenth of its size.
fn growth(figures: &[Figure]) -> String {
    match figures {
        [.., Figure::Time(before), Figure::Time(last)] if *last >= NOTABLE_MS => {
            let factor = last / before.max(0.1);
            let mark = if factor > LINEAR { " !" } else { "" };
            format!("× {factor:.1}{mark}")
        }
        [.., Figure::Memory(before), Figure::Memory(last)] => format!("× {:.1}", last / before),
        _ => String::new(),
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if !args.built {
        server::build(&server::PROGRAMS)?;
    }
    let mut sizes = args.processes.clone();
    sizes.extend(args.large.then_some(LARGE));
    let mut columns = Vec::new();
    for size in &sizes {
        ensure!(*size >= 1000, "at least 1,000 processes");
        eprintln!("{} processes", thousands(*size as f64));
        let mut column = Column::default();
        registered(*size, &mut column).context("registered processes")?;
        imported(*size, &mut column).context("the process view")?;
        columns.push(column.0);
    }
    let heading = sizes.iter().map(|size| thousands(*size as f64));
    let heading = std::iter::once("processes".to_owned()).chain(heading);
    let mut table = Table::new(heading.chain(["growth".to_owned()]));
    for (row, (what, _)) in columns[0].iter().enumerate() {
        let figures: Vec<Figure> = columns.iter().map(|column| column[row].1).collect();
        let cells = figures.iter().map(|figure| figure.shown());
        let cells = std::iter::once(what.clone()).chain(cells);
        table.row(cells.chain([growth(&figures)]));
    }
    table.print();
    println!();
    println!(
        "{PER_HOST} processes on each host, {HOSTS_PER_REQUEST} hosts in a registration; questions are medians of {ROUNDS}, pages of \
         10 rows with the exact count. Growth compares the last two columns; ! marks what grows faster than the fleet."
    );
    Ok(())
}

/// Processes without a process view.
fn registered(n_processes: usize, column: &mut Column) -> anyhow::Result<()> {
    let binaries = server::binaries()?;
    let data = tempfile::tempdir()?;
    let (mut server, _) = Server::start(&binaries, data.path())?;
    let mut client = Client::connect(server.http)?;
    // What a server needs once.
    client.gse(
        "register_proc_info",
        &api::register_on(&hosts::one(0), "first"),
    )?;
    let n_hosts = n_processes / PER_HOST;
    let bodies: Vec<Vec<u8>> = (0..n_hosts)
        .step_by(HOSTS_PER_REQUEST)
        .flat_map(|first| {
            let list = hosts::listed(first..n_hosts.min(first + HOSTS_PER_REQUEST));
            (0..PER_HOST).map(move |n| api::register_on(&list, &format!("proc-{n}")))
        })
        .collect();
    let before = server.memory()?;
    let all = timed(|| {
        for body in &bodies {
            client.gse("register_proc_info", body)?;
        }
        Ok(())
    })?;
    column.time("register all", all);
    drop(bodies);
    let grown = server.memory()?.saturating_sub(before);
    column.memory("memory per registered process", grown, n_processes);
    let mut n = 0;
    let one = median(ROUNDS, || {
        n += 1;
        let body = api::register_on(&hosts::one(0), &format!("one-{n}"));
        client.gse("register_proc_info", &body)
    })?;
    column.time("commit of one process", one);
    let last = n_processes / 10 * 9;
    let page =
        format!(r#"{{"meta":{{"namespace":"bench"}},"page":{{"start":{last},"limit":1000}}}}"#);
    let page = median(ROUNDS, || client.gse("sync_proc_status", page.as_bytes()))?;
    column.time("page of 1,000 at 90 % of all", page);
    let lists = [
        ("list by name", "?limit=10&name=proc-3"),
        ("list by state", "?limit=10&state=running"),
        ("list by words", "?limit=10&q=proc-3+10.0.0.1"),
        ("list ordered by name", "?limit=10&order=name,-host"),
        ("facet: name", "/facets?by=name"),
        ("facet: state", "/facets?by=state"),
        ("facet: connected", "/facets?by=connected"),
    ];
    for (what, query) in lists {
        column.time(what, listed(&mut client, query)?);
    }
    column.time("start, ready again", restart(&mut server, data.path())?);
    Ok(())
}

/// Processes of a business.
fn imported(n_processes: usize, column: &mut Column) -> anyhow::Result<()> {
    let binaries = server::binaries()?;
    let data = tempfile::tempdir()?;
    let (mut server, _) = Server::start(&binaries, data.path())?;
    let mut client = Client::connect(server.http)?;
    let path = format!("/api/v1/businesses/{BUSINESS}/topology");
    let n_hosts = n_processes / PER_HOST;
    let topology = serde_json::to_vec(&document(n_hosts))?;
    let before = server.memory()?;
    column.time("import", timed(|| client.put(&path, &topology))?);
    let grown = server.memory()?.saturating_sub(before);
    column.memory("memory per process of the view", grown, n_processes);
    column.time("import again", timed(|| client.put(&path, &topology))?);
    // One more host.
    let more = serde_json::to_vec(&document(n_hosts + 1))?;
    column.time(
        "import with one host more",
        timed(|| client.put(&path, &more))?,
    );
    let everything = json!({"bk_set_env": "0"});
    let five = json!({
        "bk_set_env": "0", "bk_set_name": "set-*", "bk_module_name": "module-*", "service_instance_name": "10.0.*",
        "bk_process_name": "proc-[0-4]", "bk_process_id": "*[1,3]*",
    });
    let questions = [
        ("view: page of everything", json!({"scope": everything})),
        (
            "view: part of an address",
            json!({"scope": everything, "searches": ["0.1"]}),
        ),
        (
            "view: expression of five parts",
            json!({"expression_scope": five}),
        ),
        (
            "view: ordered by address",
            json!({"scope": everything, "ordering": "bk_host_innerip"}),
        ),
    ];
    for (what, question) in questions {
        let body = view::body(question, 1);
        let time = median(ROUNDS, || {
            let answer = client.gsekit("api/process/process_status", &body)?;
            view::count_of(&answer)
        })?;
        column.time(what, time);
    }
    for key in ["service", "state", "connected"] {
        let query = format!("/view-facets?business={BUSINESS}&by={key}");
        column.time(format!("view facet: {key}"), listed(&mut client, &query)?);
    }
    column.time(
        "view: start, ready again",
        restart(&mut server, data.path())?,
    );
    Ok(())
}

fn listed(client: &mut Client, query: &str) -> anyhow::Result<Duration> {
    let path = format!("/api/v1/processes{query}");
    median(ROUNDS, || {
        let answer: Value = serde_json::from_slice(&client.get(&path)?)?;
        answer["count"].as_u64().context("a count")
    })
}

/// Kills the server and starts it again on the same data.
fn restart(server: &mut Server, data: &std::path::Path) -> anyhow::Result<Duration> {
    server.kill()?;
    let (again, ready) = Server::start(&server::binaries()?, data)?;
    *server = again;
    Ok(ready)
}

/// A business with [`PER_HOST`] processes on each host, in up to [`MAX_MODULES`] modules.
fn document(n_hosts: usize) -> Value {
    let n_modules = (n_hosts / PER_HOST).clamp(1, MAX_MODULES);
    let processes: Vec<Value> = (0..PER_HOST)
        .map(|n| {
            json!({
                "bk_process_name": format!("proc-{n}"), "work_path": format!("/data/proc-{n}"), "pid_file": "run/proc.pid",
                "start_cmd": "./start.sh", "stop_cmd": "./stop.sh",
            })
        })
        .collect();
    let module = |module: usize| {
        let hosts = (module..n_hosts).step_by(n_modules);
        json!({
            "bk_module_name": format!("module-{module}"), "bk_module_id": module + 1,
            "hosts": hosts.map(view::address).collect::<Vec<String>>(), "processes": processes,
        })
    };
    let sets: Vec<Value> = (0..n_modules)
        .step_by(MODULES_OF_SET)
        .map(|first| {
            let modules = first..n_modules.min(first + MODULES_OF_SET);
            json!({
                "bk_set_name": format!("set-{first}"), "bk_set_id": first + 1,
                "modules": modules.map(module).collect::<Vec<Value>>(),
            })
        })
        .collect();
    json!({"bk_biz_id": BUSINESS, "bk_biz_name": "bench", "sets": sets})
}
