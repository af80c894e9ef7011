//! Properties that must hold once no action is pending.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};

use super::process::{Op, Process};
use super::usage::Usage;
use super::world::World;
use crate::{Api, wait};

/// For a debug build, far above normal use: only a leak reaches it.
const SERVER_LIMIT: Usage = Usage {
    rss_kib: 512 * 1024,
    n_descriptors: 512,
};
const AGENT_LIMIT: Usage = Usage {
    rss_kib: 128 * 1024,
    n_descriptors: 512,
};

/// Fields of a row that must be equal on every server.
const SAME_EVERYWHERE: [&str; 7] = ["host", "meta", "flag", "isauto", "status", "pid", "version"];

const SUCCEEDED_OR_ALREADY_SO: [i64; 3] = [0, 828, 829];
const NO_CONNECTION: i64 = 117;
const RUNNING_ALREADY: i64 = 828;
const LOST: i64 = 126;

/// The desired state of a process according to the responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DesiredState {
    flag: i64,
    managed: bool,
}

/// Waits until every operation has ended, and checks everything.
pub(super) fn quiet_world(world: &mut World) {
    let ends = ended(world);
    world.summary.n_successes = ends.values().filter(|code| **code == 0).count() as u64;
    desired_is_observed(world, &ends);
    let events = all_reported(world);
    nothing_is_listed_twice(&events);
    executions_are_explained(world, &ends, &events);
    every_end_stays(world, &ends);
    desired_is_observed(world, &ends);
    agents_hold_what_is_desired(world);
    all_servers_show_the_same(world);
    usage_is_bounded(world);
    world.summary.n_events = events.len() as u64;
}

/// The code of each task, once every target has ended.
fn ended(world: &World) -> BTreeMap<String, i64> {
    let mut ends = BTreeMap::new();
    for process in &world.processes {
        for task in process
            .requested
            .iter()
            .filter_map(|asked| asked.task.as_ref())
        {
            let what = format!("the end of {task} of {}", process.name);
            let code = wait::until(&what, || {
                let target = world.target_of(process, task)?;
                target["error_code"].as_i64().filter(|code| *code != 115)
            });
            ends.insert(task.clone(), code);
        }
    }
    ends
}

/// A result never changes, except that a late one replaces 126.
fn every_end_stays(world: &World, ends: &BTreeMap<String, i64>) {
    for process in &world.processes {
        for task in process
            .requested
            .iter()
            .filter_map(|asked| asked.task.as_ref())
        {
            let again = wait::until("an answer", || world.target_of(process, task));
            assert!(
                again["error_code"] == ends[task] || ends[task] == LOST,
                "{task} of {} had ended with {} and now: {again}",
                process.name,
                ends[task]
            );
        }
    }
}

fn desired_is_observed(world: &mut World, ends: &BTreeMap<String, i64>) {
    for at in 0..world.processes.len() {
        let desired = desired_state(&world.processes[at], ends);
        let mut wrong = String::new();
        let started = Instant::now();
        while started.elapsed() < wait::PATIENCE {
            world.check_runs();
            match is_as_desired(world, at, desired) {
                Ok(()) => break,
                Err(why) => wrong = why,
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        if let Err(why) = is_as_desired(world, at, desired) {
            panic!(
                "{} is not as desired: {why}; before: {wrong}",
                world.processes[at].name
            );
        }
    }
}

/// The definitions, flags and runs that each agent holds are the server's.
fn agents_hold_what_is_desired(world: &World) {
    let mut n_held = 0;
    for host in world.hosts() {
        let path = format!("/api/v1/hosts/{host}/held");
        let (status, held) = a_server(world).native("GET", &path, None);
        assert_eq!(status, 200, "{held}");
        assert_eq!(held["foreign"], serde_json::json!([]), "{held}");
        for process in held["processes"].as_array().unwrap() {
            let differs = process["differs"].as_array().unwrap();
            assert!(differs.is_empty(), "{host}: {process}");
            n_held += 1;
        }
    }
    assert_eq!(n_held, world.processes.len(), "every process is held");
}

/// Any server: all of them run by now.
fn a_server(world: &World) -> &Api {
    world.servers.api().expect("all servers run")
}

/// Soft state takes a moment to reach other replicas.
fn all_servers_show_the_same(world: &World) {
    let shown = |api: &Api| {
        let page = json!({"meta": {"namespace": "soak"}, "page": {"start": 0, "limit": 1000}});
        let data = api.esb_ok("sync_proc_status", page);
        let mut rows = data["proc_infos"].as_array().unwrap().clone();
        // Usage figures differ.
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            row.retain(|key, _| SAME_EVERYWHERE.contains(&&**key));
        }
        rows
    };
    let mut differs = Vec::new();
    let started = Instant::now();
    while started.elapsed() < wait::PATIENCE {
        differs = world.servers.apis().into_iter().map(shown).collect();
        if differs.windows(2).all(|pair| pair[0] == pair[1]) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the servers do not show the same: {differs:#?}");
}

fn is_as_desired(world: &World, at: usize, desired: Option<DesiredState>) -> Result<(), String> {
    let process = &world.processes[at];
    let row = world.row(process).ok_or("no row")?;
    let runs: Vec<i32> = world.runs(at).iter().map(|run| run.pid).collect();
    let shown = DesiredState {
        flag: row["flag"].as_i64().ok_or("no flag")?,
        managed: row["isauto"] == true,
    };
    let must_run = match (shown.flag, shown.managed) {
        (1, true) => true,
        (1, false) => row["status"] == 1,
        _ => false,
    };
    let version = process.version.map(|version| version.to_string());
    let is_version = |version: &String| row["meta"]["labels"]["version"] == *version;
    let right = desired.is_none_or(|desired| desired == shown)
        && runs.len() == usize::from(must_run)
        && (row["status"] == 1) == must_run
        && runs.first().is_none_or(|pid| row["pid"] == *pid)
        && version.as_ref().is_none_or(is_version);
    let said = || format!("answers say {desired:?}, version {version:?}; runs {runs:?}; row {row}");
    if right { Ok(()) } else { Err(said()) }
}

/// Operations are executed in the order of their requests; `None` if a response is missing.
fn desired_state(process: &Process, ends: &BTreeMap<String, i64>) -> Option<DesiredState> {
    let mut desired: Option<DesiredState> = None;
    for asked in &process.requested {
        let code = asked.task.as_ref().map(|task| ends[task]);
        let known = code.filter(|code| SUCCEEDED_OR_ALREADY_SO.contains(code));
        desired = known
            .and_then(|_| match asked.op {
                Op::Start | Op::Restart | Op::Manage => Some((1, true)),
                Op::Stop | Op::Kill => Some((2, false)),
                Op::Unmanage => desired.map(|before| (before.flag, false)),
            })
            .map(|(flag, managed)| DesiredState { flag, managed });
    }
    desired
}

/// Every event, once each kill that must be reported is.
fn all_reported(world: &World) -> Vec<Value> {
    let mut events = Vec::new();
    let mut missing = String::new();
    let started = Instant::now();
    while started.elapsed() < wait::PATIENCE {
        events = list(world);
        missing.clear();
        for process in &world.processes {
            let n = n_ends(process, &events);
            if n < process.n_reported_kills {
                let (name, killed) = (&process.name, process.n_reported_kills);
                missing += &format!("{name} was killed {killed} times, with {n} events; ");
            }
        }
        if missing.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(missing.is_empty(), "{missing}{events:#?}");
    events
}

fn list(world: &World) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    let mut page = String::new();
    loop {
        let path = format!("/api/v1/events?namespace=soak&limit=1000{page}");
        let (status, list) = a_server(world).native("GET", &path, None);
        assert_eq!(status, 200, "{list}");
        events.extend(list["events"].as_array().unwrap().iter().cloned());
        match list["next"].as_u64() {
            Some(next) => page = format!("&before={next}"),
            None => return events,
        }
    }
}

/// How many unexpected ends of its runs the server has listed.
fn n_ends(process: &Process, events: &[Value]) -> usize {
    let is_end = |event: &&Value| {
        event["process"] == format!("soak/{}", process.name)
            && (event["kind"] == "process_exit" || event["kind"] == "process_restart_failed")
    };
    events.iter().filter(is_end).count()
}

fn nothing_is_listed_twice(events: &[Value]) {
    let ids: BTreeSet<u64> = events
        .iter()
        .filter_map(|event| event["id"].as_u64())
        .collect();
    assert_eq!(ids.len(), events.len(), "each event has an id of its own");
    let mut known = BTreeSet::new();
    for event in events {
        let what = [
            &event["host"],
            &event["process"],
            &event["kind"],
            &event["at"],
            &event["reason"],
        ];
        let what = what.map(ToString::to_string);
        assert!(known.insert(what), "listed twice: {event}");
    }
}

/// Every execution is explained by an operation or an event.
fn executions_are_explained(world: &mut World, ends: &BTreeMap<String, i64>, events: &[Value]) {
    for process in &world.processes {
        let asked: Vec<(Op, Option<i64>)> = process
            .requested
            .iter()
            .map(|asked| (asked.op, asked.task.as_ref().map(|task| ends[task])))
            .collect();
        let launches: usize = asked.iter().map(|(op, code)| n_launches(*op, *code)).sum();
        let (executions, explained) = (process.n_executions(), n_ends(process, events));
        assert!(
            executions <= launches + explained,
            "{} was executed {executions} times; operations explain {launches}: {asked:?}; events explain {explained}: {events:#?}",
            process.name
        );
        world.summary.n_executions += executions as u64;
    }
}

/// How often an operation with this result may have executed the start command.
fn n_launches(op: Op, code: Option<i64>) -> usize {
    match (op, code) {
        (Op::Stop | Op::Kill | Op::Unmanage, _) | (_, Some(NO_CONNECTION | RUNNING_ALREADY)) => 0,
        (_, Some(0)) => 1,
        // A failed start has no event; a managed process is then started again.
        (_, _) => 2,
    }
}

fn usage_is_bounded(world: &mut World) {
    world.measure();
    let summary = &world.summary;
    for (who, usage, limit) in [
        ("the server", summary.server, SERVER_LIMIT),
        ("an agent", summary.agents, AGENT_LIMIT),
    ] {
        assert!(
            usage.rss_kib <= limit.rss_kib && usage.n_descriptors <= limit.n_descriptors,
            "{who} uses {usage}; the limit is {limit}"
        );
    }
}
