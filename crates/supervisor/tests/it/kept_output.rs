//! The output of the last runs, which the agent keeps: after the run, after a failed start, after the agent.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::operation::Op;
use model::{Code, Flag, FullName, LinePattern, ProcessState, Spec, Status, UnixMillis};
use supervisor::{
    FileChange, Log, LogError, LogRead, LogRequest, ReadUntil, Registration, Request, WhichRun,
};
use tokio::sync::oneshot;

use crate::harness::{Home, TestSupervisor, is_alive, kill, name, options, until};

pub(crate) fn all() -> LogRequest {
    LogRequest {
        process: name(),
        run: WhichRun::Current,
        since: None,
        pattern: None,
        tail_lines: 1000,
        until: ReadUntil::CurrentEnd,
        after_run: None,
    }
}

fn previous() -> LogRequest {
    LogRequest {
        run: WhichRun::Previous,
        ..all()
    }
}

pub(crate) fn open(supervisor: &TestSupervisor, wanted: LogRequest) -> Result<Log, LogError> {
    let (answer, log) = oneshot::channel();
    supervisor.ask(Request::Logs(wanted, answer));
    log.blocking_recv().unwrap()
}

pub(crate) fn text(log: &mut Log) -> String {
    let mut all = Vec::new();
    loop {
        match log.read(64 * 1024).unwrap() {
            LogRead::Bytes(bytes) => all.extend(bytes),
            LogRead::Skipped => {}
            LogRead::End => return String::from_utf8(all).unwrap(),
        }
    }
}

#[track_caller]
fn shown(supervisor: &TestSupervisor, wanted: LogRequest) -> String {
    text(&mut open(supervisor, wanted).unwrap())
}

#[track_caller]
fn refused(supervisor: &TestSupervisor, wanted: LogRequest) -> String {
    open(supervisor, wanted).unwrap_err().to_string()
}

/// A process that is not restarted by the agent.
fn once(home: &Home, options: &str) -> Spec {
    let mut spec = home.spec(options);
    spec.monitor_policy.auto_type = model::spec::AutoType::OneShot;
    spec
}

/// The files that are kept of all processes.
fn files(home: &Home) -> Vec<PathBuf> {
    let entries = |path: &Path| {
        let entries = std::fs::read_dir(path).unwrap().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let folders = entries(&home.path("agent/runs"));
    let files = folders.iter().flat_map(|folder| entries(folder));
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_none_or(|end| end != "times"))
        .filter(|file| file.file_name().is_none_or(|name| name != "ends"))
        .collect();
    files.sort();
    files
}

fn bytes_on_disk(home: &Home) -> u64 {
    let sizes = files(home)
        .into_iter()
        .filter_map(|file| Some(std::fs::metadata(file).ok()?.blocks() * 512));
    sizes.sum()
}

#[test]
fn the_output_of_a_run_is_kept_after_its_end_and_after_the_agent() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--print first --complain second --stay"));
    assert_eq!(
        refused(&supervisor, all()),
        "this agent has not started test/odd yet"
    );
    supervisor.succeed(1, Op::Start);
    assert_eq!(shown(&supervisor, all()), "first\nsecond\n");
    supervisor.succeed(2, Op::Stop);
    assert_eq!(shown(&supervisor, all()), "first\nsecond\n");
    let alone = refused(&supervisor, previous());
    assert!(
        alone.starts_with("no run of test/odd before the one that began at 20"),
        "{alone}"
    );
    supervisor.stop();
    let (supervisor, _) = home.supervisor_with(options());
    assert_eq!(shown(&supervisor, all()), "first\nsecond\n");
}

#[test]
fn the_output_of_a_crash_is_that_of_the_previous_run() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--count %/count --await %/go --print out --stay"));
    supervisor.begin(1, Op::Start);
    std::fs::write(home.path("go"), "").unwrap();
    let is_up = |status: &Status| status.process_state == ProcessState::Running;
    let pid = supervisor.status_where("the end of its start", is_up).pid;
    until("its output", || {
        (shown(&supervisor, all()) == "out\n").then_some(())
    });
    std::fs::remove_file(home.path("go")).unwrap();
    kill(pid, libc::SIGKILL);
    let next = supervisor.next_run(&home, pid);
    assert_eq!(shown(&supervisor, all()), "", "the new run is silent yet");
    assert_eq!(shown(&supervisor, previous()), "out\n");
    // What the last minute brought, of both.
    std::fs::write(home.path("go"), "").unwrap();
    let since = LogRequest {
        since: Some(Duration::from_secs(60)),
        ..all()
    };
    until("both", || {
        (shown(&supervisor, since.clone()) == "out\nout\n").then_some(())
    });
    assert!(is_alive(next));
}

#[test]
fn only_the_last_runs_are_kept() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    for number in 1..=5 {
        supervisor.hold(once(&home, &format!("--print run-{number} --exit 0")));
        supervisor.succeed(number, Op::Start);
        supervisor.stopped();
    }
    assert_eq!(files(&home).len(), 3);
    assert_eq!(shown(&supervisor, all()), "run-5\n");
    assert_eq!(shown(&supervisor, previous()), "run-4\n");
    let since = |secs| LogRequest {
        since: Some(Duration::from_secs(secs)),
        ..all()
    };
    assert_eq!(shown(&supervisor, since(600)), "run-3\nrun-4\nrun-5\n");
    // A run that has written nothing for that long.
    let old = std::fs::File::options()
        .write(true)
        .open(&files(&home)[0])
        .unwrap();
    let an_hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    old.set_modified(an_hour_ago).unwrap();
    assert_eq!(shown(&supervisor, since(600)), "run-4\nrun-5\n");
    assert_eq!(shown(&supervisor, since(7200)), "run-3\nrun-4\nrun-5\n");
    let two = LogRequest {
        tail_lines: 2,
        ..since(7200)
    };
    assert_eq!(shown(&supervisor, two), "run-4\nrun-5\n");
    let matching = LogRequest {
        pattern: Some(LinePattern::parse("run-[35]").unwrap()),
        ..since(7200)
    };
    assert_eq!(shown(&supervisor, matching), "run-3\nrun-5\n");
}

#[test]
fn the_output_of_a_failed_start_is_kept() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--complain cannot-bind --exit 3"));
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, Code::COMMAND_FAILED);
    assert_eq!(shown(&supervisor, all()), "cannot-bind\n");
}

#[test]
fn what_a_daemons_start_command_wrote_is_kept_and_what_the_daemon_writes_is_bounded() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    let daemon = spec.control.start_cmd.clone();
    spec.control.start_cmd = format!(
        "echo launching; {daemon} --await {} --flood",
        home.file("go")
    );
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    assert_eq!(shown(&supervisor, all()), "launching\n");
    // It has inherited the output of its start command.
    std::fs::write(home.path("go"), "").unwrap();
    until("much output", || {
        let file = files(&home).pop()?;
        (std::fs::metadata(file).unwrap().len() > 64 << 20).then_some(())
    });
    until("less on disk", || {
        (bytes_on_disk(&home) < 32 << 20).then_some(())
    });
    supervisor.succeed(2, Op::Kill);
    until("little on disk", || {
        (bytes_on_disk(&home) <= 1 << 20).then_some(())
    });
}

#[test]
fn a_flood_is_kept_to_its_last_part_and_goes_with_the_process() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--flood"));
    let ran = supervisor.succeed(1, Op::Start).ran.unwrap();
    assert_eq!(ran.output.len(), 64 * 1024);
    until("the flood", || {
        let file = files(&home).pop()?;
        (std::fs::metadata(file).unwrap().len() > 64 << 20).then_some(())
    });
    until("the flood to be cut", || {
        (bytes_on_disk(&home) < 32 << 20).then_some(())
    });
    supervisor.succeed(2, Op::Kill);
    until("the rest to be cut", || {
        (bytes_on_disk(&home) <= 1 << 20).then_some(())
    });
    let left = shown(&supervisor, all());
    assert!(left.len() >= 256 << 10, "{}", left.len());
    assert!(left.bytes().all(|byte| byte == b'x'));
    supervisor.ask(Request::Forget(name()));
    until("nothing left", || {
        let mut folders = std::fs::read_dir(home.path("agent/runs")).unwrap();
        folders.next().is_none().then_some(())
    });
}

#[test]
fn a_process_that_is_registered_anew_begins_without_output() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let spec = home.spec("--print hello --stay");
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    let anew = |incarnation| {
        Request::Hold(Registration {
            name: name(),
            incarnation,
            spec: Arc::new(spec.clone()),
            labels: Default::default(),
            definition_hash: 5,
            flag: Flag::Running,
            managed: false,
            registered_at: UnixMillis(1),
        })
    };
    supervisor.ask(anew(2));
    assert_eq!(shown(&supervisor, all()), "hello\n", "it runs");
    supervisor.succeed(2, Op::Stop);
    supervisor.ask(anew(3));
    assert_eq!(
        refused(&supervisor, all()),
        "this agent has not started test/odd yet"
    );
    assert!(files(&home).is_empty());
}

#[test]
fn an_output_that_was_deleted_is_still_bounded_and_the_next_run_is_kept_again() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--print hello --await %/go --flood"));
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    let mut followed = open(
        &supervisor,
        LogRequest {
            until: ReadUntil::Cancelled,
            ..all()
        },
    )
    .unwrap();
    assert_eq!(text(&mut followed), "hello\n");
    std::fs::remove_file(files(&home).pop().unwrap()).unwrap();
    assert_eq!(followed.follow_writer().unwrap(), FileChange::Removed);
    std::fs::write(home.path("go"), "").unwrap();
    let output = std::fs::metadata(format!("/proc/{pid}/fd/1"));
    assert_eq!(output.unwrap().nlink(), 0);
    let on_disk = || {
        let found = std::fs::metadata(format!("/proc/{pid}/fd/1")).unwrap();
        (found.len(), found.blocks() * 512)
    };
    until("much output", || (on_disk().0 > 64 << 20).then_some(()));
    until("less on disk", || (on_disk().1 < 64 << 20).then_some(()));
    assert_eq!(
        refused(&supervisor, all()),
        "the output of test/odd was deleted; its next run is kept again"
    );
    supervisor.hold(home.spec("--print again --stay"));
    supervisor.succeed(2, Op::Restart);
    assert_eq!(shown(&supervisor, all()), "again\n");
}

#[test]
fn output_is_followed_from_run_to_run_and_a_deleted_one_is_not_replaced_by_an_older() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--print first --stay"));
    supervisor.succeed(1, Op::Start);
    let follow = LogRequest {
        until: ReadUntil::Cancelled,
        ..all()
    };
    let mut log = open(&supervisor, follow.clone()).unwrap();
    assert_eq!(text(&mut log), "first\n");
    assert_eq!(log.follow_writer().unwrap(), FileChange::Unchanged);
    supervisor.hold(home.spec("--print second --stay"));
    supervisor.succeed(2, Op::Restart);
    assert_eq!(log.follow_writer().unwrap(), FileChange::Restarted);
    assert_eq!(text(&mut log), "second\n");
    let run = log.run_number();
    std::fs::remove_file(files(&home).pop().unwrap()).unwrap();
    assert_eq!(log.follow_writer().unwrap(), FileChange::Removed);
    let after = LogRequest {
        after_run: run,
        ..follow
    };
    assert!(open(&supervisor, after.clone()).is_err());
    supervisor.hold(home.spec("--print third --stay"));
    supervisor.succeed(3, Op::Restart);
    assert_eq!(shown(&supervisor, after), "third\n");
}

#[test]
fn the_previous_run_is_found_in_a_log() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let with_log = |options: &str| {
        let mut spec = home.spec(options);
        spec.identity.log_path = home.file("work/log");
        spec
    };
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        supervisor.hold(with_log(&format!("--print {text} --stay")));
        supervisor.succeed(number, Op::Restart);
    }
    assert_eq!(shown(&supervisor, all()), "one\ntwo\nthree\n");
    assert_eq!(shown(&supervisor, previous()), "two\n");
    std::fs::write(home.path("work/log"), "").unwrap();
    let rotated = refused(&supervisor, previous());
    assert!(rotated.contains("was rotated since"), "{rotated}");
    // Without a log from now on: the run before has one.
    supervisor.hold(home.spec("--print four --stay"));
    supervisor.succeed(4, Op::Restart);
    assert_eq!(shown(&supervisor, all()), "four\n");
    supervisor.succeed(5, Op::Restart);
    assert_eq!(shown(&supervisor, previous()), "four\n");
}

#[test]
fn the_result_of_a_start_says_that_its_log_cannot_be_used() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print hello --stay");
    spec.identity.log_path = home.file("missing/log");
    supervisor.hold(spec);
    let outcome = supervisor.succeed(1, Op::Start);
    let warning = format!(
        "log_path: cannot open {}: No such file or directory; output is kept by the agent only",
        home.file("missing/log")
    );
    assert_eq!(outcome.warning, Some(warning));
    assert_eq!(shown(&supervisor, all()), "hello\n");
    supervisor.hold(home.spec("--print hello --stay"));
    assert_eq!(supervisor.succeed(2, Op::Restart).warning, None);
}

#[test]
fn kept_output_is_private_whatever_the_name() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let odd: FullName = "a b/..%2f $(reboot) \u{957f}".parse().unwrap();
    let mut spec = home.spec("--print hello --stay");
    spec.identity.pid_path = home.file("other-pid");
    supervisor.hold_as(&odd, spec, model::Flag::Unregistered, false);
    let id = supervisor.begin_on(&odd, 1, Op::Start, None);
    assert_eq!(supervisor.end_of(id).code, Code::OK);
    let wanted = LogRequest {
        process: odd,
        ..all()
    };
    assert_eq!(shown(&supervisor, wanted), "hello\n");
    let file = files(&home).pop().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    assert_eq!(mode(&home.path("agent/runs")), 0o700);
    assert_eq!(mode(&home.path("agent/output")), 0o700);
}

#[test]
fn a_run_that_another_program_started_has_no_output_here() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let spec = home.daemon();
    let by_hand = std::process::Command::new("sh")
        .args(["-c", &spec.control.start_cmd])
        .status();
    assert!(by_hand.unwrap().success());
    supervisor.hold(spec);
    supervisor.running();
    assert_eq!(
        refused(&supervisor, all()),
        "test/odd was not started by this agent, so its output goes elsewhere; from its next start on it is kept"
    );
}

#[test]
fn output_survives_a_lost_journal() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--print hello --stay"));
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    supervisor.stop();
    std::fs::remove_file(home.path("agent/journal")).unwrap();
    let (mut supervisor, _) = home.supervisor_with(options());
    supervisor.hold(home.spec("--print hello --stay"));
    assert_eq!(supervisor.running().pid, pid);
    let kept = open(&supervisor, all()).map(|mut log| text(&mut log));
    assert_eq!(kept, Ok("hello\n".to_owned()));
}
