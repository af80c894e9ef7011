//! A root agent gives a process's user no extra rights: whatever the user puts in place of a pid file, a log or a folder,
//! the agent reaches only what the user can reach.
//!
//! These tests run as root and act as the user `nobody`; without root they fail.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use model::operation::Op;
use model::spec::{ConfigFile, Probe};
use model::{Code, Flag, Spec};
use supervisor::{ControlGroups, LogRequest, Request};
use tokio::sync::oneshot;

use crate::harness::{Home, TestSupervisor, is_alive, name, read, until, with_and_without_groups};

const SECRET: &str = "root's secret";
const ODD: &str = env!("CARGO_BIN_EXE_odd-child");

/// A home with `mine`, a folder of the user `nobody`, and `vault`, which only root may enter.
fn home_with(groups: ControlGroups) -> Home {
    let is_root = nix::unistd::geteuid().is_root();
    assert!(is_root, "this test needs root: it acts as another user");
    let home = Home::with(groups);
    home.open_to_all();
    for (folder, mode) in [("mine", 0o755), ("vault", 0o700)] {
        fs::create_dir(home.path(folder)).unwrap();
        set_mode(&home.path(folder), mode);
    }
    give_to_nobody(&home.path("mine"));
    home
}

fn home() -> Home {
    home_with(ControlGroups::default())
}

fn nobody() -> nix::unistd::User {
    nix::unistd::User::from_name("nobody").unwrap().unwrap()
}

fn give_to_nobody(path: &Path) {
    chown(
        path,
        Some(nobody().uid.as_raw()),
        Some(nobody().gid.as_raw()),
    )
    .unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A spec of the user `nobody`, with files in that user's folder.
fn spec_of_nobody(home: &Home, options: &str) -> Spec {
    let mut spec = home.spec(options);
    spec.identity.user = "nobody".into();
    spec.identity.pid_path = home.file("mine/pid");
    spec
}

/// Writes a file as the user `nobody`.
fn write_as_nobody(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    give_to_nobody(path);
}

/// Replaces a folder of the user `nobody` by a link to the vault.
fn replace_by_vault(home: &Home, folder: &str) {
    let _ = fs::rename(home.path(folder), home.path(&format!("{folder}.before")));
    symlink(home.path("vault"), home.path(folder)).unwrap();
    let link = home.path(folder);
    std::os::unix::fs::lchown(link, Some(nobody().uid.as_raw()), None).unwrap();
}

/// A program that the test started, killed when the test ends.
struct Program(Child);

impl Program {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The supervisor of the same test may have reaped it.
        if is_alive(self.pid()) {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

/// Real, effective and saved uid.
fn uids(pid: i32) -> Vec<u32> {
    let status = read(Path::new(&format!("/proc/{pid}/status")));
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let numbers = line.unwrap_or_default().split_whitespace();
    numbers.take(3).map(|uid| uid.parse().unwrap()).collect()
}

fn is_not_adopted(home: &Home, supervisor: &mut TestSupervisor, pid: i32) {
    supervisor.hold_as(
        &name(),
        spec_of_nobody(home, "--stay"),
        Flag::Stopped,
        false,
    );
    assert_eq!(supervisor.stopped().pid, -1);
    assert_eq!(supervisor.succeed(1, Op::Query).instance.unwrap().pid, -1);
    for (number, op) in [(2, Op::Stop), (3, Op::Kill)] {
        assert_eq!(
            supervisor.operate(number, op).code,
            Code::NOT_RUNNING,
            "{op}"
        );
    }
    assert!(is_alive(pid));
}

with_and_without_groups!(
    a_root_process_named_by_the_pid_file_is_neither_adopted_nor_killed,
    a_setuid_program_named_by_the_pid_file_is_not_adopted,
    a_daemon_that_dropped_its_rights_is_adopted_and_stopped,
    an_adopted_run_that_becomes_root_is_not_signalled,
);

fn a_root_process_named_by_the_pid_file_is_neither_adopted_nor_killed(groups: ControlGroups) {
    let home = home_with(groups);
    let mut supervisor = home.supervisor();
    let roots = Program::start(Command::new(ODD).arg("--stay"));
    write_as_nobody(&home.path("mine/pid"), &roots.pid().to_string());
    is_not_adopted(&home, &mut supervisor, roots.pid());
    // Nor is it found by name and pid file for a process that is not held.
    let probe = Probe::from(&spec_of_nobody(&home, "--stay"));
    let stranger = "test/stranger".parse().unwrap();
    let id = supervisor.begin_on(&stranger, 4, Op::Query, Some(probe));
    assert_eq!(supervisor.end_of(id).instance.unwrap().pid, -1);
    // A start that leaves only such a pid file reports what is wrong with it.
    let mut spec = spec_of_nobody(&home, "");
    spec.control.start_cmd = "true".into();
    supervisor.hold(spec);
    let outcome = supervisor.operate(5, Op::Start);
    let said = format!(
        "names {}, which runs as root and not as nobody",
        roots.pid()
    );
    assert!(outcome.message.contains(&said), "{}", outcome.message);
    assert!(is_alive(roots.pid()));
}

fn a_setuid_program_named_by_the_pid_file_is_not_adopted(groups: ControlGroups) {
    let home = home_with(groups);
    let mut supervisor = home.supervisor();
    let program = home.path("work/odd-child");
    fs::copy(ODD, &program).unwrap();
    set_mode(&program, 0o4755);
    let mut command = Command::new(&program);
    command.arg("--stay");
    let setuid = Program::start(command.uid(nobody().uid.as_raw()));
    let expected = [nobody().uid.as_raw(), 0, 0];
    until("a setuid program", || {
        (uids(setuid.pid()) == expected).then_some(())
    });
    write_as_nobody(&home.path("mine/pid"), &setuid.pid().to_string());
    is_not_adopted(&home, &mut supervisor, setuid.pid());
}

/// Like a service started by root: the pid file and its folder belong to root, and the user `nobody` may read it.
fn a_daemon_that_dropped_its_rights_is_adopted_and_stopped(groups: ControlGroups) {
    let home = home_with(groups);
    let mut supervisor = home.supervisor();
    let uid = nobody().uid.to_string();
    let daemon = Program::start(Command::new(ODD).args(["--become", &uid, "--stay"]));
    let expected = [nobody().uid.as_raw(); 3];
    until("a daemon of nobody's", || {
        (uids(daemon.pid()) == expected).then_some(())
    });
    fs::create_dir(home.path("run")).unwrap();
    set_mode(&home.path("run"), 0o755);
    fs::write(home.path("run/pid"), daemon.pid().to_string()).unwrap();
    let mut spec = spec_of_nobody(&home, "--stay");
    spec.identity.pid_path = home.file("run/pid");
    supervisor.hold(spec);
    assert_eq!(supervisor.running().pid, daemon.pid());
    supervisor.succeed(1, Op::Stop);
    assert!(!is_alive(daemon.pid()));
}

fn an_adopted_run_that_becomes_root_is_not_signalled(groups: ControlGroups) {
    let home = home_with(groups);
    let mut supervisor = home.supervisor();
    let program = home.path("work/odd-child");
    fs::copy(ODD, &program).unwrap();
    set_mode(&program, 0o4755);
    let script = home.path("mine/odd-child");
    let text = format!(
        "while [ ! -e {} ]; do sleep 0.02; done; exec {} --become 0 --stay",
        home.file("mine/go"),
        program.display()
    );
    fs::write(&script, text).unwrap();
    let mut command = Command::new("/bin/sh");
    command.arg(&script).uid(nobody().uid.as_raw());
    let run = Program::start(&mut command);
    until("a run of nobody's", || {
        (uids(run.pid()) == [nobody().uid.as_raw(); 3]).then_some(())
    });
    write_as_nobody(&home.path("mine/pid"), &run.pid().to_string());
    supervisor.hold(spec_of_nobody(&home, "--stay"));
    assert_eq!(supervisor.running().pid, run.pid());
    fs::write(home.path("mine/go"), "").unwrap();
    until("a root process", || {
        (uids(run.pid()) == [0, 0, 0]).then_some(())
    });
    for (number, op) in [(1, Op::Reload), (2, Op::Stop), (3, Op::Kill)] {
        let outcome = supervisor.operate(number, op);
        assert_eq!(outcome.code, Code::COMMAND_FAILED, "{op}: {outcome:?}");
        let said = "runs as root: nobody may not signal it";
        assert!(outcome.message.contains(said), "{op}: {}", outcome.message);
    }
    assert!(is_alive(run.pid()));
}

#[test]
fn a_link_in_place_of_the_pid_folder_overwrites_nothing() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::write(home.path("vault/pid"), SECRET).unwrap();
    replace_by_vault(&home, "mine/run");
    let mut spec = spec_of_nobody(&home, "--stay");
    spec.identity.pid_path = home.file("mine/run/pid");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let status = supervisor.status_where("a word on the pid file", |s| {
        s.message.contains("pid_path: cannot write")
    });
    let why = "as nobody: Permission denied; only this agent knows the pid";
    assert!(status.message.ends_with(why), "{}", status.message);
    assert_eq!(read(&home.path("vault/pid")), SECRET);
    // A file there that names the run is not removed.
    fs::write(home.path("vault/pid"), format!("{}\n", status.pid)).unwrap();
    supervisor.succeed(2, Op::Stop);
    assert_eq!(read(&home.path("vault/pid")), format!("{}\n", status.pid));
}

#[test]
fn a_pid_folder_of_the_system_is_not_written_for_its_user() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::create_dir(home.path("run")).unwrap();
    set_mode(&home.path("run"), 0o755);
    let mut spec = spec_of_nobody(&home, "--stay");
    spec.identity.pid_path = home.file("run/pid");
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    supervisor.status_where("a word on the pid file", |s| {
        s.message.contains("as nobody: Permission denied")
    });
    assert!(!home.path("run/pid").exists());
    // The agent knows the run all the same, also after a restart.
    supervisor.stop();
    let mut supervisor = home.supervisor();
    assert_eq!(supervisor.running().pid, pid);
    supervisor.succeed(2, Op::Stop);
    // A process of root may use it.
    spec.identity.user = "root".into();
    supervisor.hold(spec);
    supervisor.succeed(3, Op::Start);
    let pid = supervisor.running().pid;
    until("its pid file", || {
        (read(&home.path("run/pid")) == format!("{pid}\n")).then_some(())
    });
}

#[test]
fn a_link_in_place_of_the_log_folder_shows_nothing() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::write(home.path("vault/log"), SECRET).unwrap();
    fs::create_dir(home.path("mine/logs")).unwrap();
    give_to_nobody(&home.path("mine/logs"));
    let mut spec = spec_of_nobody(&home, "");
    spec.identity.setup_path = home.file("mine");
    spec.identity.log_path = home.file("mine/logs/log");
    let vault = home.file("vault");
    spec.control.start_cmd = format!("mv logs before; ln -s {vault} logs; exit 3");
    supervisor.hold(spec.clone());
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, Code::COMMAND_FAILED, "{outcome:?}");
    assert!(!format!("{outcome:?}").contains(SECRET), "{outcome:?}");
    let output = outcome.ran.unwrap().output;
    let said = format!(
        "log_path: cannot read {} as nobody: Permission denied",
        home.file("mine/logs/log")
    );
    assert_eq!(output, said);

    // The same while it runs: its last line, and its log on request.
    fs::remove_file(home.path("mine/logs")).unwrap();
    fs::rename(home.path("mine/before"), home.path("mine/logs")).unwrap();
    spec.control.start_cmd = format!("{ODD} --print up --stay");
    supervisor.hold(spec);
    supervisor.succeed(2, Op::Start);
    let pid = supervisor.running().pid;
    replace_by_vault(&home, "mine/logs");
    let (answer, log) = oneshot::channel();
    let wanted = LogRequest {
        process: name(),
        ..crate::kept_output::all()
    };
    supervisor.ask(Request::Logs(wanted, answer));
    let error = log.blocking_recv().unwrap().unwrap_err().to_string();
    assert!(error.contains("Permission denied"), "{error}");
    crate::harness::kill(pid, libc::SIGKILL);
    until("an event about its end", || {
        supervisor.listen();
        (!supervisor.events.is_empty()).then_some(())
    });
    let heard = format!("{:?} {:?}", supervisor.events, supervisor.history);
    assert!(!heard.contains(SECRET), "{heard}");
}

#[test]
fn a_link_in_place_of_the_log_folder_rotates_nothing() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::write(home.path("vault/log"), SECRET.repeat(1000)).unwrap();
    fs::create_dir(home.path("mine/logs")).unwrap();
    give_to_nobody(&home.path("mine/logs"));
    let mut spec = spec_of_nobody(&home, "--stay");
    spec.identity.log_path = home.file("mine/logs/log");
    spec.runtime.log_max_bytes = Some(1000);
    write_as_nobody(&home.path("mine/logs/log"), &"x".repeat(2000));
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    until("a rotation", || {
        home.path("mine/logs/log.1").exists().then_some(())
    });
    replace_by_vault(&home, "mine/logs");
    let said = "cannot be looked at as nobody: Permission denied";
    supervisor.status_where("a word on the log", |s| s.message.ends_with(said));
    assert!(read(&home.path("vault/log")) == SECRET.repeat(1000));
    assert_eq!(fs::read_dir(home.path("vault")).unwrap().count(), 1);
}

#[test]
fn a_hard_link_to_a_root_file_is_neither_written_nor_cut() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::write(home.path("vault/file"), SECRET.repeat(1000)).unwrap();
    set_mode(&home.path("vault/file"), 0o600);
    for name in ["mine/pid", "mine/log"] {
        fs::hard_link(home.path("vault/file"), home.path(name)).unwrap();
    }
    let mut spec = spec_of_nobody(&home, "--print overwritten --stay");
    spec.identity.log_path = home.file("mine/log");
    spec.runtime.log_max_bytes = Some(1);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.status_where("a word on the log", |s| {
        s.message.contains("log_path: cannot open")
    });
    supervisor.succeed(2, Op::Stop);
    assert!(read(&home.path("vault/file")) == SECRET.repeat(1000));
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_block_the_agent() {
    let home = home();
    let mut supervisor = home.supervisor();
    for name in ["mine/pid", "mine/log", "mine/conf"] {
        let made = Command::new("mkfifo").arg(home.path(name)).status();
        assert!(made.unwrap().success());
        give_to_nobody(&home.path(name));
    }
    let mut spec = spec_of_nobody(&home, "--print hello --stay");
    spec.identity.log_path = home.file("mine/log");
    spec.configmap = vec![ConfigFile {
        path: home.file("mine/conf"),
        md5: "0".repeat(32),
    }];
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let status = supervisor.status_where("a word on each", |s| {
        let said = ["pid_path: ", "log_path: ", "config drift: "];
        said.iter().all(|said| s.message.contains(said))
    });
    let n_said = status.message.matches("it is not a file").count();
    assert_eq!(n_said, 3, "{}", status.message);
    supervisor.succeed(2, Op::Stop);
}

#[test]
fn the_md5_of_a_file_that_its_user_cannot_read_is_not_shown() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::write(home.path("vault/conf"), "abc").unwrap();
    symlink(home.path("vault/conf"), home.path("mine/conf")).unwrap();
    let mut spec = spec_of_nobody(&home, "--stay");
    spec.configmap = vec![ConfigFile {
        path: home.file("mine/conf"),
        md5: "0".repeat(32),
    }];
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let status = supervisor.status_where("drift", |s| s.message.contains("config drift"));
    let said = "cannot be read: Permission denied for nobody";
    assert!(status.message.ends_with(said), "{}", status.message);
}

#[test]
fn a_folder_that_its_user_cannot_read_is_not_measured() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::write(home.path("vault/large"), vec![1; 1 << 20]).unwrap();
    fs::create_dir(home.path("mine/logs")).unwrap();
    write_as_nobody(&home.path("mine/logs/odd.log"), &"x".repeat(100_000));
    let mut spec = spec_of_nobody(&home, "--stay");
    spec.identity.log_path = format!("{}/", home.file("mine/logs"));
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.status_where("bytes of its own", |s| s.disk >= 100_000);
    replace_by_vault(&home, "mine/logs");
    supervisor.status_where("no bytes of root's", |s| s.disk == 0);
    assert!(
        supervisor
            .history
            .iter()
            .all(|status| status.disk < 1 << 20)
    );
}

#[test]
fn links_that_its_user_may_follow_are_followed() {
    let home = home();
    let mut supervisor = home.supervisor();
    for folder in ["mine/releases", "mine/releases/5"] {
        fs::create_dir(home.path(folder)).unwrap();
        give_to_nobody(&home.path(folder));
    }
    symlink("releases/5", home.path("mine/current")).unwrap();
    let mut spec = spec_of_nobody(&home, "--print hello --stay");
    spec.identity.setup_path = home.file("mine/current");
    spec.identity.pid_path = home.file("mine/current/pid");
    spec.identity.log_path = home.file("mine/current/log");
    supervisor.hold(spec);
    let ran = supervisor.succeed(1, Op::Start).ran.unwrap();
    assert_eq!(ran.output, "hello\n");
    let status = supervisor.running();
    assert_eq!(status.message, "");
    let named = read(&home.path("mine/releases/5/pid"));
    assert_eq!(named, format!("{}\n", status.pid));
    supervisor.succeed(2, Op::Stop);
    assert!(!home.path("mine/releases/5/pid").exists());
    assert_eq!(read(&home.path("mine/releases/5/log")), "hello\n");
}

#[test]
fn kept_output_is_not_accessible_to_the_process_user() {
    let home = home();
    let mut supervisor = home.supervisor();
    let mut spec = spec_of_nobody(&home, "");
    let output = home.file("agent/runs");
    // Neither its own output, to which it only appends, nor other files there.
    spec.control.start_cmd = format!(
        "cat /proc/self/fd/1 && echo read; for f in {output} {output}/* {output}/*/*; do cat $f && echo read; echo x > $f && echo written; done; exit 3"
    );
    supervisor.hold(spec);
    let ran = supervisor.operate(1, Op::Start).ran.unwrap();
    assert!(ran.output.contains("Permission denied"), "{}", ran.output);
    for word in ["read\n", "written\n"] {
        assert!(!ran.output.lines().any(|line| line == word.trim()));
    }
}

#[test]
fn side_commands_run_with_the_rights_of_the_user() {
    let home = home();
    let mut supervisor = home.supervisor();
    fs::write(home.path("vault/secret"), SECRET).unwrap();
    let secret = home.file("vault/secret");
    let mut spec = spec_of_nobody(&home, "--stay");
    spec.control.version_cmd = format!("cat {secret} 2>/dev/null; echo 1.0 of $(id -un)");
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    let status = supervisor.status_where("a version", |s| !s.version.is_empty());
    assert_eq!(status.version, "1.0 of nobody");
    // `version_cmd` of an unheld process without a user is not run: it would run as root.
    let probe = Probe {
        user: String::new(),
        version_cmd: "echo 2.0".into(),
        ..Probe::from(&spec)
    };
    let stranger = "test/stranger".parse().unwrap();
    let id = supervisor.begin_on(&stranger, 2, Op::Query, Some(probe));
    let instance = supervisor.end_of(id).instance.unwrap();
    assert_eq!((instance.pid, instance.version.as_str()), (status.pid, ""));

    spec.control.health_cmd = format!("cat {secret}");
    supervisor.hold(spec);
    supervisor.status_where("its health", |s| s.message.contains("Permission denied"));
    assert!(!format!("{:?}", supervisor.history).contains(SECRET));
    supervisor.operate(3, Op::Stop);
}
