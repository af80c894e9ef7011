//! What the supervisor says of what it holds, and the output that it opens.

use model::held::HeldReport;
use model::operation::Op;
use model::{Flag, FullName};
use supervisor::{FileChange, Log, LogError, LogRequest, ReadUntil, Request};
use tokio::sync::oneshot;

use crate::keeper::{Home, Keeper, name, wait_for};

fn held(keeper: &Keeper) -> HeldReport {
    let (answer, report) = oneshot::channel();
    keeper.ask(Request::Held(answer));
    report.blocking_recv().unwrap()
}

fn log_of(keeper: &Keeper, process: &FullName, until: ReadUntil) -> Result<Log, LogError> {
    let (answer, log) = oneshot::channel();
    let wanted = LogRequest {
        process: process.clone(),
        tail_lines: 100,
        until,
    };
    keeper.ask(Request::Logs(wanted, answer));
    log.blocking_recv().unwrap()
}

fn text(log: &mut Log) -> String {
    String::from_utf8(log.read(64 * 1024).unwrap()).unwrap()
}

#[test]
fn what_is_held_is_told_with_its_run() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold_as(&name(), home.daemon(), Flag::Stopped, false);
    let report = held(&keeper);
    assert_eq!(report.processes.len(), 1);
    let process = &report.processes[0];
    assert_eq!((process.incarnation, process.definition_hash), (1, 5));
    assert_eq!((process.flag, process.managed), (Flag::Stopped, false));
    assert_eq!((process.phase.as_str(), process.run), ("down", None));
    assert!(report.foreign.is_empty(), "{report:?}");

    keeper.succeed(1, Op::Start);
    let report = held(&keeper);
    let process = &report.processes[0];
    assert_eq!((process.flag, process.managed), (Flag::Running, true));
    assert_eq!(process.phase, "up");
    assert_eq!(process.run.unwrap().pid, home.pid());
    assert!(process.run.unwrap().started_at.0 > 0);
    assert!(report.foreign.is_empty(), "{report:?}");
}

#[test]
fn an_operation_under_way_is_told() {
    let home = Home::new();
    let keeper = home.keeper();
    let mut spec = home.daemon();
    spec.control.start_cmd = "sleep 600".to_owned();
    spec.monitor_policy.start_check_secs = 60;
    keeper.hold(spec);
    let id = keeper.begin(1, Op::Start);
    let process = wait_for("the operation", || {
        let process = held(&keeper).processes.remove(0);
        (process.phase == "start under way").then_some(process)
    });
    assert_eq!(process.operations, [id]);
}

#[test]
fn a_stranger_behind_the_pid_file_is_told() {
    let home = Home::new();
    let keeper = home.keeper();
    let mut stranger = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    std::fs::write(home.path("pid"), stranger.id().to_string()).unwrap();
    keeper.hold_as(&name(), home.daemon(), Flag::Stopped, false);
    let report = held(&keeper);
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
        held(&keeper).foreign.is_empty(),
        "the dead are no strangers"
    );
}

#[test]
fn a_foreground_program_without_a_log_is_read_from_its_spool() {
    let home = Home::new();
    let mut keeper = home.keeper();
    keeper.hold(home.spec("--print first --print second --stay"));
    assert_eq!(
        log_of(&keeper, &name(), ReadUntil::CurrentEnd).unwrap_err(),
        LogError::Unavailable(
            "test/odd has no log_path and does not run, so nothing of its output is kept".into()
        )
    );
    keeper.succeed(1, Op::Start);
    let mut log = log_of(&keeper, &name(), ReadUntil::CurrentEnd).unwrap();
    assert_eq!(text(&mut log), "first\nsecond\n");
    // With the run its spool goes.
    keeper.succeed(2, Op::Stop);
    let mut log = wait_for("the spool to go", || {
        (log.follow_writer().unwrap() == FileChange::Removed).then_some(log_of(
            &keeper,
            &name(),
            ReadUntil::CurrentEnd,
        ))
    });
    assert!(matches!(&mut log, Err(LogError::Unavailable(_))), "{log:?}");
}

#[test]
fn a_log_is_followed_through_rotation() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--print hello --stay");
    spec.identity.log_path = format!("{}/", home.file("logs"));
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let path = home.path("logs/odd.log");
    let mut log = log_of(&keeper, &name(), ReadUntil::Cancelled).unwrap();
    assert_eq!(text(&mut log), "hello\n");
    std::fs::rename(&path, home.path("logs/odd.log.1")).unwrap();
    std::fs::write(&path, "rotated\n").unwrap();
    assert_eq!(log.follow_writer().unwrap(), FileChange::Restarted);
    assert_eq!(text(&mut log), "rotated\n");
    // It is there after the run, too.
    keeper.succeed(2, Op::Stop);
    let mut log = log_of(&keeper, &name(), ReadUntil::CurrentEnd).unwrap();
    assert_eq!(text(&mut log), "rotated\n");
}

#[test]
fn what_is_not_held_has_no_log() {
    let home = Home::new();
    let keeper = home.keeper();
    let stranger: FullName = "test/nobody".parse().unwrap();
    let error = log_of(&keeper, &stranger, ReadUntil::CurrentEnd).unwrap_err();
    assert_eq!(error, LogError::NotHeld(stranger));
}

/// Only root can take the rights of somebody else.
#[test]
fn a_log_is_opened_with_the_rights_of_its_user() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let home = Home::new();
    home.open_to_all();
    let keeper = home.keeper();
    let mut spec = home.spec("--stay");
    spec.identity.user = "nobody".into();
    spec.identity.log_path = home.file("work/log");
    let secret = home.path("secret");
    std::fs::write(&secret, "root's own\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&secret, mode).unwrap();
    std::os::unix::fs::symlink(&secret, home.path("work/log")).unwrap();
    keeper.hold(spec);
    let error = log_of(&keeper, &name(), ReadUntil::CurrentEnd).unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
}
