//! Upgrades of a running agent, with real processes and copies of the real binary.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Output, Stdio};
use std::time::Duration;

use agent::image::RunFile;
use futures_util::{SinkExt, StreamExt};
use model::{Code, Op, Outcome, State};
use testing::wait::until_async as until;
use wire::down::NameRef;
use wire::{Ack, Command, Desired, DesiredProcess, UpKind};

use crate::binary::{Agent, PATIENCE, Sleeper, user_name};
use crate::fake_server::{Ca, FakeServer, SessionFrames};
use crate::fixture::{desired, name, op, spec};

/// Runs until the test writes to its FIFO, then exits with code 7.
const KEPT: &str = "gse/kept";
/// Is being started during the upgrade.
const STARTING: &str = "gse/starting";
const SERVED: u64 = 1;
const UNDER_WAY: u64 = 2;

/// A copy of the agent's binary, and its server.
struct Fixture {
    dir: tempfile::TempDir,
    ca: Ca,
    server: FakeServer,
}

impl Fixture {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = Ca::new();
        let server = FakeServer::start(&ca).await;
        let fixture = Self { dir, ca, server };
        copy_of_the_agent(&fixture.exe());
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn exe(&self) -> PathBuf {
        self.path("muster-agent")
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn start(&self) -> Agent {
        self.start_with(&[])
    }

    fn start_with(&self, args: &[&str]) -> Agent {
        Agent::start_as(&self.exe(), &self.data(), &self.server, &self.ca, args)
    }

    fn run_file(&self) -> RunFile {
        RunFile::read(&self.data()).unwrap()
    }

    /// Runs `muster-agent upgrade` beside the test.
    async fn upgrade(&self, args: &[&str]) -> Output {
        let mut command = Program::new(env!("CARGO_BIN_EXE_muster-agent"));
        command
            .args(["upgrade", "--data", self.data().to_str().unwrap()])
            .args(args)
            .stdin(Stdio::null());
        let ran = tokio::task::spawn_blocking(move || command.output().unwrap());
        tokio::time::timeout(2 * PATIENCE, ran)
            .await
            .unwrap()
            .unwrap()
    }

    /// A script whose `--version` runs `version`, and which runs `otherwise` else.
    fn impostor(&self, version: &str, otherwise: &str) -> PathBuf {
        let path = self.path("impostor");
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then {version}; exit; fi\n{otherwise}\n"
        );
        std::fs::write(&path, script).unwrap();
        path
    }

    fn process(&self, full_name: &str, start: &str, start_check_secs: u32) -> DesiredProcess {
        let mut spec = spec();
        let short = full_name.rsplit('/').next().unwrap();
        spec.identity.user = user_name();
        spec.identity.setup_path = self.dir.path().to_str().unwrap().to_owned();
        spec.identity.pid_path = self.path(short).to_str().unwrap().to_owned() + ".pid";
        spec.control.start_cmd = start.into();
        spec.monitor_policy.start_check_secs = start_check_secs;
        spec.monitor_policy.start_interval = 1;
        DesiredProcess {
            spec_json: spec.to_json(),
            ..desired(full_name, 1)
        }
    }

    /// A connected agent that supervises [`KEPT`].
    async fn with_a_process(&self) -> (Agent, Session, Sleeper) {
        self.with_a_process_and(&[]).await
    }

    async fn with_a_process_and(&self, args: &[&str]) -> (Agent, Session, Sleeper) {
        let fifo = self.path("fifo");
        assert!(
            Program::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        let agent = self.start_with(args);
        self.server.enrol(&self.ca).await;
        let mut session = Session::new(self.server.welcome().await.0);
        let list = Desired {
            full: true,
            last: true,
            processes: vec![
                self.process(KEPT, "read line <fifo; exit 7", 1),
                self.process(STARTING, "echo begun >>begun; exec sleep 1000", 4),
            ],
            ..Desired::default()
        };
        session.frames.send(list.into()).await.unwrap();
        session.operate(SERVED, KEPT, Op::Start).await;
        let started = session.result(SERVED).await;
        assert_eq!(started.code, Code::OK, "{started:?}");
        let kept = Sleeper(session.running(KEPT).await);
        (agent, session, kept)
    }
}

/// What the server has received on one connection.
struct Session {
    frames: SessionFrames,
    states: HashMap<String, (State, i32)>,
    results: Vec<(u64, Outcome)>,
    reasons: Vec<String>,
}

impl Session {
    fn new(frames: SessionFrames) -> Self {
        Self {
            frames,
            states: HashMap::new(),
            results: Vec::new(),
            reasons: Vec::new(),
        }
    }

    async fn operate(&mut self, number: u64, full_name: &str, op_type: Op) {
        let command = Command {
            op: Some(op(number).into()),
            name: Some(NameRef::new(&name(full_name))),
            op_type: op_type.number().into(),
            ..Command::default()
        };
        self.frames.send(command.into()).await.unwrap();
    }

    async fn result(&mut self, number: u64) -> Outcome {
        loop {
            if let Some((_, outcome)) = self.results.iter().find(|(n, _)| *n == number) {
                return outcome.clone();
            }
            self.receive_next().await;
        }
    }

    async fn running(&mut self, full_name: &str) -> i32 {
        loop {
            match self.states.get(full_name) {
                Some((State::Running, pid)) => return *pid,
                _ => self.receive_next().await,
            }
        }
    }

    async fn receive_next(&mut self) {
        let frame = tokio::time::timeout(PATIENCE, self.frames.next()).await;
        let mut ack = Ack::default();
        match frame.unwrap().unwrap().unwrap().kind.unwrap() {
            UpKind::Report(report) => {
                for status in report.statuses {
                    let full_name = status.full_name().unwrap().to_string();
                    let status = status.into_status();
                    self.states.insert(full_name, (status.state, status.pid));
                }
            }
            UpKind::Result(result) => {
                let number = [SERVED, UNDER_WAY, 3, 4]
                    .into_iter()
                    .find(|n| result.op == Some(op(*n).into()));
                let outcome = result.outcome().unwrap();
                self.results.push((number.unwrap(), outcome));
                ack.results = result.op.into_iter().collect();
            }
            UpKind::Event(event) => {
                ack.events_through = event.seq;
                self.reasons.push(event.reason);
            }
            _ => {}
        }
        self.frames.send(ack.into()).await.unwrap();
    }
}

/// Copies by `cp`: a file that this process has open for writing cannot be executed (ETXTBSY), also while another test forks.
fn copy_of_the_agent(to: &Path) {
    let copied = Program::new("cp")
        .arg(env!("CARGO_BIN_EXE_muster-agent"))
        .arg(to)
        .status();
    assert!(copied.unwrap().success());
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn an_upgrade_during_an_operation_is_not_noticed() {
    let fixture = Fixture::new().await;
    let (mut agent, mut session, kept) = fixture.with_a_process().await;
    let pid = i32::try_from(agent.child.id()).unwrap();
    until("connected", || fixture.run_file().connected).await;
    let before = fixture.run_file();
    assert_eq!((before.pid, before.generation), (pid, 1));
    assert_eq!(before.exe, fixture.exe());

    // The same program in another file.
    let new = fixture.path("new");
    copy_of_the_agent(&new);
    let longer = format!("printf more >>{}", new.display());
    assert!(
        Program::new("sh")
            .args(["-c", &longer])
            .status()
            .unwrap()
            .success()
    );
    session.operate(UNDER_WAY, STARTING, Op::Start).await;
    until("begun", || fixture.path("begun").exists()).await;
    let args = ["--binary", new.to_str().unwrap()];
    let (done, (frames, _, hello)) = tokio::join!(fixture.upgrade(&args), fixture.server.welcome());
    let words = said(&done);
    assert!(done.status.success(), "{words}");
    assert!(words.contains("no process was touched"), "{words}");
    assert!(!words.contains("not connected"), "{words}");
    assert_eq!(hello.held_ops, [op(UNDER_WAY).into()]);

    // The same process runs the new file.
    assert!(agent.child.try_wait().unwrap().is_none());
    let after = fixture.run_file();
    assert_eq!((after.pid, after.start_time), (pid, before.start_time));
    assert_eq!((after.generation, after.connected), (2, true));
    let size = |path: PathBuf| std::fs::metadata(path).unwrap().len();
    assert_eq!(size(format!("/proc/{pid}/exe").into()), size(new));
    assert_eq!(
        size(fixture.path("muster-agent.old")) + 4,
        size(fixture.exe())
    );
    assert!(!fixture.path("muster-agent.new").exists());

    // The operation ran once and ends once.
    let mut session = Session::new(frames);
    let outcome = session.result(UNDER_WAY).await;
    assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    let starting = Sleeper(session.running(STARTING).await);
    assert_eq!(session.running(KEPT).await, kept.0);
    assert!(kept.is_alive() && starting.is_alive());
    let begun = std::fs::read_to_string(fixture.path("begun")).unwrap();
    assert_eq!(begun, "begun\n");

    // The exit code of a child of the earlier image is known: it is a child of the same process.
    std::fs::write(fixture.path("fifo"), "go\n").unwrap();
    while !session.reasons.iter().any(|r| r.contains("code 7")) {
        session.receive_next().await;
    }
    let again = loop {
        match session.running(KEPT).await {
            pid if pid == kept.0 => session.receive_next().await,
            pid => break Sleeper(pid),
        }
    };
    assert!(again.is_alive());
    for (number, full_name) in [(3, KEPT), (4, STARTING)] {
        session.operate(number, full_name, Op::Stop).await;
        let stopped = session.result(number).await;
        assert_eq!(stopped.code, Code::OK, "{stopped:?}");
    }
    let ends = session.results.iter().filter(|(n, _)| *n == UNDER_WAY);
    assert_eq!(ends.count(), 1);
}

#[tokio::test]
async fn a_binary_that_is_no_agent_is_refused() {
    let fixture = Fixture::new().await;
    let (mut agent, _session, kept) = fixture.with_a_process().await;
    until("connected", || fixture.run_file().connected).await;
    let before = fixture.run_file();
    for (version, why) in [
        ("exit 1", "its --version failed"),
        ("echo hello", "says no version"),
        ("echo muster 9.9.9", "the agent runs as muster-agent"),
    ] {
        let bad = fixture.impostor(version, "exit 1");
        let refused = fixture.upgrade(&["--binary", bad.to_str().unwrap()]).await;
        let words = said(&refused);
        assert_eq!(refused.status.code(), Some(2), "{words}");
        assert!(
            words.contains(why) && words.contains("nothing was changed"),
            "{words}"
        );
    }
    assert_eq!(fixture.run_file(), before);
    assert!(agent.child.try_wait().unwrap().is_none());
    assert!(kept.is_alive());
    for left in ["muster-agent.new", "muster-agent.old"] {
        assert!(!fixture.path(left).exists(), "{left}");
    }
}

#[tokio::test]
async fn a_binary_that_exits_is_rolled_back() {
    let fixture = Fixture::new().await;
    let (mut agent, _session, kept) = fixture.with_a_process().await;
    let good = std::fs::read(fixture.exe()).unwrap();
    let bad = fixture.impostor("echo muster-agent 9.9.9", "exit 1");
    let failed = fixture.upgrade(&["--binary", bad.to_str().unwrap()]).await;
    let words = said(&failed);
    assert_eq!(failed.status.code(), Some(1), "{words}");
    assert!(words.contains("ended as the new binary"), "{words}");
    assert!(words.contains("again"), "{words}");
    assert_eq!(agent.child.wait().unwrap().code(), Some(1));
    assert!(std::fs::read(fixture.exe()).unwrap() == good);
    assert!(kept.is_alive());

    // A dead agent cannot be upgraded; a restart adopts everything.
    let none = fixture.upgrade(&[]).await;
    assert_eq!(none.status.code(), Some(4), "{}", said(&none));
    let _agent = fixture.start();
    let mut session = Session::new(fixture.server.welcome().await.0);
    assert_eq!(session.running(KEPT).await, kept.0);
    session.operate(3, KEPT, Op::Stop).await;
    assert_eq!(session.result(3).await.code, Code::OK);
}

#[tokio::test]
async fn a_binary_that_hangs_is_rolled_back() {
    let fixture = Fixture::new().await;
    let (mut agent, _session, kept) = fixture.with_a_process().await;
    until("connected", || fixture.run_file().connected).await;
    let before = fixture.run_file();
    // Handles SIGHUP as an agent does, and nothing else: unblocks it, and executes the program at its path.
    let hang = r#"exec perl -e 'use POSIX; $SIG{HUP} = sub { exec @ARGV };
sigprocmask(SIG_UNBLOCK, POSIX::SigSet->new(SIGHUP)); sleep 1 while 1' "$0" "$@""#;
    let bad = fixture.impostor("echo muster-agent 9.9.9", hang);
    let args = ["--binary", bad.to_str().unwrap(), "--timeout", "2s"];
    let (failed, (frames, _, _)) = tokio::join!(fixture.upgrade(&args), fixture.server.welcome());
    let words = said(&failed);
    assert_eq!(failed.status.code(), Some(5), "{words}");
    assert!(words.contains("again and the agent runs it"), "{words}");
    assert!(agent.child.try_wait().unwrap().is_none());
    let after = fixture.run_file();
    assert_eq!((after.pid, after.generation), (before.pid, 2));
    let mut session = Session::new(frames);
    assert_eq!(session.running(KEPT).await, kept.0);
    session.operate(3, KEPT, Op::Stop).await;
    assert_eq!(session.result(3).await.code, Code::OK);
}

#[tokio::test]
async fn the_old_agent_goes_on_if_execve_fails() {
    let fixture = Fixture::new().await;
    let (mut agent, _session, kept) = fixture.with_a_process().await;
    until("connected", || fixture.run_file().connected).await;
    let before = fixture.run_file();
    std::fs::remove_file(fixture.exe()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&agent.child),
        rustix::process::Signal::HUP,
    )
    .unwrap();
    let mut session = Session::new(fixture.server.welcome().await.0);
    assert_eq!(session.running(KEPT).await, kept.0);
    let after = fixture.run_file();
    assert_eq!((after.pid, after.generation), (before.pid, 2));
    assert!(after.exec_error.is_some(), "{after:?}");
    assert!(agent.child.try_wait().unwrap().is_none());

    // A package manager has put a binary there: an upgrade without --binary executes it.
    copy_of_the_agent(&fixture.exe());
    let (done, (frames, _, _)) = tokio::join!(fixture.upgrade(&[]), fixture.server.welcome());
    assert!(done.status.success(), "{}", said(&done));
    let now = fixture.run_file();
    assert_eq!((now.pid, now.generation), (before.pid, 3));
    assert_eq!(now.exec_error, None);
    let mut session = Session::new(frames);
    assert_eq!(session.running(KEPT).await, kept.0);
    session.operate(3, KEPT, Op::Stop).await;
    assert_eq!(session.result(3).await.code, Code::OK);
}

#[tokio::test]
async fn a_sighup_during_execve_reaches_the_next_image() {
    let fixture = Fixture::new().await;
    let (mut agent, session, kept) = fixture.with_a_process().await;
    drop(session);
    let before = fixture.run_file();
    let pid = rustix::process::Pid::from_child(&agent.child);
    // Some of them arrive during `execve`.
    while fixture.run_file().generation < before.generation + 10 {
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
        assert_eq!(agent.child.try_wait().unwrap(), None);
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
    assert!(kept.is_alive());
    let frames = loop {
        // Earlier images left connections half open.
        if let Some((frames, _, _)) = fixture.server.try_to_welcome().await {
            break frames;
        }
    };
    let mut session = Session::new(frames);
    assert_eq!(session.running(KEPT).await, kept.0);
    session.operate(3, KEPT, Op::Stop).await;
    assert_eq!(session.result(3).await.code, Code::OK);
    assert_eq!(agent.child.try_wait().unwrap(), None);
}

#[tokio::test]
async fn an_agent_over_its_memory_limit_executes_itself_anew() {
    let fixture = Fixture::new().await;
    // Every agent uses more.
    let args = ["--memory-max", "4MiB"];
    let (mut agent, session, kept) = fixture.with_a_process_and(&args).await;
    let before = fixture.run_file();
    // Three checks, five seconds apart.
    let (frames, _, _) = tokio::time::timeout(3 * PATIENCE, fixture.server.welcome())
        .await
        .unwrap();
    drop(session);
    until("at work", || fixture.run_file().generation == 2).await;
    let after = fixture.run_file();
    assert_eq!(
        (after.pid, after.start_time),
        (before.pid, before.start_time)
    );
    assert_eq!(agent.child.try_wait().unwrap(), None);
    let environment = std::fs::read(format!("/proc/{}/environ", after.pid)).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    assert!(environment.contains("MUSTER_AGENT_SHRUNK_AT="));

    let mut session = Session::new(frames);
    assert_eq!(session.running(KEPT).await, kept.0);
    assert!(kept.is_alive());
    // Its exit code is known: it is still a child.
    std::fs::write(fixture.path("fifo"), "go\n").unwrap();
    while !session.reasons.iter().any(|r| r.contains("code 7")) {
        session.receive_next().await;
    }
    session.operate(3, KEPT, Op::Stop).await;
    let code = session.result(3).await.code;
    assert!([Code::OK, Code::NOT_RUNNING].contains(&code), "{code:?}");
}
