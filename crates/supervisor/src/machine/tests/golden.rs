//! A journal with everything that machines keep of probes, order, signals, limits, schedules and memory kills.
//!
//! The golden file is never written again, and every later agent reads it. What journals learn after it belongs into a further file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use model::event::{Event as ProcessEvent, EventKind};
use model::group::{Pool, ProcessGroup};
use model::spec::schedule::Overlap;
use model::spec::stop::StopSignal;
use model::spec::{AutoType, ProbeKind};
use model::status::{Exit, OomMemory};
use model::{Code, Flag, FullName, Namespace, Op, OpId, Outcome, Spec, TaskId, UnixMillis};
use serde_json::{Value, json};

use super::world::{Behaviour, World, ticket};
use super::{FOR_EVER, daemon, foreground, started, world};
use crate::Registration;
use crate::journal::Journal;
use crate::journal::entry::{Entry, JournalState};
use crate::machine::{
    Action, Boot, Context, DependencyRun, Dependents, Event, Moment, NO_ORDER, Order, Process, Run,
    RunEnd, Unmet,
};

/// A spec with every section that journals have learned.
fn spec() -> Spec {
    let text = super::spec().to_json();
    let mut raw: Value = serde_json::from_str(&text).unwrap();
    raw["probes"] = json!({
        "ready": {"http": {"port": 80, "path": "/", "status": ["2xx"], "body": "ok"}, "failures": 2},
        "live": {"exec": "true", "interval": 5, "timeout": 2, "successes": 2, "delay": 9, "action": "event"},
    });
    raw["after"] = json!([
        {"process": "db/postgres", "when": "up", "where": "any", "patience": 30, "restart": true},
    ]);
    raw["stop"] = json!({"signals": ["QUIT", "TERM"], "grace": 3});
    raw["restart"] = json!({"delay": 1, "factor": 2.0, "delay_max": 60, "give_up": "never"});
    raw["schedule"] = json!({"missed": "once", "overlap": "wait", "jitter": 5, "history": 9});
    serde_json::from_value(raw).unwrap()
}

/// The process after this event, none of whose actions is done.
fn after(world: &World, event: Event, order: &Order) -> Process {
    let mut process = world.process.clone();
    process.step(event, &context(world.now, &world.spec, order));
    process
}

fn context<'a>(boot_ms: u64, spec: &'a Spec, order: &'a Order) -> Context<'a> {
    let unix = UnixMillis(boot_ms as i64);
    Context {
        now: Moment { boot_ms, unix },
        name: "p",
        spec,
        order,
    }
}

fn unmet() -> Order {
    let now = "stopped".to_owned();
    Order {
        unmet: vec![Unmet { index: 0, now }],
        ..Order::default()
    }
}

fn of(behaviour: Behaviour) -> World {
    let mut world = world(behaviour);
    world.spec = Spec {
        after: Vec::new(),
        ..spec()
    };
    world
}

/// Up, and its start waits for its ready probe.
fn waits_for_probe(behaviour: Behaviour) -> World {
    let mut world = of(behaviour);
    world.ask(1, Op::Start);
    world.pass(10_000);
    world.drive(Event::Probed(ProbeKind::Ready, Err("refused".into())));
    world
}

fn is_ready(behaviour: Behaviour) -> World {
    let mut world = waits_for_probe(behaviour);
    world.drive(Event::Probed(ProbeKind::Ready, Ok(())));
    world
}

fn out_of_memory() -> RunEnd {
    RunEnd {
        exit: Exit::Signal(9),
        last_line: "allocating".into(),
        oom: Some(OomMemory {
            used: 104_647_885,
            limit: 100 << 20,
        }),
    }
}

/// The processes by what their names say.
fn processes() -> Vec<(&'static str, Process)> {
    let waits_for_needs = {
        let mut world = world(daemon());
        world.spec = spec();
        world.order = unmet();
        world.ask(1, Op::Start);
        world.process
    };
    let started_without_needs = {
        let mut world = world(daemon());
        world.spec = spec();
        world.order = unmet();
        world.ask(1, Op::Start);
        world.pass(30_000);
        world.drive(Event::Tick);
        world.process
    };
    let waits_for_dependents = {
        let mut world = is_ready(daemon());
        world.order.dependents = Dependents::Stopping("gse/web".into());
        world.ask(2, Op::Stop);
        world.process
    };
    let not_ready_any_more = {
        let mut world = is_ready(foreground());
        for kind in [ProbeKind::Ready, ProbeKind::Live] {
            for _ in 0..3 {
                world.drive(Event::Probed(kind, Err("silent".into())));
            }
        }
        world.drive(Event::NotProbed(ProbeKind::Live, "no descriptors".into()));
        world.process
    };
    let killed_before_ready = {
        let kind = EventKind::ProcessResourceLimitExceed;
        let over = Event::OverLimit(kind, "killed: too much".into());
        after(&waits_for_probe(daemon()), over, &NO_ORDER)
    };
    let first_signal_unsent = {
        let mut world = is_ready(daemon());
        assert!(world.process.accept(ticket(2, Op::Stop)));
        world.process = after(&world, Event::Proceed, &NO_ORDER);
        let alive = world.process.alive();
        let observed = crate::machine::Observation {
            alive,
            ..Default::default()
        };
        after(&world, Event::Observed(observed), &NO_ORDER)
    };
    let second_signal_sent = {
        let mut world = of(daemon());
        world.ignores_term = true;
        world.ask(1, Op::Start);
        world.pass(10_000);
        world.drive(Event::Probed(ProbeKind::Ready, Ok(())));
        world.ask(2, Op::Stop);
        world.pass(3_500);
        world.process
    };
    let restarts_with_dependency = {
        let mut world = is_ready(foreground());
        world.spec.stop.signals = vec![StopSignal::Term];
        world.ignores_term = true;
        let renewed = DependencyRun {
            process: "db/postgres".parse().unwrap(),
            run: Run { pid: 77, start: 78 },
        };
        after(&world, Event::DependencyRestarted(renewed), &NO_ORDER)
    };
    let killed_by_kernel = {
        let world = is_ready(daemon());
        let run = world.process.alive().unwrap().run;
        after(&world, Event::Exited(run, out_of_memory()), &NO_ORDER)
    };
    let backs_off = {
        let mut world = is_ready(daemon());
        world.process = {
            let run = world.process.alive().unwrap().run;
            after(&world, Event::Exited(run, out_of_memory()), &NO_ORDER)
        };
        after(&world, Event::Observed(Default::default()), &NO_ORDER)
    };
    let next_run_waits = {
        let mut world = world(Behaviour::Stays {
            lives_ms: FOR_EVER,
            code: 0,
        });
        world.spec.monitor_policy.auto_type = AutoType::Periodic;
        world.spec.monitor_policy.crontab_rule = "* * * * *".into();
        world.spec.schedule.overlap = Overlap::Wait;
        world.ask(1, Op::Manage);
        world.drive(Event::Scheduled("noon".into()));
        world.pass(10_000);
        world.drive(Event::Scheduled("one".into()));
        world.process
    };
    let host_restarted = {
        let mut world = started(daemon());
        world.ask(2, Op::Unmanage);
        world.reboot();
        world.process
    };
    vec![
        ("waits-for-needs", waits_for_needs),
        ("started-without-needs", started_without_needs),
        ("waits-for-dependents", waits_for_dependents),
        ("waits-for-probe", waits_for_probe(foreground()).process),
        ("is-ready", is_ready(daemon()).process),
        ("not-ready-any-more", not_ready_any_more),
        ("killed-before-ready", killed_before_ready),
        ("first-signal-unsent", first_signal_unsent),
        ("second-signal-sent", second_signal_sent),
        ("restarts-with-dependency", restarts_with_dependency),
        ("killed-by-kernel", killed_by_kernel),
        ("backs-off", backs_off),
        ("next-run-waits", next_run_waits),
        ("host-restarted", host_restarted),
    ]
}

fn name(text: &str) -> FullName {
    format!("gse/{text}").parse().unwrap()
}

fn entries() -> Vec<Entry> {
    let boot_id = "boot-1".to_owned();
    let mut all = vec![Entry::Opened { boot_id }];
    for (text, process) in processes() {
        all.push(Entry::Hold(Box::new(Registration {
            name: name(text),
            incarnation: 3,
            spec: Arc::new(spec()),
            labels: serde_json::from_value(json!({"tier": "front"})).unwrap(),
            definition_hash: 9,
            flag: Flag::Running,
            managed: true,
            registered_at: UnixMillis(1_700_000_000_000),
        })));
        all.push(Entry::State(name(text), Box::new(process)));
    }
    let group = ProcessGroup {
        id: "web".into(),
        resource: Pool {
            mem_pool_limit: 50.0,
            ..Pool::default()
        },
    };
    all.push(Entry::Groups(Namespace::parse("gse").unwrap(), vec![group]));
    let id = OpId {
        task: TaskId::from_number(5),
        ordinal: 6,
    };
    let outcome = Outcome {
        warning: Some("started without waiting any longer".into()),
        ..Outcome::plain(Code::OK, "success", UnixMillis(7))
    };
    all.push(Entry::Ended(id, Box::new(outcome)));
    let kinds = [EventKind::ProcessReady, EventKind::ProcessNotReady];
    for (number, kind) in (1..).zip(kinds) {
        let event = ProcessEvent {
            at: UnixMillis(8),
            process: name("is-ready"),
            kind,
            reason: "said".into(),
            exit: None,
            report_id: 0,
        };
        all.push(Entry::Happened(number, event));
    }
    all
}

/// Whether the second has everything that the first has.
fn keeps(golden: &Value, again: &Value) -> bool {
    match (golden, again) {
        (Value::Object(golden), Value::Object(again)) => golden
            .iter()
            .all(|(key, value)| again.get(key).is_some_and(|again| keeps(value, again))),
        (Value::Array(golden), Value::Array(again)) => {
            golden.len() == again.len() && golden.iter().zip(again).all(|(a, b)| keeps(a, b))
        }
        (golden, again) => golden == again,
    }
}

/// The records as they are in the file.
fn records(journal: &[u8]) -> Vec<Value> {
    let mut records = Vec::new();
    let mut rest = &journal[8..];
    while let Some((head, payload)) = rest.split_first_chunk::<8>() {
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        records.push(serde_json::from_slice(&payload[..length]).unwrap());
        rest = &payload[length..];
    }
    records
}

#[test]
fn a_journal_with_probes_order_and_signals_is_readable() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/journal-v1-order");
    let dir = tempfile::tempdir().unwrap();
    if std::env::var_os("MUSTER_WRITE_GOLDEN").is_some() && !golden.exists() {
        let (mut journal, ..) = Journal::open(dir.path()).unwrap();
        for entry in entries() {
            journal.append(&[entry]).unwrap();
        }
        fs::copy(dir.path().join("journal"), &golden).unwrap();
    }
    fs::copy(&golden, dir.path().join("journal")).unwrap();
    let (_, read, _) = Journal::open(dir.path()).unwrap();
    let records = records(&fs::read(&golden).unwrap());
    assert_eq!(read.len(), records.len());
    for (entry, record) in read.iter().zip(&records) {
        let again = serde_json::to_value([entry]).unwrap();
        assert!(keeps(record, &again), "{record}\nbecomes\n{again}");
    }
    let state = JournalState::of(read);
    assert_eq!(state.groups.len(), 1);
    assert_eq!(
        (state.ledger.results.len(), state.ledger.events.len()),
        (1, 2)
    );

    // What each of them is at, and what a restarted agent does first.
    for (text, is_at, first) in [
        ("waits-for-needs", "AwaitNeeds", ""),
        (
            "started-without-needs",
            "without: \"started without",
            "Observe",
        ),
        ("waits-for-dependents", "AwaitDependents", ""),
        ("waits-for-probe", "AwaitReady", ""),
        ("is-ready", "is_ready: true", ""),
        ("not-ready-any-more", "is_failing: true", ""),
        (
            "killed-before-ready",
            "kill_reason: \"killed: too much\"",
            "Kill",
        ),
        ("first-signal-unsent", "Stop(Quit)", "Signal"),
        ("second-signal-sent", "Stopping { sent: 2", "Observe"),
        ("restarts-with-dependency", "Renewal", "Signal"),
        ("killed-by-kernel", "OomMemory { used: 104647885", "Observe"),
        ("backs-off", "Backoff", ""),
        ("next-run-waits", "waiting_run: \"one\"", ""),
        ("host-restarted", "host_restarted: true", "Observe"),
    ] {
        let (hold, process) = &state.held[&name(text)];
        assert_eq!(*hold.spec, spec(), "{text}");
        let shown = format!("{process:?}");
        assert!(shown.contains(is_at), "{text}: {shown}");
        let mut process = process.clone();
        let cx = context(1_050_000, &hold.spec, &NO_ORDER);
        let actions = process.step(Event::Recovered(Boot::Same), &cx);
        let actions: Vec<&Action> = actions.iter().collect();
        let done = format!("{:?}", actions.first());
        match first {
            "" => assert_eq!(actions, Vec::<&Action>::new(), "{text}"),
            first => assert!(done.starts_with(&format!("Some({first}")), "{text}: {done}"),
        }
    }
}
