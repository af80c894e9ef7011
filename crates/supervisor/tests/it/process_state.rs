//! The state that the native API shows, with restarts, last exit, health and "restart needed".

use std::time::Duration;

use model::operation::Op;
use model::spec::AutoType;
use model::status::Exit;
use model::{Code, ProcessState, Status, UnixMillis};
use supervisor::ControlGroups;

use crate::harness::{Home, TestSupervisor, is_alive, kill, until, with_and_without_groups};

with_and_without_groups!(
    a_wrong_proc_name_ends_the_start_at_once,
    a_daemon_that_writes_its_pid_file_late_is_waited_for,
);

fn in_state(supervisor: &mut TestSupervisor, state: ProcessState) -> Status {
    supervisor.status_where(state.as_str(), |status| status.process_state == state)
}

#[test]
fn a_crashed_process_waits_and_is_restarted_until_the_agent_gives_up() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--daemon --pid-file %/pid");
    spec.monitor_policy.start_interval = 1000;
    spec.monitor_policy.start_retries = 1;
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    let running = in_state(&mut supervisor, ProcessState::Running);
    assert_eq!((running.restarts, running.last_exit), (0, None));
    kill(running.pid, libc::SIGKILL);
    let waits = in_state(&mut supervisor, ProcessState::Backoff);
    let last = waits.last_exit.unwrap();
    assert_eq!((last.exit, last.oom), (Exit::Signal(9), false));
    let wait_ms = waits.next_at.millis_since(last.at);
    assert!((900_000..=1_000_000).contains(&wait_ms), "{waits:?}");
    // The same after a restart of the agent.
    supervisor.stop();
    let mut supervisor = home.supervisor();
    let again = in_state(&mut supervisor, ProcessState::Backoff);
    assert_eq!(
        (again.next_at, again.last_exit),
        (waits.next_at, Some(last))
    );
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec.clone());
    supervisor.succeed(2, Op::Start);
    let first = in_state(&mut supervisor, ProcessState::Running);
    kill(first.pid, libc::SIGKILL);
    let second = supervisor.status_where("restarted", |status| {
        status.process_state == ProcessState::Running && status.restarts == 1
    });
    assert_eq!(second.next_at, UnixMillis::NEVER);
    kill(second.pid, libc::SIGKILL);
    let failed = in_state(&mut supervisor, ProcessState::Failed);
    assert_eq!((failed.pid, failed.restarts), (-1, 1));
    supervisor.operate(3, Op::Stop);
    in_state(&mut supervisor, ProcessState::Stopped);
}

#[test]
fn one_shot_and_periodic_programs_have_states_of_their_own() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--exit 0");
    spec.monitor_policy.auto_type = AutoType::OneShot;
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    let done = in_state(&mut supervisor, ProcessState::Completed);
    assert_eq!(done.last_exit.unwrap().exit, Exit::Code(0));
    spec.control.start_cmd = spec.control.start_cmd.replace("--exit 0", "--exit 7");
    supervisor.hold(spec.clone());
    assert_eq!(supervisor.operate(2, Op::Start).code, Code::COMMAND_FAILED);
    let failed = in_state(&mut supervisor, ProcessState::Failed);
    assert_eq!(failed.last_exit.unwrap().exit, Exit::Code(7));
    spec.monitor_policy.auto_type = AutoType::Periodic;
    spec.monitor_policy.crontab_rule = "0 0 29 2 *".into();
    supervisor.hold(spec);
    supervisor.succeed(3, Op::Manage);
    let waits = in_state(&mut supervisor, ProcessState::Scheduled);
    assert!(waits.next_at > waits.reported_at, "{waits:?}");
    supervisor.succeed(4, Op::Unmanage);
    let rests = in_state(&mut supervisor, ProcessState::Stopped);
    assert_eq!(rests.next_at, UnixMillis::NEVER);
}

#[test]
fn the_result_of_a_health_check_is_reported_with_its_time() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.control.health_cmd = format!(
        "test ! -e {} || {{ echo no database; exit 3; }}",
        home.file("ill")
    );
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let well = supervisor.status_where("checked", |status| status.health.is_some());
    let health = well.health.unwrap();
    assert!(health.ok && health.message.is_empty() && health.checked_at > UnixMillis::NEVER);
    supervisor.succeed(2, Op::Unmanage);
    std::fs::write(home.path("ill"), "").unwrap();
    let ill = in_state(&mut supervisor, ProcessState::Unhealthy);
    let health = ill.health.unwrap();
    assert!(!health.ok);
    assert_eq!(health.message, "exited with code 3: no database");
    supervisor.status_where("checked again", |status| {
        let again = status.health.as_ref();
        again.is_some_and(|again| again.checked_at > health.checked_at)
    });
    std::fs::remove_file(home.path("ill")).unwrap();
    in_state(&mut supervisor, ProcessState::Running);
    supervisor.succeed(3, Op::Stop);
    let stopped = in_state(&mut supervisor, ProcessState::Stopped);
    assert_eq!(stopped.health, None);
}

#[test]
fn a_run_with_an_older_spec_needs_a_restart() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let spec = home.daemon();
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    assert!(!supervisor.running().restart_needed);
    // Applied to the run at once.
    let mut other = spec.clone();
    other.control.stop_cmd = format!("kill $(cat {})", home.file("pid"));
    other.resource.mem = 90.0;
    supervisor.hold(other.clone());
    assert_eq!(supervisor.operate(2, Op::Start).code, Code::ALREADY_RUNNING);
    assert!(!supervisor.running().restart_needed);
    other.runtime.env.insert("MODE".into(), "fast".into());
    supervisor.hold(other.clone());
    supervisor.status_where("restart needed", |status| status.restart_needed);
    supervisor.stop();
    let mut supervisor = home.supervisor();
    supervisor.status_where("still needed", |status| status.restart_needed);
    // The old spec is what it runs with.
    supervisor.hold(spec);
    supervisor.status_where("not needed", |status| !status.restart_needed);
    supervisor.hold(other);
    supervisor.status_where("needed again", |status| status.restart_needed);
    supervisor.succeed(3, Op::Restart);
    supervisor.status_where("restarted", |status| {
        status.process_state == ProcessState::Running && !status.restart_needed
    });
}

#[test]
fn an_adopted_run_needs_a_restart_after_the_next_change() {
    let home = Home::new();
    let spec = home.daemon();
    let started = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .status();
    assert!(started.unwrap().success());
    until("its pid file", || home.path("pid").exists().then_some(()));
    let mut supervisor = home.supervisor();
    supervisor.hold(spec.clone());
    assert!(!supervisor.running().restart_needed);
    let mut other = spec;
    other.runtime.nice = Some(3);
    supervisor.hold(other);
    supervisor.status_where("restart needed", |status| status.restart_needed);
    supervisor.stop();
    let mut supervisor = home.supervisor();
    supervisor.status_where("still needed", |status| status.restart_needed);
}

#[test]
fn the_headline_of_a_failed_start_names_the_error() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec(
        "--print 'reading the configuration' --complain 'Error: port 80 is taken' --print 'see the manual' --exit 3",
    ));
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, Code::COMMAND_FAILED);
    assert_eq!(outcome.headline.as_deref(), Some("Error: port 80 is taken"));
    assert!(outcome.message.starts_with("reading the configuration\n"));
    let failed = in_state(&mut supervisor, ProcessState::Failed);
    assert!(
        failed.message.ends_with("Error: port 80 is taken"),
        "{}",
        failed.message
    );
}

fn a_wrong_proc_name_ends_the_start_at_once(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.identity.proc_name = "odd-chilt".into();
    // Longer than any test may take.
    spec.monitor_policy.op_timeout = 3600;
    supervisor.hold(spec);
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, Code::CHECK_FAILED);
    let said = "which is odd-child and not odd-chilt (proc_name), and was killed";
    assert!(outcome.message.ends_with(said), "{}", outcome.message);
    let pid = home.pid();
    until("it is killed", || (!is_alive(pid)).then_some(()));
    in_state(&mut supervisor, ProcessState::Failed);
}

fn a_daemon_that_writes_its_pid_file_late_is_waited_for(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--daemon --await %/go --pid-file %/pid"));
    let id = supervisor.begin(1, Op::Start);
    // Longer than a wrong name is waited for.
    let began = std::time::Instant::now();
    until("two seconds", || {
        supervisor.listen();
        assert_eq!(supervisor.outcomes.get(&id), None);
        (began.elapsed() > Duration::from_secs(2)).then_some(())
    });
    let starting = in_state(&mut supervisor, ProcessState::Starting);
    assert_eq!(starting.pid, -1);
    std::fs::write(home.path("go"), "").unwrap();
    assert_eq!(supervisor.end_of(id).code, Code::OK);
    in_state(&mut supervisor, ProcessState::Running);
}
