//! Benchmarks the process view: import, filters, paging, ordering. A real server, HTTP on loopback.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{median, millis, seconds, timed};
use crate::client::Client;
use crate::server::{self, Server};
use crate::table::{Table, thousands};

const BUSINESS: u32 = 2;
const SETS: usize = 20;
const MODULES: usize = 10;
const PROCESSES: usize = 10;
/// The share of hosts that get a label: one of this many.
const LABELLED_SHARE: usize = 100;
/// Timed requests per question.
const ROUNDS: usize = 21;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many processes, one column each.
    #[arg(long, value_delimiter = ',', default_value = "10000,50000,1000000")]
    processes: Vec<usize>,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

/// Request bodies of process_status, without business and page.
fn questions(n_hosts: usize) -> Vec<(&'static str, Value)> {
    let middle = address(n_hosts / 2);
    let expression =
        json!({"bk_set_env": "0", "bk_set_name": "set-[1-9]", "bk_module_name": "module-[1,3,5]"});
    let all_five = json!({
        "bk_set_env": "0", "bk_set_name": "set-*", "bk_module_name": "module-?",
        "service_instance_name": "10.0.*", "bk_process_name": "proc-[0-4]", "bk_process_id": "*[1,3]*",
    });
    vec![
        ("everything", json!({"scope": {"bk_set_env": "0"}})),
        (
            "scope: one set, one module",
            json!({"scope": {"bk_set_env": "0", "bk_set_ids": [3], "bk_module_ids": [25]}}),
        ),
        (
            "scope: two aliases",
            json!({"scope": {"bk_set_env": "0", "bk_process_names": ["proc-1", "proc-7"]}}),
        ),
        (
            "status and managed",
            json!({"scope": {"bk_set_env": "0"}, "process_status": 0, "is_auto": false}),
        ),
        (
            "searches: part of an address",
            json!({"scope": {"bk_set_env": "0"}, "searches": ["0.1"]}),
        ),
        (
            "one host by its address",
            json!({"scope": {"bk_set_env": "0"}, "bk_host_innerips": [middle]}),
        ),
        (
            "expression: sets and modules",
            json!({"expression_scope": expression}),
        ),
        (
            "expression: a slice of ids",
            json!({"expression_scope": {"bk_set_env": "0", "bk_process_name": "proc-1", "bk_process_id": "[-20:-10]"}}),
        ),
        (
            "expression: all five parts",
            json!({"expression_scope": all_five.clone()}),
        ),
        (
            "all five parts, status, managed, search",
            json!({"expression_scope": all_five, "process_status": 0, "is_auto": false, "searches": ["0.1"]}),
        ),
        (
            "ordered by address, everything",
            json!({"scope": {"bk_set_env": "0"}, "ordering": "bk_host_innerip"}),
        ),
    ]
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if !args.built {
        server::build(&server::PROGRAMS)?;
    }
    let mut columns = Vec::new();
    for n_processes in &args.processes {
        eprintln!("{} processes …", thousands(*n_processes as f64));
        columns.push(measure(*n_processes)?);
    }
    let heading = args
        .processes
        .iter()
        .map(|n| format!("{} processes", thousands(*n as f64)));
    let mut table = Table::new(std::iter::once("what".to_owned()).chain(heading));
    for row in 0..columns[0].len() {
        let cells = columns.iter().map(|column| column[row].1.clone());
        table.row(std::iter::once(columns[0][row].0.clone()).chain(cells));
    }
    table.print();
    println!();
    println!(
        "Pages of 10 rows with the exact count, medians of {ROUNDS}, in ms; {SETS} sets of {MODULES} modules, {PROCESSES} \
         processes on each host of a module. Aim at 1,000,000: each within 50 ms, a selective label within 10 ms."
    );
    Ok(())
}

fn measure(n_processes: usize) -> anyhow::Result<Vec<(String, String)>> {
    let binaries = server::binaries()?;
    let data = tempfile::tempdir()?;
    let (mut server, _) = Server::start(&binaries, data.path())?;
    let mut client = Client::connect(server.http)?;
    let n_hosts = n_processes / PROCESSES;
    let document = serde_json::to_vec(&document(n_hosts))?;
    let path = format!("/api/v1/businesses/{BUSINESS}/topology");
    let mut rows = Vec::new();
    let before = server.memory()?;
    let import = timed(|| client.put(&path, &document))?;
    rows.push(("import, durable and registered".to_owned(), seconds(import)));
    let grown = server.memory()?.saturating_sub(before) as f64 / n_processes as f64;
    rows.push((
        "memory per process and its instance".to_owned(),
        format!("{grown:.0} bytes"),
    ));
    let again = timed(|| client.put(&path, &document))?;
    rows.push(("import again, nothing changed".to_owned(), seconds(again)));
    for (what, question) in questions(n_hosts) {
        let body = body(question, 1);
        let mut count = 0;
        let time = median(ROUNDS, || {
            let answer = client.gsekit("api/process/process_status", &body)?;
            count = count_of(&answer)?;
            Ok(())
        })?;
        rows.push((
            what.to_owned(),
            format!("{} of {}", millis(time), thousands(count as f64)),
        ));
    }
    let last = body(json!({"scope": {"bk_set_env": "0"}}), n_processes / 10);
    let time = median(ROUNDS, || {
        client.gsekit("api/process/process_status", &last)
    })?;
    rows.push(("the last page of everything".to_owned(), millis(time)));
    counts(&mut client, &mut rows)?;
    labels(&mut client, n_hosts, &mut rows)?;
    operate(&mut client, &mut rows)?;
    server.kill()?;
    let (_server, ready) = Server::start(&binaries, data.path())?;
    rows.push(("kill -9, start, ready again".to_owned(), seconds(ready)));
    Ok(rows)
}

/// Facets, of everything and of what a filter leaves, and lists of the native API.
fn counts(client: &mut Client, rows: &mut Vec<(String, String)>) -> anyhow::Result<()> {
    let keys =
        "namespace business env set module name state wanted managed connected cloud version";
    let facets = keys.split(' ').map(|key| {
        let path = format!("/api/v1/processes/facets?by={key}");
        (format!("facet: {key}"), path)
    });
    let of_view = "env set module service name status state managed connected cloud";
    let of_view = of_view.split(' ').map(|key| {
        let path = format!("/api/v1/processes/view-facets?business={BUSINESS}&by={key}");
        (format!("facet of the view: {key}"), path)
    });
    let lists = [
        (
            "facet: state, of one business and environment",
            "facets?by=state&business=2&env=formal",
        ),
        ("facet: name, by words", "facets?by=name&q=proc-3+10.0"),
        ("processes by words", "?limit=10&q=proc-3+10.0"),
        ("processes ordered by name", "?limit=10&order=name,-host"),
    ];
    let lists = lists.map(|(what, query)| {
        let slash = if query.starts_with('?') { "" } else { "/" };
        (what.to_owned(), format!("/api/v1/processes{slash}{query}"))
    });
    for (what, path) in facets.chain(of_view).chain(lists) {
        let (time, count) = timed_count(client, &path)?;
        let count = thousands(count as f64);
        rows.push((what, format!("{} of {count}", millis(time))));
    }
    Ok(())
}

/// Lists by labels of processes and hosts: one process of ten has a label, and one host of a hundred.
fn labels(
    client: &mut Client,
    n_hosts: usize,
    rows: &mut Vec<(String, String)>,
) -> anyhow::Result<()> {
    let hosts: Vec<String> = (0..n_hosts / LABELLED_SHARE).map(address).collect();
    let body = json!({"hosts": hosts, "labels": {"zone": "a"}}).to_string();
    client.post("/api/v1/label-hosts", body.as_bytes())?;
    for selector in [
        "tier=front,zone=a",
        "zone in (a,b)",
        "tier=front",
        "tier!=front",
    ] {
        let query = selector.replace(' ', "%20");
        let path = format!("/api/v1/processes?limit=10&label={query}");
        let (time, count) = timed_count(client, &path)?;
        let count = thousands(count as f64);
        rows.push((
            format!("label: {selector}"),
            format!("{} of {count}", millis(time)),
        ));
    }
    Ok(())
}

/// The median time of a list, and how many it counts.
fn timed_count(client: &mut Client, path: &str) -> anyhow::Result<(Duration, u64)> {
    let mut count = 0;
    let time = median(ROUNDS, || {
        let answer: Value = serde_json::from_slice(&client.get(path)?)?;
        count = answer["count"].as_u64().context("a count")?;
        Ok(())
    })?;
    Ok((time, count))
}

/// One operation on what a filter matches: up to 100,000 processes.
fn operate(client: &mut Client, rows: &mut Vec<(String, String)>) -> anyhow::Result<()> {
    let filter = json!({"business": BUSINESS, "name": ["proc-3_1"]});
    let dry_run = json!({"op": "stop", "filter": filter, "dry_run": true}).to_string();
    let mut count = 0;
    let time = timed(|| {
        let plan: Value =
            serde_json::from_slice(&client.post("/api/v1/operate", dry_run.as_bytes())?)?;
        count = plan["count"].as_u64().context("a count")?;
        anyhow::Ok(())
    })?;
    let shown = thousands(count as f64);
    rows.push((
        "dry run by a filter".to_owned(),
        format!("{} of {shown}", millis(time)),
    ));
    let body = json!({"op": "stop", "filter": filter, "expect_count": count}).to_string();
    let time = timed(|| client.post("/api/v1/operate", body.as_bytes()))?;
    rows.push((
        "operate by a filter, durable".to_owned(),
        format!("{} of {shown}", seconds(time)),
    ));
    Ok(())
}

pub(super) fn body(question: Value, page: usize) -> Vec<u8> {
    let mut body = question;
    body["bk_biz_id"] = BUSINESS.into();
    body["page"] = page.into();
    body["pagesize"] = 10.into();
    body.to_string().into_bytes()
}

pub(super) fn count_of(answer: &[u8]) -> anyhow::Result<u64> {
    let answer: Value = serde_json::from_slice(answer)?;
    ensure!(answer["result"] == true, "{answer}");
    answer["data"]["count"].as_u64().context("a count")
}

pub(super) fn address(index: usize) -> String {
    let (a, b, c) = (index / 62_500, index / 250 % 250, index % 250 + 1);
    format!("10.{a}.{b}.{c}")
}

fn document(n_hosts: usize) -> Value {
    let per_module = n_hosts / (SETS * MODULES);
    let processes: Vec<Value> = (0..PROCESSES)
        .map(|n| {
            let labels = if n == 3 { json!({"tier": "front"}) } else { json!({}) };
            json!({
                "labels": labels, "bk_process_name": format!("proc-{n}"), "bk_func_name": format!("proc-{n}"), "user": "root",
                "work_path": format!("/data/proc-{n}"), "pid_file": "run/proc.pid", "start_cmd": "./start.sh",
                "stop_cmd": "./stop.sh", "priority": n,
            })
        })
        .collect();
    let sets: Vec<Value> = (0..SETS)
        .map(|set| {
            let modules: Vec<Value> = (0..MODULES)
                .map(|module| {
                    let first = (set * MODULES + module) * per_module;
                    let hosts: Vec<String> = (first..first + per_module).map(address).collect();
                    json!({
                        "bk_module_name": format!("module-{module}"), "bk_module_id": set * MODULES + module + 1,
                        "hosts": hosts, "processes": processes,
                    })
                })
                .collect();
            json!({
                "bk_set_name": format!("set-{set}"), "bk_set_id": set + 1, "bk_set_env": set % 3 + 1, "modules": modules,
            })
        })
        .collect();
    json!({"bk_biz_id": BUSINESS, "bk_biz_name": "bench", "sets": sets})
}
