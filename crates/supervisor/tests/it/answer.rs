//! The held report, and logs that the supervisor opens.

use model::held::HeldReport;
use model::operation::Op;
use model::{Flag, FullName};
use supervisor::{FileChange, Log, LogError, LogRequest, ReadUntil, Request};
use tokio::sync::oneshot;

use crate::harness::{Home, TestSupervisor, name, runs_as_root, until};
use crate::kept_output::{self, text};

fn held(supervisor: &TestSupervisor) -> HeldReport {
    let (answer, report) = oneshot::channel();
    supervisor.ask(Request::Held(answer));
    report.blocking_recv().unwrap()
}

fn log_of(
    supervisor: &TestSupervisor,
    process: &FullName,
    until: ReadUntil,
) -> Result<Log, LogError> {
    let wanted = LogRequest {
        process: process.clone(),
        until,
        ..kept_output::all()
    };
    kept_output::open(supervisor, wanted)
}

#[test]
fn the_held_report_names_processes_and_runs() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold_as(&name(), home.daemon(), Flag::Stopped, false);
    let report = held(&supervisor);
    assert_eq!(report.processes.len(), 1);
    let process = &report.processes[0];
    assert_eq!((process.incarnation, process.definition_hash), (1, 5));
    assert_eq!((process.flag, process.managed), (Flag::Stopped, false));
    assert_eq!((process.phase.as_str(), process.run), ("down", None));
    assert!(report.foreign.is_empty(), "{report:?}");

    supervisor.succeed(1, Op::Start);
    let report = held(&supervisor);
    let process = &report.processes[0];
    assert_eq!((process.flag, process.managed), (Flag::Running, true));
    assert_eq!(process.phase, "up");
    assert_eq!(process.run.unwrap().pid, home.pid());
    assert!(process.run.unwrap().started_at.0 > 0);
    assert!(report.foreign.is_empty(), "{report:?}");
}

#[test]
fn the_held_report_names_operations_under_way() {
    let home = Home::new();
    let supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.control.start_cmd = "sleep 600".to_owned();
    spec.monitor_policy.start_check_secs = 60;
    supervisor.hold(spec);
    let id = supervisor.begin(1, Op::Start);
    let process = until("the operation", || {
        let process = held(&supervisor).processes.remove(0);
        (process.phase == "start in progress").then_some(process)
    });
    assert_eq!(process.operations, [id]);
}

#[test]
fn the_held_report_names_a_foreign_process_in_the_pid_file() {
    let home = Home::new();
    let supervisor = home.supervisor();
    let mut stranger = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    std::fs::write(home.path("pid"), stranger.id().to_string()).unwrap();
    supervisor.hold_as(&name(), home.daemon(), Flag::Stopped, false);
    let report = held(&supervisor);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    let [foreign] = report.foreign.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!(foreign.pid, stranger.id() as i32);
    assert_eq!(foreign.program, "sleep");
    assert_eq!(foreign.pid_path, home.file("pid"));
    assert!(!foreign.user.is_empty());
    assert_eq!(report.processes[0].run, None);
    assert!(
        held(&supervisor).foreign.is_empty(),
        "the dead are no strangers"
    );
}

#[test]
fn a_log_is_followed_through_rotation() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print hello --stay");
    spec.identity.log_path = format!("{}/", home.file("logs"));
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let path = home.path("logs/odd.log");
    let mut log = log_of(&supervisor, &name(), ReadUntil::Cancelled).unwrap();
    assert_eq!(text(&mut log), "hello\n");
    std::fs::rename(&path, home.path("logs/odd.log.1")).unwrap();
    std::fs::write(&path, "rotated\n").unwrap();
    assert_eq!(log.follow_writer().unwrap(), FileChange::Restarted);
    assert_eq!(text(&mut log), "rotated\n");
    // The log stays after the run.
    supervisor.succeed(2, Op::Stop);
    let mut log = log_of(&supervisor, &name(), ReadUntil::CurrentEnd).unwrap();
    assert_eq!(text(&mut log), "rotated\n");
}

#[test]
fn a_process_that_is_not_held_has_no_log() {
    let home = Home::new();
    let supervisor = home.supervisor();
    let stranger: FullName = "test/nobody".parse().unwrap();
    let error = log_of(&supervisor, &stranger, ReadUntil::CurrentEnd).unwrap_err();
    assert_eq!(error, LogError::NotHeld(stranger));
}

#[test]
fn a_log_is_opened_with_the_rights_of_its_user() {
    if !runs_as_root() {
        return;
    }
    let home = Home::new();
    home.open_to_all();
    let supervisor = home.supervisor();
    let mut spec = home.spec("--stay");
    spec.identity.user = "nobody".into();
    spec.identity.log_path = home.file("work/log");
    let secret = home.path("secret");
    std::fs::write(&secret, "root's own\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&secret, mode).unwrap();
    std::os::unix::fs::symlink(&secret, home.path("work/log")).unwrap();
    supervisor.hold(spec);
    let error = log_of(&supervisor, &name(), ReadUntil::CurrentEnd).unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
}

#[test]
fn figures_of_the_last_hour_are_kept_for_processes_that_ran() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold_as(&name(), home.daemon(), Flag::Stopped, false);
    let figures = |supervisor: &TestSupervisor, process: &FullName| {
        let (answer, figures) = oneshot::channel();
        supervisor.ask(Request::Figures(process.clone(), answer));
        figures.blocking_recv().unwrap()
    };
    let empty = model::figures::FigureSeries::empty();
    assert_eq!(figures(&supervisor, &name()), Some(empty));
    assert_eq!(figures(&supervisor, &"no/such".parse().unwrap()), None);
    supervisor.succeed(1, Op::Start);
    until("it is sampled", || {
        let series = figures(&supervisor, &name()).unwrap();
        assert_eq!(series.fd.len(), model::figures::N_STEPS);
        let is_sampled = |fd: &Option<u32>| fd.is_some_and(|fd| fd > 0);
        series.fd.iter().any(is_sampled).then_some(())
    });
}
