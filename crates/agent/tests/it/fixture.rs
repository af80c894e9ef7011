//! An agent's state with queues in place of the supervisor, and the server's end of an in-memory connection.

use std::sync::Arc;
use std::time::Duration;

use agent::facts::HostFacts;
use agent::session::{AgentInfo, SessionEnd, run_session};
use agent::state::AgentState;
use agent::supervisor_link::SupervisorLink;
use futures_util::{SinkExt, StreamExt};
use model::kernel::KernelFeatures;
use model::spec::{Commands, Identity, Limits, Policy, WarnReport};
use model::{Code, FullName, Host, OpId, Outcome, Spec, State, Status, TaskId, UnixMillis};
use supervisor::{Notice, Recovered, Registration, Request};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_util::codec::Framed;
use tokio_util::sync::CancellationToken;
use wire::down::NameRef;
use wire::{Codec, Command, DesiredProcess, Down, Hello, Up, UpKind, Welcome};

/// In simulated time.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The supervisor's ends of the queues.
pub(crate) struct FakeSupervisor {
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) notices: mpsc::Sender<Notice>,
}

pub(crate) fn state(recovered: Recovered, room: usize) -> (AgentState, FakeSupervisor) {
    let (request_tx, requests) = mpsc::channel(room);
    let (notices, notice_rx) = mpsc::channel(room);
    let state = AgentState::new(recovered, SupervisorLink::new(request_tx, notice_rx));
    (state, FakeSupervisor { requests, notices })
}

/// The server's end of an in-memory connection.
pub(crate) type Server = Framed<DuplexStream, Codec<Up, Down>>;

/// Runs one session against `script`; it ends by itself, or when the script drops its end.
pub(crate) async fn session<T>(
    state: &mut AgentState,
    buffer: usize,
    script: impl AsyncFnOnce(Server) -> T,
) -> (SessionEnd, T) {
    let (near, far) = tokio::io::duplex(buffer);
    let stop = CancellationToken::new();
    let info = info();
    let nowhere = async |_, _| None;
    let both = async {
        tokio::join!(
            run_session(near, 0, &info, state, &stop, &nowhere),
            script(Framed::new(far, Codec::new()))
        )
    };
    let (ended, value) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    (ended.unwrap(), value)
}

pub(crate) fn info() -> AgentInfo {
    AgentInfo {
        host: host(),
        agent_id: model::AgentId::parse("a-1").unwrap(),
        facts: HostFacts {
            root: true,
            hostname: "box".into(),
            kernel: "6.1".into(),
            cores: 2,
            memory_kib: 1024,
            arch: "x86_64".into(),
            program: "muster-agent".into(),
            missing: KernelFeatures::default(),
        },
        clock: || UnixMillis(1_800_000_000_000),
    }
}

pub(crate) fn host() -> Host {
    "3:10.0.0.7".parse().unwrap()
}

/// Reads the hello and sends the welcome.
pub(crate) async fn welcome(server: &mut Server) -> Hello {
    let Some(UpKind::Hello(hello)) = receive(server).await else {
        panic!("the first frame is no hello");
    };
    let welcome = Welcome {
        version: 1,
        ..Welcome::default()
    };
    send(server, welcome).await;
    hello
}

pub(crate) async fn send(server: &mut Server, frame: impl Into<Down>) {
    server.send(frame.into()).await.unwrap();
}

pub(crate) async fn receive(server: &mut Server) -> Option<UpKind> {
    server.next().await?.unwrap().kind
}

pub(crate) fn name(text: &str) -> FullName {
    text.parse().unwrap()
}

pub(crate) fn op(n: u64) -> OpId {
    OpId {
        task: TaskId::from_number(n),
        ordinal: 1,
    }
}

pub(crate) fn outcome(n: u64) -> Outcome {
    Outcome::plain(Code::OK, format!("result {n}"), UnixMillis(5))
}

pub(crate) fn running(pid: i32) -> Status {
    Status {
        state: State::Running,
        pid,
        ..Status::default()
    }
}

pub(crate) fn spec() -> Spec {
    Spec {
        identity: Identity {
            index_key: String::new(),
            proc_name: "sleep".into(),
            setup_path: "/tmp".into(),
            pid_path: "/tmp/sleep.pid".into(),
            config_path: String::new(),
            log_path: String::new(),
            user: "root".into(),
        },
        control: Commands {
            start_cmd: "sleep 1000".into(),
            ..Commands::default()
        },
        resource: Limits::default(),
        monitor_policy: Policy::default(),
        warn_report_policy: WarnReport::default(),
        configmap: Vec::new(),
        runtime: Default::default(),
        restart: Default::default(),
        stop: Default::default(),
        schedule: Default::default(),
        probes: Default::default(),
        after: Default::default(),
    }
}

pub(crate) fn desired(full_name: &str, incarnation: u64) -> DesiredProcess {
    DesiredProcess {
        name: Some(NameRef::new(&name(full_name))),
        incarnation,
        spec_json: spec().to_json(),
        labels_json: "{}".into(),
        flag: 2,
        managed: false,
        registered_at_ms: 1,
    }
}

/// The same process as recovered from the journal.
pub(crate) fn recovered(full_name: &str, incarnation: u64) -> Registration {
    let process = desired(full_name, incarnation);
    Registration {
        name: name(full_name),
        incarnation,
        spec: Arc::new(spec()),
        labels: Default::default(),
        definition_hash: wire::down::definition_hash(&process.spec_json, &process.labels_json),
        flag: model::Flag::Stopped,
        managed: false,
        registered_at: UnixMillis(1),
    }
}

pub(crate) fn command(id: OpId, op_type: u32) -> Command {
    Command {
        op: Some(id.into()),
        name: Some(NameRef::new(&name("gse/p"))),
        op_type,
        probe_json: String::new(),
        deadline_ms: 0,
        sent_ms: 0,
    }
}
