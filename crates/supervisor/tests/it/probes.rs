//! `spec.probes` on real processes that listen, answer, and stop doing so.

use model::event::EventKind;
use model::operation::Op;
use model::spec::probes::{HttpTarget, ProbeRule, ProbeTarget, StatusCodes, TcpTarget};
use model::spec::{ProbeAction, Probes};
use model::{Code, Flag, ProcessState, Spec, Status};

use crate::harness::{Home, TestSupervisor, is_alive, name, until};

const PORT: u16 = 17_441;

/// An address that no other test has: each test is a process of its own.
fn host() -> String {
    let [.., high, middle, low] = std::process::id().to_be_bytes();
    format!("127.{}.{middle}.{low}", 10 + high)
}

/// A probe whose first failure counts.
pub(crate) fn rule(target: ProbeTarget) -> ProbeRule {
    ProbeRule {
        target,
        interval: Some(1),
        timeout: Some(30),
        successes: None,
        failures: Some(1),
        delay: None,
        action: None,
    }
}

fn exec(command: String) -> ProbeRule {
    rule(ProbeTarget::Exec(command))
}

fn tcp() -> ProbeRule {
    rule(ProbeTarget::Tcp(TcpTarget {
        port: PORT,
        host: Some(host()),
    }))
}

fn http(status: &[&str], body: Option<&str>) -> ProbeRule {
    rule(ProbeTarget::Http(HttpTarget {
        port: PORT,
        path: "/healthz".into(),
        host: Some(host()),
        status: status
            .iter()
            .map(|text| StatusCodes::parse(text).unwrap())
            .collect(),
        body: body.map(str::to_owned),
    }))
}

/// A daemon that listens while the file `serve` exists.
fn server(home: &Home, ready: ProbeRule) -> Spec {
    let options = format!(
        "--daemon --pid-file %/pid --serve {}:{PORT} %/serve",
        host()
    );
    let mut spec = home.spec(&options);
    spec.monitor_policy.op_timeout = 60;
    spec.probes.ready = Some(ready);
    spec
}

/// Replaces the answer of the server at once.
fn serve(home: &Home, answer: &str) {
    std::fs::write(home.path("serve.part"), answer).unwrap();
    std::fs::rename(home.path("serve.part"), home.path("serve")).unwrap();
}

fn is_ready(status: &Status) -> bool {
    status.process_state == ProcessState::Ready
}

fn event_of(supervisor: &mut TestSupervisor, kind: EventKind) -> String {
    until(kind.as_str(), || {
        supervisor.listen();
        let mut events = supervisor.events.iter();
        events.find(|(_, event)| event.kind == kind).cloned()
    })
    .1
    .reason
}

/// Starts a process that is not ready, makes it ready, and returns why it was not.
fn becomes_ready(ready: ProbeRule, before: Option<&str>, then: &str) -> String {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    if let Some(answer) = before {
        serve(&home, answer);
    }
    supervisor.hold(server(&home, ready));
    let start = supervisor.begin(1, Op::Start);
    let waiting = supervisor.status_where("a probe that failed", |status| {
        let result = status.probes.ready.as_ref();
        status.process_state == ProcessState::Starting && result.is_some_and(|result| !result.ok)
    });
    assert!(!supervisor.outcomes.contains_key(&start), "it waits");
    serve(&home, then);
    let outcome = supervisor.end_of(start);
    assert_eq!((outcome.code, &*outcome.message), (Code::OK, "success"));
    let status = supervisor.status_where("ready", is_ready);
    assert_eq!((status.pid, &*status.message), (home.pid(), ""));
    assert!(status.probes.ready.unwrap().ok);
    assert_eq!(supervisor.events, [], "its operation says it all");
    assert_eq!(
        waiting.message,
        format!(
            "not ready: {}",
            waiting.probes.ready.clone().unwrap().message
        )
    );
    waiting.probes.ready.unwrap().message
}

#[test]
fn a_start_ends_when_the_port_is_open() {
    let why = becomes_ready(tcp(), None, "200\n");
    assert_eq!(why, format!("{}:{PORT}: connection refused", host()));
}

#[test]
fn a_start_ends_when_the_status_is_right() {
    let why = becomes_ready(http(&[], None), Some("503\n"), "204\n");
    let url = format!("GET http://{}:{PORT}/healthz", host());
    assert_eq!(why, format!("{url}: status 503"));
}

#[test]
fn a_start_ends_when_the_body_is_right() {
    let ready = http(&["200"], Some("all set"));
    let why = becomes_ready(ready, Some("200\nnot set"), "200\n{\"is\": \"all set\"}");
    assert!(
        why.ends_with("the body does not contain \"all set\""),
        "{why}"
    );
}

#[test]
fn a_start_ends_when_the_command_succeeds() {
    // In the setup path, beside the folder of the file.
    let command = "test -e ../serve || { echo not yet; exit 3; }".to_owned();
    let why = becomes_ready(exec(command), None, "200\n");
    assert_eq!(why, "exited with code 3: not yet");
}

#[test]
fn a_start_that_is_never_ready_says_so_and_leaves_its_process() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = server(&home, tcp());
    spec.monitor_policy.op_timeout = 2;
    supervisor.hold(spec);
    let outcome = supervisor.operate(1, Op::Start);
    let pid = home.pid();
    assert_eq!(outcome.code, Code::CHECK_FAILED);
    let expected = format!(
        "start process (odd) failed: it runs as pid {pid}, but was not ready after 2 s (op_timeout): {}:{PORT}: connection refused",
        host()
    );
    assert_eq!(outcome.message, expected);
    assert_eq!((outcome.flag, outcome.managed), (Some(Flag::Running), None));
    let status = supervisor.status_where("running", |status| {
        status.process_state == ProcessState::Running
    });
    let why = format!("not ready: {}:{PORT}: connection refused", host());
    assert_eq!((status.pid, status.message), (pid, why));
    assert!(is_alive(pid));

    serve(&home, "200\n");
    let status = supervisor.status_where("ready", is_ready);
    assert_eq!((status.pid, &*status.message), (pid, ""));
    let said = event_of(&mut supervisor, EventKind::ProcessReady);
    assert_eq!(said, "ready: probes.ready succeeds again");
}

#[test]
fn a_process_that_is_not_ready_any_more_comes_back() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    serve(&home, "200\n");
    supervisor.hold(server(&home, http(&["200"], None)));
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.status_where("ready", is_ready).pid;

    serve(&home, "500\n");
    let status = supervisor.status_where("not ready", |status| !is_ready(status));
    assert_eq!(status.process_state, ProcessState::Running);
    assert!(status.message.ends_with("status 500"), "{status:?}");
    let said = event_of(&mut supervisor, EventKind::ProcessNotReady);
    assert!(
        said.starts_with("not ready: probes.ready failed 1 times in a row: GET http://"),
        "{said}"
    );
    serve(&home, "200\n");
    supervisor.status_where("ready again", is_ready);
    event_of(&mut supervisor, EventKind::ProcessReady);
    assert_eq!((home.pid(), supervisor.events.len()), (pid, 2));
}

#[test]
fn a_process_that_is_not_ready_any_more_is_restarted_if_its_rule_says_so() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut ready = http(&["200"], None);
    ready.action = Some(ProbeAction::Restart);
    serve(&home, "200\n");
    supervisor.hold(server(&home, ready));
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.status_where("ready", is_ready).pid;
    serve(&home, "500\n");
    event_of(&mut supervisor, EventKind::ProcessNotReady);
    serve(&home, "200\n");
    let pid_then = supervisor.next_run(&home, pid);
    supervisor.status_where("ready again", |status| {
        is_ready(status) && status.pid == pid_then
    });
    event_of(&mut supervisor, EventKind::ProcessRestartSuccess);
}

#[test]
fn a_process_whose_live_probe_fails_is_restarted() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    let well = home.file("well");
    let mut live = exec(format!("echo sick; test -e {well}"));
    live.failures = Some(2);
    spec.probes = Probes {
        ready: None,
        live: Some(live),
    }
    .into();
    std::fs::write(&well, "").unwrap();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let status = supervisor.status_where("a result", |status| status.probes.live.is_some());
    assert_eq!(
        status.process_state,
        ProcessState::Running,
        "no ready probe"
    );
    std::fs::remove_file(&well).unwrap();
    let reason = event_of(&mut supervisor, EventKind::ProcessUnhealthy);
    std::fs::write(&well, "").unwrap();
    let expected = "unhealthy: probes.live failed 2 times in a row: exited with code 1: sick";
    assert_eq!(reason, expected);
    supervisor.next_run(&home, status.pid);
    let said = event_of(&mut supervisor, EventKind::ProcessRestartSuccess);
    assert_eq!(said, format!("restarted by attempt 1; before: {expected}"));
}

#[test]
fn a_live_probe_that_only_tells_restarts_nothing() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    let mut live = exec("exit 1".to_owned());
    live.action = Some(ProbeAction::Event);
    spec.probes.live = Some(live);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    event_of(&mut supervisor, EventKind::ProcessUnhealthy);
    let status = supervisor.status_where("unhealthy", |status| {
        status.process_state == ProcessState::Unhealthy
    });
    assert_eq!(status.pid, home.pid());
    assert_eq!(supervisor.events.len(), 1);
}

#[test]
fn a_restarted_agent_knows_what_is_ready_and_tells_nothing_twice() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    serve(&home, "200\n");
    supervisor.hold(server(&home, tcp()));
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.status_where("ready", is_ready).pid;
    supervisor.stop();

    let mut supervisor = home.supervisor();
    let status = supervisor.status_where("a probe", |status| status.probes.ready.is_some());
    assert_eq!(status.pid, pid);
    assert!(
        supervisor.history.iter().all(is_ready),
        "from the first status on"
    );
    assert_eq!(supervisor.events, []);
    supervisor.succeed(2, Op::Stop);
}

#[test]
fn a_start_that_waits_goes_on_after_a_restart_of_the_agent() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(server(&home, tcp()));
    let start = supervisor.begin(1, Op::Start);
    supervisor.status_where("a probe", |status| status.probes.ready.is_some());
    supervisor.stop();

    let (mut supervisor, recovered) = home.supervisor_with(crate::harness::options());
    assert_eq!(recovered.under_way, [start]);
    supervisor.status_where("starting", |status| {
        status.process_state == ProcessState::Starting && status.pid == home.pid()
    });
    serve(&home, "200\n");
    assert_eq!(supervisor.end_of(start).code, Code::OK);
    supervisor.status_where("ready", is_ready);
}

#[test]
fn a_stop_does_not_wait_for_a_start_that_waits() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(server(&home, tcp()));
    let start = supervisor.begin(1, Op::Start);
    supervisor.status_where("a probe", |status| status.probes.ready.is_some());
    let pid = home.pid();
    supervisor.succeed(2, Op::Stop);
    let outcome = supervisor.end_of(start);
    assert_eq!(outcome.code, Code::CHECK_FAILED);
    let said = ", when the operation stop came: ";
    assert!(outcome.message.contains(said), "{outcome:?}");
    assert_eq!(supervisor.ends.first(), Some(&start));
    assert!(!is_alive(pid));
}

#[test]
fn a_process_without_its_probe_any_more_is_running() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    serve(&home, "200\n");
    let spec = server(&home, tcp());
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    supervisor.status_where("ready", is_ready);
    let plain = Spec {
        probes: Probes::default().into(),
        ..spec.clone()
    };
    supervisor.hold_as(&name(), plain, Flag::Running, true);
    let status = supervisor.status_where("running", |status| {
        status.process_state == ProcessState::Running
    });
    assert!(status.probes.is_empty(), "{status:?}");
    supervisor.hold_as(&name(), spec, Flag::Running, true);
    supervisor.status_where("ready again", is_ready);
    assert_eq!(supervisor.events, []);
}
