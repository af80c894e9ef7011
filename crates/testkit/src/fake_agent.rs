//! The agent's end of a connection to a [`Control`], driven frame by frame: tests of `control` and `server` decide what the
//! agent receives and sends, and when.

use std::time::Duration;

use control::{Control, ControlError, Session};
use model::event::Event;
use model::spec::SpecExtensions;
use model::{AgentId, Code, Flag, Host, OpId, Outcome, Status, UnixMillis};
use testing::wait::PATIENCE;
use wire::{
    Command, Desired, DownKind, EventFrame, Hello, Output, ProcessStatus, Question, Received,
    Report, ResultFrame,
};

/// How long [`FakeAgent::hears`] waits before it takes the server to be silent.
const SILENCE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct FakeAgent {
    pub session: Session,
}

impl FakeAgent {
    /// Enrols a host with this join token, unless it is enrolled.
    pub async fn enrol(control: &Control, token: &str, host: Host, id: Option<AgentId>) {
        match control.enrolment().enrol(token, host, id, None).await {
            Ok(_) | Err(ControlError::HostInUse(_)) => {}
            Err(error) => panic!("{host} is not enrolled: {error}"),
        }
    }

    /// Connects as an enrolled host.
    pub fn connect(control: &Control, host: Host, hello: &Hello) -> Self {
        Self {
            session: control.sessions().attach(host, hello).unwrap(),
        }
    }

    /// The hello of a host that holds nothing.
    pub fn hello(host: Host) -> Hello {
        Hello {
            oldest: 1,
            newest: 1,
            agent_version: "1.2.3".into(),
            cloud: host.cloud,
            ip: host.ip.to_string(),
            hostname: "box".into(),
            root: true,
            cores: 2,
            extensions: SpecExtensions::all().names().map(str::to_owned).collect(),
            ..Hello::default()
        }
    }

    /// The next frames of the server; none if it stays silent.
    pub async fn received(&self) -> Vec<DownKind> {
        match tokio::time::timeout(SILENCE, self.session.next()).await {
            Ok(frames) => frames.into_iter().filter_map(|frame| frame.kind).collect(),
            Err(_) => Vec::new(),
        }
    }

    async fn received_only<T>(&self, pick: impl Fn(DownKind) -> Option<T>) -> Vec<T> {
        self.received().await.into_iter().filter_map(pick).collect()
    }

    pub async fn received_commands(&self) -> Vec<Command> {
        self.received_only(command).await
    }

    /// What should run, without frames that are only about groups.
    pub async fn received_processes(&self) -> Vec<Desired> {
        let mut desired = self.received_desired().await;
        desired.retain(|desired| desired.groups.is_empty());
        desired
    }

    pub async fn received_desired(&self) -> Vec<Desired> {
        let desired = |kind| match kind {
            DownKind::Desired(desired) => Some(desired),
            _ => None,
        };
        self.received_only(desired).await
    }

    /// Waits for `n` frames of a kind, which may come together.
    pub async fn receive<T>(&self, n: usize, pick: impl Fn(DownKind) -> Option<T>) -> Vec<T> {
        let mut received = Vec::new();
        while received.len() < n {
            let frames = tokio::time::timeout(PATIENCE, self.session.next()).await;
            let frames = frames.expect("the server sends what the test waits for");
            received.extend(frames.into_iter().filter_map(|frame| pick(frame.kind?)));
        }
        received
    }

    pub async fn commands(&self, n: usize) -> Vec<Command> {
        self.receive(n, command).await
    }

    pub async fn next_command(&self) -> Command {
        self.commands(1).await.remove(0)
    }

    /// The next live question, with its id.
    pub async fn next_question(&self) -> (u64, Question) {
        let question = |kind| match kind {
            DownKind::Ask(ask) => Some((ask.id, ask.question().unwrap())),
            _ => None,
        };
        self.receive(1, question).await.remove(0)
    }

    pub async fn send(&self, frame: impl Into<Received>) {
        self.session.take(frame.into()).await.unwrap();
    }

    pub async fn answer(&self, op: OpId, outcome: Outcome) {
        self.send(ResultFrame::new(op, &outcome)).await;
    }

    pub async fn answer_ok(&self, command: &Command, flag: Option<Flag>, managed: Option<bool>) {
        let outcome = Outcome {
            flag,
            managed,
            ..Outcome::plain(Code::OK, "success", UnixMillis(1_700_000_000_000))
        };
        self.answer(op_of(command), outcome).await;
    }

    pub async fn end(&self, command: &Command, outcome: Outcome) {
        self.answer(op_of(command), outcome).await;
    }

    /// Waits for a command and ends it.
    pub async fn end_next(&self, outcome: impl Fn(OpId) -> Outcome) {
        let id = op_of(&self.next_command().await);
        self.answer(id, outcome(id)).await;
    }

    pub async fn end_well(&self, flag: Flag, managed: bool) {
        let command = self.next_command().await;
        self.answer_ok(&command, Some(flag), Some(managed)).await;
    }

    /// One chunk of an answer that goes on.
    pub async fn send_chunk(&self, id: u64, chunk: impl Into<Vec<u8>>) {
        let chunk = chunk.into();
        self.send(Output {
            id,
            chunk,
            ..Output::default()
        })
        .await;
    }

    /// The last chunk of an answer.
    pub async fn send_last(&self, id: u64, chunk: impl Into<Vec<u8>>) {
        let chunk = chunk.into();
        self.send(Output {
            id,
            chunk,
            last: true,
            ..Output::default()
        })
        .await;
    }

    /// An empty chunk, which says that the work has begun, then everything at once.
    pub async fn send_all(&self, id: u64, bytes: Vec<u8>) {
        self.send_chunk(id, "").await;
        self.send_last(id, bytes).await;
    }

    pub async fn sends_event(&self, seq: u64, event: &Event) {
        self.send(EventFrame::new(seq, event)).await;
    }

    pub async fn reports(&self, name: &str, status: Status) {
        let statuses = vec![ProcessStatus::new(&name.parse().unwrap(), &status)];
        self.send(Report { statuses }).await;
    }
}

fn command(kind: DownKind) -> Option<Command> {
    match kind {
        DownKind::Command(command) => Some(command),
        _ => None,
    }
}

pub fn op_of(command: &Command) -> OpId {
    command.op.unwrap().into()
}
