//! `spec.after` with real processes on one host.

use model::operation::Op;
use model::spec::Dependency;
use model::{Code, Flag, FullName, OpId, ProcessState, Spec, State, Status};
use serde_json::{Value, json};
use supervisor::{DependencyAnswer, Request};

use crate::harness::{Home, TestSupervisor, is_alive, kill, options, read, until};

fn named(name: &str) -> FullName {
    format!("test/{name}").parse().unwrap()
}

/// A program that notes in files when it starts and when it is told to stop.
fn spec(home: &Home, name: &str, after: Value) -> Spec {
    let root = home.root().to_str().unwrap();
    let mut spec = home.spec("");
    spec.identity.proc_name = "sh".into();
    spec.identity.pid_path = home.file(&format!("{name}.pid"));
    spec.control.start_cmd = format!(
        "echo {name} >> {root}/started; trap 'echo {name} >> {root}/stopped; exit 0' TERM; \
         while :; do sleep 0.05; done"
    );
    spec.after = serde_json::from_value::<Vec<Dependency>>(after).unwrap();
    spec
}

fn words(home: &Home, file: &str) -> String {
    let text = std::fs::read_to_string(home.path(file)).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Holds `db`, `api` after `db`, and `web` after `api`.
fn hold_three(home: &Home, supervisor: &TestSupervisor) {
    for (name, after) in [
        ("web", json!([{"process": "test/api"}])),
        ("api", json!([{"process": "test/db"}])),
        ("db", json!([])),
    ] {
        let spec = spec(home, name, after);
        supervisor.hold_as(&named(name), spec, Flag::Unregistered, false);
    }
}

fn begin(supervisor: &TestSupervisor, name: &str, number: u32, op: Op) -> OpId {
    supervisor.begin_on(&named(name), number, op, None)
}

fn succeeds(supervisor: &mut TestSupervisor, id: OpId) {
    let outcome = supervisor.end_of(id);
    assert_eq!(outcome.code, Code::OK, "{outcome:?}");
}

fn status(supervisor: &mut TestSupervisor, name: &str, is: impl Fn(&Status) -> bool) -> Status {
    until(&format!("the awaited status of {name}"), || {
        supervisor.listen();
        let status = supervisor.statuses.get(&named(name));
        status.filter(|status| is(status)).cloned()
    })
}

fn waits_for(supervisor: &mut TestSupervisor, name: &str, what: &str) {
    status(supervisor, name, |status| {
        status.process_state == ProcessState::Starting
            && status.message.starts_with(&format!("waits for {what}"))
    });
}

#[test]
fn three_start_in_their_order_and_stop_in_reverse() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    hold_three(&home, &supervisor);
    let starts = ["web", "api", "db"].map(|name| {
        let number = name.len() as u32 * 10 + name.as_bytes()[0] as u32;
        begin(&supervisor, name, number, Op::Start)
    });
    for id in starts {
        succeeds(&mut supervisor, id);
    }
    assert_eq!(words(&home, "started"), "db api web");
    // The first one is stopped first, and waits for the others, whose stops arrive a moment later.
    let db = begin(&supervisor, "db", 1, Op::Stop);
    let api = begin(&supervisor, "api", 2, Op::Stop);
    let web = begin(&supervisor, "web", 3, Op::Stop);
    for id in [db, api, web] {
        succeeds(&mut supervisor, id);
    }
    assert_eq!(words(&home, "stopped"), "web api db");
}

#[test]
fn a_stop_of_a_dependency_alone_does_not_touch_its_dependents() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    hold_three(&home, &supervisor);
    for (number, name) in [(1, "db"), (2, "api")] {
        let id = begin(&supervisor, name, number, Op::Start);
        succeeds(&mut supervisor, id);
    }
    let id = begin(&supervisor, "db", 3, Op::Stop);
    succeeds(&mut supervisor, id);
    assert_eq!(words(&home, "stopped"), "db");
    let api = status(&mut supervisor, "api", |status| {
        status.state == State::Running
    });
    assert!(is_alive(api.pid));
}

#[test]
fn a_start_whose_dependency_never_comes_fails_with_what_it_waited_for() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut web = spec(&home, "web", json!([{"process": "test/db"}]));
    web.monitor_policy.op_timeout = 1;
    supervisor.hold_as(&named("web"), web.clone(), Flag::Unregistered, false);
    let id = begin(&supervisor, "web", 1, Op::Start);
    waits_for(
        &mut supervisor,
        "web",
        "test/db to be ready on this host (not registered here)",
    );
    let outcome = supervisor.end_of(id);
    assert_eq!(outcome.code, Code::COMMAND_FAILED);
    assert!(
        outcome
            .message
            .starts_with("nothing was started within 1 s (op_timeout): waits for test/db"),
        "{outcome:?}"
    );
    assert_eq!(words(&home, "started"), "");

    // A managed process goes on waiting, and is started when what it needs is there.
    let mut db = spec(&home, "db", json!([]));
    db.control.start_cmd = "false".into();
    supervisor.hold_as(&named("db"), db, Flag::Unregistered, false);
    let id = begin(&supervisor, "web", 2, Op::Manage);
    succeeds(&mut supervisor, id);
    waits_for(
        &mut supervisor,
        "web",
        "test/db to be ready on this host (stopped)",
    );
    let id = begin(&supervisor, "db", 3, Op::Start);
    assert_ne!(supervisor.end_of(id).code, Code::OK);
    waits_for(
        &mut supervisor,
        "web",
        "test/db to be ready on this host (failed)",
    );
    let db = spec(&home, "db", json!([]));
    supervisor.hold_as(&named("db"), db, Flag::Unregistered, false);
    let id = begin(&supervisor, "db", 4, Op::Start);
    succeeds(&mut supervisor, id);
    status(&mut supervisor, "web", |status| {
        status.process_state == ProcessState::Running
    });
    assert_eq!(words(&home, "started"), "db web");
}

#[test]
fn patience_ends_the_wait_with_a_warning() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let after = json!([{"process": "test/db", "patience": 1}]);
    let web = spec(&home, "web", after);
    supervisor.hold_as(&named("web"), web, Flag::Unregistered, false);
    let id = begin(&supervisor, "web", 1, Op::Start);
    waits_for(&mut supervisor, "web", "test/db");
    let outcome = supervisor.end_of(id);
    assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    assert_eq!(
        outcome.warning.as_deref(),
        Some(
            "started without waiting any longer for test/db to be ready on this host: 1 s (patience) are over"
        )
    );
}

#[test]
fn a_one_shot_must_have_exited_with_code_0() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut migrate = spec(&home, "migrate", json!([]));
    migrate.monitor_policy.auto_type = model::spec::AutoType::OneShot;
    migrate.control.start_cmd = format!("test -e {}", home.file("schema"));
    supervisor.hold_as(&named("migrate"), migrate, Flag::Unregistered, false);
    let after = json!([{"process": "test/migrate", "when": "exited_ok"}]);
    let web = spec(&home, "web", after);
    supervisor.hold_as(&named("web"), web, Flag::Unregistered, false);
    let web = begin(&supervisor, "web", 1, Op::Start);
    let id = begin(&supervisor, "migrate", 2, Op::Start);
    assert_ne!(supervisor.end_of(id).code, Code::OK);
    waits_for(
        &mut supervisor,
        "web",
        "test/migrate to exit with code 0 on this host (failed)",
    );
    std::fs::write(home.path("schema"), "").unwrap();
    let id = begin(&supervisor, "migrate", 3, Op::Start);
    succeeds(&mut supervisor, id);
    succeeds(&mut supervisor, web);
}

#[test]
fn a_dependency_that_was_restarted_or_crashed_restarts_its_dependents() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    for (name, after) in [
        ("db", json!([])),
        ("api", json!([{"process": "test/db", "restart": true}])),
        ("web", json!([{"process": "test/api", "restart": true}])),
        ("other", json!([{"process": "test/db"}])),
    ] {
        let spec = spec(&home, name, after);
        supervisor.hold_as(&named(name), spec, Flag::Unregistered, false);
    }
    let names = ["db", "api", "web", "other"];
    for (number, name) in names.into_iter().enumerate() {
        let id = begin(&supervisor, name, number as u32, Op::Start);
        succeeds(&mut supervisor, id);
    }
    let runs = |status: &Status| status.process_state == ProcessState::Running;
    let pids =
        |supervisor: &mut TestSupervisor| names.map(|name| status(supervisor, name, runs).pid);
    let mut before = pids(&mut supervisor);
    for crashes in [false, true] {
        match crashes {
            true => kill(before[0], libc::SIGKILL),
            false => {
                let id = begin(&supervisor, "db", 9, Op::Restart);
                succeeds(&mut supervisor, id);
            }
        }
        for (name, because) in [("api", "test/db"), ("web", "test/api")] {
            let pid = before[names.iter().position(|other| *other == name).unwrap()];
            status(&mut supervisor, name, |status| {
                let said = format!("restarted because {because} was restarted");
                runs(status) && status.pid != pid && status.message == said
            });
        }
        let now = pids(&mut supervisor);
        assert_eq!(now[3], before[3], "it does not ask for it");
        before = now;
    }
}

#[test]
fn a_wait_survives_the_agent() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    hold_three(&home, &supervisor);
    let id = begin(&supervisor, "api", 1, Op::Start);
    waits_for(&mut supervisor, "api", "test/db");
    supervisor.stop();
    let (mut supervisor, recovered) = home.supervisor_with(options());
    assert_eq!(recovered.under_way, [id]);
    waits_for(&mut supervisor, "api", "test/db");
    assert_eq!(words(&home, "started"), "");
    let db = begin(&supervisor, "db", 2, Op::Start);
    succeeds(&mut supervisor, db);
    succeeds(&mut supervisor, id);
    assert_eq!(words(&home, "started"), "db api");
}

/// The journal says that the dependency runs, but it died while the agent was away.
#[test]
fn a_dependency_that_died_while_the_agent_was_away_does_not_count() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut db = spec(&home, "db", json!([]));
    db.monitor_policy.start_retries = 0;
    supervisor.hold_as(&named("db"), db, Flag::Unregistered, false);
    let after = json!([{"process": "test/db"}, {"process": "test/late"}]);
    let web = spec(&home, "web", after);
    supervisor.hold_as(&named("web"), web, Flag::Unregistered, false);
    let id = begin(&supervisor, "db", 1, Op::Start);
    succeeds(&mut supervisor, id);
    let pid = status(&mut supervisor, "db", |status| status.pid > 0).pid;
    let id = begin(&supervisor, "web", 2, Op::Start);
    waits_for(&mut supervisor, "web", "test/late");
    supervisor.stop();
    kill(pid, libc::SIGKILL);
    until("the end of the dependency", || {
        (!is_alive(pid)).then_some(())
    });
    let mut supervisor = home.supervisor();
    waits_for(
        &mut supervisor,
        "web",
        "test/db to be ready on this host (failed), test/late",
    );
    let stop = begin(&supervisor, "web", 3, Op::Stop);
    assert_eq!(supervisor.end_of(id).code, Code::TERMINATED);
    assert_eq!(supervisor.end_of(stop).code, Code::NOT_RUNNING);
    assert_eq!(words(&home, "started"), "db");
}

#[test]
fn other_hosts_count_by_the_last_word_of_the_server() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let after = json!([{"process": "db/postgres", "where": "all"}]);
    let web = spec(&home, "web", after);
    let dependency = web.after[0].clone();
    supervisor.hold_as(&named("web"), web, Flag::Unregistered, false);
    let id = begin(&supervisor, "web", 1, Op::Start);
    let what = "db/postgres to be ready on all of its hosts";
    waits_for(
        &mut supervisor,
        "web",
        &format!("{what} (no word from the server yet)"),
    );
    let say = |supervisor: &TestSupervisor, unmet: Option<&str>| {
        supervisor.ask(Request::Dependencies(vec![DependencyAnswer {
            process: dependency.process.clone(),
            when: dependency.when,
            place: dependency.place,
            unmet: unmet.map(str::to_owned),
        }]));
    };
    say(&supervisor, Some("2 of 5 hosts"));
    waits_for(&mut supervisor, "web", &format!("{what} (2 of 5 hosts)"));
    // It is in memory only.
    supervisor.stop();
    let mut supervisor = home.supervisor();
    waits_for(
        &mut supervisor,
        "web",
        &format!("{what} (no word from the server yet)"),
    );
    say(&supervisor, None);
    succeeds(&mut supervisor, id);
    assert_eq!(read(&home.path("started")).trim(), "web");
}

#[test]
fn two_that_restart_each_other_do_not_go_on_for_ever() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    // Specs that the server would refuse together.
    for name in ["a", "b"] {
        let spec = spec(&home, name, json!([]));
        supervisor.hold_as(&named(name), spec, Flag::Unregistered, false);
        let id = begin(&supervisor, name, name.as_bytes()[0].into(), Op::Start);
        succeeds(&mut supervisor, id);
    }
    for (name, other) in [("a", "b"), ("b", "a")] {
        let after = json!([{"process": format!("test/{other}"), "restart": true}]);
        let spec = spec(&home, name, after);
        supervisor.hold_as(&named(name), spec, Flag::Unregistered, false);
    }
    let id = begin(&supervisor, "a", 1, Op::Restart);
    succeeds(&mut supervisor, id);
    // Anything that follows follows at once: a query is answered after it.
    let id = begin(&supervisor, "b", 2, Op::Query);
    succeeds(&mut supervisor, id);
    assert_eq!(words(&home, "started"), "a b a");
}
