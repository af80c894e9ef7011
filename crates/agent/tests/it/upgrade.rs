//! Another binary under a running agent, with real processes and copies of the real binary.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Output, Stdio};
use std::time::{Duration, Instant};

use agent::image::RunFile;
use futures_util::{SinkExt, StreamExt};
use model::{Code, Op, Outcome, State};
use testing::wait::until_async as until;
use wire::down::NameRef;
use wire::{Ack, Command, Desired, DesiredProcess, UpKind};

use crate::bench::{desired, name, op, spec};
use crate::peer::{Ca, Peer, Talking};
use crate::whole::{Agent, PATIENCE, Sleeper, user_name};

/// Keeps running until somebody writes to its FIFO, and then ends with a code of its own.
const KEPT: &str = "gse/kept";
/// Is being started while the agent is upgraded.
const STARTING: &str = "gse/starting";
const SERVED: u64 = 1;
const UNDER_WAY: u64 = 2;

/// An agent whose binary may be replaced, and its server.
struct Bench {
    dir: tempfile::TempDir,
    ca: Ca,
    peer: Peer,
}

impl Bench {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = Ca::new();
        let peer = Peer::start(&ca).await;
        let bench = Self { dir, ca, peer };
        copy_of_the_agent(&bench.exe());
        bench
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
        Agent::start_as(&self.exe(), &self.data(), &self.peer, &self.ca, args)
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

    /// A program that says the version of an agent, and does `otherwise` when it should be one.
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

    /// An agent that is connected and keeps [`KEPT`].
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
        self.peer.enrol(&self.ca).await;
        let mut session = Session::new(self.peer.welcome().await.0);
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

/// What one connection told the server.
struct Session {
    frames: Talking,
    states: HashMap<String, (State, i32)>,
    results: Vec<(u64, Outcome)>,
    reasons: Vec<String>,
}

impl Session {
    fn new(frames: Talking) -> Self {
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
            self.hear().await;
        }
    }

    async fn running(&mut self, full_name: &str) -> i32 {
        loop {
            match self.states.get(full_name) {
                Some((State::Running, pid)) => return *pid,
                _ => self.hear().await,
            }
        }
    }

    async fn hear(&mut self) {
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

/// By another program: a file that this one had open for writing could not be executed while a third is forked.
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
async fn an_upgrade_in_the_middle_of_an_operation_is_seen_by_nobody() {
    let bench = Bench::new().await;
    let (mut agent, mut session, kept) = bench.with_a_process().await;
    let pid = i32::try_from(agent.child.id()).unwrap();
    until("connected", || bench.run_file().connected).await;
    let before = bench.run_file();
    assert_eq!((before.pid, before.generation), (pid, 1));
    assert_eq!(before.exe, bench.exe());

    // The same program, and yet another file.
    let new = bench.path("new");
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
    until("begun", || bench.path("begun").exists()).await;
    let args = ["--binary", new.to_str().unwrap()];
    let (done, (frames, _, hello)) = tokio::join!(bench.upgrade(&args), bench.peer.welcome());
    let words = said(&done);
    assert!(done.status.success(), "{words}");
    assert!(words.contains("no process was touched"), "{words}");
    assert!(!words.contains("not connected"), "{words}");
    assert_eq!(hello.held_ops, [op(UNDER_WAY).into()]);

    // The agent is the same process with the other file.
    assert!(agent.child.try_wait().unwrap().is_none());
    let after = bench.run_file();
    assert_eq!((after.pid, after.start_time), (pid, before.start_time));
    assert_eq!((after.generation, after.connected), (2, true));
    let size = |path: PathBuf| std::fs::metadata(path).unwrap().len();
    assert_eq!(size(format!("/proc/{pid}/exe").into()), size(new));
    assert_eq!(size(bench.path("muster-agent.old")) + 4, size(bench.exe()));
    assert!(!bench.path("muster-agent.new").exists());

    // The operation ends once, and was done once.
    let mut session = Session::new(frames);
    let outcome = session.result(UNDER_WAY).await;
    assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    let starting = Sleeper(session.running(STARTING).await);
    assert_eq!(session.running(KEPT).await, kept.0);
    assert!(kept.is_alive() && starting.is_alive());
    let begun = std::fs::read_to_string(bench.path("begun")).unwrap();
    assert_eq!(begun, "begun\n");

    // How a child of the earlier image ends is seen exactly, because it is a child of the same process.
    std::fs::write(bench.path("fifo"), "go\n").unwrap();
    while !session.reasons.iter().any(|r| r.contains("code 7")) {
        session.hear().await;
    }
    let again = loop {
        match session.running(KEPT).await {
            pid if pid == kept.0 => session.hear().await,
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
async fn a_binary_that_is_no_agent_is_refused_and_nothing_changes() {
    let bench = Bench::new().await;
    let (mut agent, _session, kept) = bench.with_a_process().await;
    until("connected", || bench.run_file().connected).await;
    let before = bench.run_file();
    for (version, why) in [
        ("exit 1", "its --version failed"),
        ("echo hello", "says no version"),
        ("echo muster 9.9.9", "the agent runs as muster-agent"),
    ] {
        let bad = bench.impostor(version, "exit 1");
        let refused = bench.upgrade(&["--binary", bad.to_str().unwrap()]).await;
        let words = said(&refused);
        assert_eq!(refused.status.code(), Some(2), "{words}");
        assert!(
            words.contains(why) && words.contains("nothing was changed"),
            "{words}"
        );
    }
    assert_eq!(bench.run_file(), before);
    assert!(agent.child.try_wait().unwrap().is_none());
    assert!(kept.is_alive());
    for left in ["muster-agent.new", "muster-agent.old"] {
        assert!(!bench.path(left).exists(), "{left}");
    }
}

#[tokio::test]
async fn a_binary_that_dies_as_an_agent_is_taken_back() {
    let bench = Bench::new().await;
    let (mut agent, _session, kept) = bench.with_a_process().await;
    let good = std::fs::read(bench.exe()).unwrap();
    let bad = bench.impostor("echo muster-agent 9.9.9", "exit 1");
    let failed = bench.upgrade(&["--binary", bad.to_str().unwrap()]).await;
    let words = said(&failed);
    assert_eq!(failed.status.code(), Some(1), "{words}");
    assert!(words.contains("ended as the new binary"), "{words}");
    assert!(words.contains("again"), "{words}");
    assert_eq!(agent.child.wait().unwrap().code(), Some(1));
    assert!(std::fs::read(bench.exe()).unwrap() == good);
    assert!(kept.is_alive());

    // Whoever starts the agent again finds everything as it was; whoever upgrades a dead one is told.
    let none = bench.upgrade(&[]).await;
    assert_eq!(none.status.code(), Some(4), "{}", said(&none));
    let _agent = bench.start();
    let mut session = Session::new(bench.peer.welcome().await.0);
    assert_eq!(session.running(KEPT).await, kept.0);
    session.operate(3, KEPT, Op::Stop).await;
    assert_eq!(session.result(3).await.code, Code::OK);
}

#[tokio::test]
async fn a_binary_that_hangs_is_taken_back_and_the_old_agent_goes_on() {
    let bench = Bench::new().await;
    let (mut agent, _session, kept) = bench.with_a_process().await;
    until("connected", || bench.run_file().connected).await;
    let before = bench.run_file();
    // Understands SIGHUP as an agent does, and nothing else: takes what was held for it, and becomes what is at its path.
    let hang = r#"exec perl -e 'use POSIX; $SIG{HUP} = sub { exec @ARGV };
sigprocmask(SIG_UNBLOCK, POSIX::SigSet->new(SIGHUP)); sleep 1 while 1' "$0" "$@""#;
    let bad = bench.impostor("echo muster-agent 9.9.9", hang);
    let args = ["--binary", bad.to_str().unwrap(), "--timeout", "2s"];
    let (failed, (frames, _, _)) = tokio::join!(bench.upgrade(&args), bench.peer.welcome());
    let words = said(&failed);
    assert_eq!(failed.status.code(), Some(5), "{words}");
    assert!(words.contains("again and the agent runs it"), "{words}");
    assert!(agent.child.try_wait().unwrap().is_none());
    let after = bench.run_file();
    assert_eq!((after.pid, after.generation), (before.pid, 2));
    let mut session = Session::new(frames);
    assert_eq!(session.running(KEPT).await, kept.0);
    session.operate(3, KEPT, Op::Stop).await;
    assert_eq!(session.result(3).await.code, Code::OK);
}

#[tokio::test]
async fn a_binary_that_cannot_be_executed_leaves_the_old_agent_at_work() {
    let bench = Bench::new().await;
    let (mut agent, _session, kept) = bench.with_a_process().await;
    until("connected", || bench.run_file().connected).await;
    let before = bench.run_file();
    std::fs::remove_file(bench.exe()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&agent.child),
        rustix::process::Signal::HUP,
    )
    .unwrap();
    let mut session = Session::new(bench.peer.welcome().await.0);
    assert_eq!(session.running(KEPT).await, kept.0);
    let after = bench.run_file();
    assert_eq!((after.pid, after.generation), (before.pid, 2));
    assert!(after.exec_error.is_some(), "{after:?}");
    assert!(agent.child.try_wait().unwrap().is_none());

    // Put there by a package manager, it is started without being replaced.
    copy_of_the_agent(&bench.exe());
    let (done, (frames, _, _)) = tokio::join!(bench.upgrade(&[]), bench.peer.welcome());
    assert!(done.status.success(), "{}", said(&done));
    let now = bench.run_file();
    assert_eq!((now.pid, now.generation), (before.pid, 3));
    assert_eq!(now.exec_error, None);
    let mut session = Session::new(frames);
    assert_eq!(session.running(KEPT).await, kept.0);
    session.operate(3, KEPT, Op::Stop).await;
    assert_eq!(session.result(3).await.code, Code::OK);
}

#[tokio::test]
async fn hangups_that_meet_an_image_before_it_listens_are_heard_by_it() {
    let bench = Bench::new().await;
    let (mut agent, session, kept) = bench.with_a_process().await;
    drop(session);
    let before = bench.run_file();
    let pid = rustix::process::Pid::from_child(&agent.child);
    // Some of them arrive while the agent becomes the next image, whenever that is.
    let since = Instant::now();
    while bench.run_file().generation < before.generation + 10 {
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
        assert_eq!(agent.child.try_wait().unwrap(), None);
        assert!(since.elapsed() < 2 * PATIENCE, "{:?}", bench.run_file());
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
    assert!(kept.is_alive());
    let frames = loop {
        // Earlier images began connections that they did not live to use.
        if let Some((frames, _, _)) = bench.peer.try_to_welcome().await {
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
async fn an_agent_that_uses_too_much_memory_starts_itself_anew_and_touches_nothing() {
    let bench = Bench::new().await;
    // Less than any agent uses.
    let args = ["--memory-max", "4MiB"];
    let (mut agent, session, kept) = bench.with_a_process_and(&args).await;
    let before = bench.run_file();
    // Three looks, five seconds apart.
    let (frames, _, _) = tokio::time::timeout(3 * PATIENCE, bench.peer.welcome())
        .await
        .unwrap();
    drop(session);
    until("at work", || bench.run_file().generation == 2).await;
    let after = bench.run_file();
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
    // How it ends is seen: it is still a child.
    std::fs::write(bench.path("fifo"), "go\n").unwrap();
    while !session.reasons.iter().any(|r| r.contains("code 7")) {
        session.hear().await;
    }
    session.operate(3, KEPT, Op::Stop).await;
    let code = session.result(3).await.code;
    assert!([Code::OK, Code::NOT_RUNNING].contains(&code), "{code:?}");
}
