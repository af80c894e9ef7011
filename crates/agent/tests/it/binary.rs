//! The agent's binary, with real processes, against a fake server.

use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use model::{Code, Op, Outcome, State};
use testing::wait::until_async as until;
use wire::down::NameRef;
use wire::{Ack, Command, Desired, DesiredProcess, UpKind};

use crate::fake_server::{Ca, FakeServer, SessionFrames};
use crate::fixture::{desired, name, op, spec};

const NAME: &str = "gse/p";
/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An agent process, killed at the end of the test.
pub(crate) struct Agent {
    pub(crate) child: Child,
}

impl Agent {
    fn start(data: &Path, server: &FakeServer, ca: &Ca) -> Self {
        let exe = Path::new(env!("CARGO_BIN_EXE_muster-agent"));
        Self::start_as(exe, data, server, ca, &[])
    }

    pub(crate) fn start_as(
        exe: &Path,
        data: &Path,
        server: &FakeServer,
        ca: &Ca,
        args: &[&str],
    ) -> Self {
        let child = Program::new(exe)
            .args([
                "--server",
                &server.address(),
                "--ip",
                "10.0.0.7",
                "--cloud-id",
                "3",
            ])
            .args(["--data", data.to_str().unwrap()])
            .args(args)
            .env("MUSTER_JOIN_TOKEN", ca.token().to_string())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { child }
    }

    /// Anonymous resident memory.
    fn private_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:"));
        let kib = line.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse().unwrap()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The managed process, killed at the end of the test.
pub(crate) struct Sleeper(pub(crate) i32);

impl Sleeper {
    /// A zombie counts as exited.
    pub(crate) fn is_alive(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.0))
            .is_ok_and(|stat| !stat.contains(") Z "))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        if self.is_alive()
            && let Some(pid) = rustix::process::Pid::from_raw(self.0)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// A foreground program, run as the user of the tests.
fn sleeper(dir: &Path) -> DesiredProcess {
    let mut spec = spec();
    spec.identity.user = user_name();
    spec.identity.setup_path = dir.to_str().unwrap().to_owned();
    spec.identity.pid_path = dir.join("sleep.pid").to_str().unwrap().to_owned();
    spec.control.start_cmd = "exec sleep 1000".into();
    spec.monitor_policy.start_check_secs = 1;
    DesiredProcess {
        spec_json: spec.to_json(),
        ..desired(NAME, 1)
    }
}

pub(crate) fn user_name() -> String {
    let output = Program::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What the server has received so far.
struct Session {
    frames: SessionFrames,
    state: State,
    pid: i32,
}

impl Session {
    fn new(frames: SessionFrames) -> Self {
        Self {
            frames,
            state: State::Unknown,
            pid: -1,
        }
    }

    async fn operate(&mut self, number: u64, op_type: Op) -> Outcome {
        let command = Command {
            op: Some(op(number).into()),
            name: Some(NameRef::new(&name(NAME))),
            op_type: op_type.number().into(),
            ..Command::default()
        };
        self.frames.send(command.into()).await.unwrap();
        self.result(number).await
    }

    /// Receives until this operation has ended. Acknowledges every result: one whose acknowledgement was lost with the agent
    /// is sent again.
    async fn result(&mut self, number: u64) -> Outcome {
        loop {
            if let UpKind::Result(result) = self.receive_next().await {
                let ack = Ack {
                    results: result.op.into_iter().collect(),
                    ..Ack::default()
                };
                self.frames.send(ack.into()).await.unwrap();
                if result.op == Some(op(number).into()) {
                    return result.outcome().unwrap();
                }
            }
        }
    }

    async fn status(&mut self, expected: State) {
        while self.state != expected {
            self.receive_next().await;
        }
    }

    async fn receive_next(&mut self) -> UpKind {
        let frame = tokio::time::timeout(PATIENCE, self.frames.next()).await;
        let kind = frame.unwrap().unwrap().unwrap().kind.unwrap();
        if let UpKind::Report(report) = &kind {
            for status in &report.statuses {
                assert_eq!(status.full_name().unwrap(), name(NAME));
                let status = status.clone().into_status();
                (self.state, self.pid) = (status.state, status.pid);
            }
            self.frames.send(Ack::default().into()).await.unwrap();
        }
        kind
    }
}

#[tokio::test]
async fn a_process_survives_its_agent_and_is_adopted_again() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;

    let agent = Agent::start(&data, &server, &ca);
    server.enrol(&ca).await;
    let (frames, _, hello) = server.welcome().await;
    assert_eq!(hello.held_digest, 0);
    let mut session = Session::new(frames);
    let process = sleeper(dir.path());
    let list = Desired {
        full: true,
        last: true,
        processes: vec![process.clone()],
        forget: Vec::new(),
        ..Desired::default()
    };
    session.frames.send(list.into()).await.unwrap();
    let started = session.operate(1, Op::Start).await;
    assert_eq!(started.code, Code::OK, "{started:?}");
    session.status(State::Running).await;
    let sleeper = Sleeper(session.pid);
    assert!(sleeper.is_alive());

    // Kill and restart the agent.
    agent.signal(rustix::process::Signal::KILL);
    drop(agent);
    assert!(sleeper.is_alive());
    let mut agent = Agent::start(&data, &server, &ca);
    let (frames, _, hello) = server.welcome().await;
    let hash = wire::down::definition_hash(&process.spec_json, &process.labels_json);
    assert_eq!(
        hello.held_digest,
        wire::down::held_hash(&name(NAME), 1, hash)
    );
    let mut session = Session::new(frames);
    session.status(State::Running).await;
    assert_eq!(session.pid, sleeper.0);

    assert!(agent.private_kib() < 8 * 1024, "an agent is small");

    // Stop the agent by SIGTERM.
    agent.signal(rustix::process::Signal::TERM);
    let status = until("its end", || agent.child.try_wait().unwrap()).await;
    assert!(status.success(), "{status}");
    assert!(sleeper.is_alive());

    let _agent = Agent::start(&data, &server, &ca);
    let mut session = Session::new(server.welcome().await.0);
    session.status(State::Running).await;
    let stopped = session.operate(2, Op::Stop).await;
    assert_eq!(stopped.code, Code::OK, "{stopped:?}");
    session.status(State::Stopped).await;
    assert!(!sleeper.is_alive());
}

#[tokio::test]
async fn an_operation_under_way_when_the_agent_is_killed_ends_once() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let agent = Agent::start(&data, &server, &ca);
    server.enrol(&ca).await;
    let mut session = Session::new(server.welcome().await.0);
    let mut process = sleeper(dir.path());
    // Each execution leaves a line.
    let start = "echo begun >>begun; exec sleep 1000";
    process.spec_json = process.spec_json.replace("exec sleep 1000", start);
    let list = Desired {
        full: true,
        last: true,
        processes: vec![process],
        forget: Vec::new(),
        ..Desired::default()
    };
    session.frames.send(list.into()).await.unwrap();
    let command = Command {
        op: Some(op(1).into()),
        name: Some(NameRef::new(&name(NAME))),
        op_type: Op::Start.number().into(),
        ..Command::default()
    };
    session.frames.send(command.clone().into()).await.unwrap();
    let begun = dir.path().join("begun");
    until("the start command to run", || begun.exists()).await;
    agent.signal(rustix::process::Signal::KILL);
    drop(agent);

    let _agent = Agent::start(&data, &server, &ca);
    let (frames, _, hello) = server.welcome().await;
    assert_eq!(hello.held_ops, [op(1).into()]);
    let mut session = Session::new(frames);
    // A server that ignores the hello sends it again.
    session.frames.send(command.into()).await.unwrap();
    let outcome = session.result(1).await;
    assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    session.status(State::Running).await;
    let _sleeper = Sleeper(session.pid);
    assert_eq!(std::fs::read_to_string(begun).unwrap(), "begun\n");
}
