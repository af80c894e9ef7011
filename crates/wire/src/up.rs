//! Frames from an agent to its server: the observed state.

use model::status::{Exit, HealthResult, LastExit, OomMemory, ProbeResults, ProcessState};
use model::{Flag, FullName, Invalid, Outcome, State, Status, UnixMillis};

use crate::ask::Output;
use crate::from_frames;

/// The tag of [`UpKind::Report`], and of its statuses.
pub(crate) const REPORT_TAG: u32 = 2;
pub(crate) const STATUS_TAG: u32 = 1;

/// Any frame that an agent sends.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Up {
    #[prost(oneof = "UpKind", tags = "1, 2, 3, 4, 5")]
    pub kind: Option<UpKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum UpKind {
    #[prost(message, tag = "1")]
    Hello(Hello),
    #[prost(message, tag = "2")]
    Report(Report),
    #[prost(message, tag = "3")]
    Result(ResultFrame),
    #[prost(message, tag = "4")]
    Event(EventFrame),
    #[prost(message, tag = "5")]
    Output(Output),
}

from_frames!(Up, UpKind: Hello(Hello), Report(Report), Result(ResultFrame), Event(EventFrame), Output(Output));

/// First frame of a connection.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Hello {
    #[prost(uint32, tag = "1")]
    pub oldest: u32,
    #[prost(uint32, tag = "2")]
    pub newest: u32,
    #[prost(string, tag = "3")]
    pub agent_version: String,
    #[prost(uint32, tag = "4")]
    pub cloud: u32,
    #[prost(string, tag = "5")]
    pub ip: String,
    #[prost(string, tag = "6")]
    pub agent_id: String,
    /// [`crate::down::held_digest`] over the specs that the agent holds. If it equals the server's, nothing needs to be sent.
    #[prost(fixed64, tag = "7")]
    pub held_digest: u64,
    /// Operations that the agent has accepted, and whose results are not yet acknowledged.
    #[prost(message, repeated, tag = "8")]
    pub held_ops: Vec<OpRef>,
    /// Whether it runs as root: another user can run only its own processes.
    #[prost(bool, tag = "9")]
    pub root: bool,
    #[prost(string, tag = "10")]
    pub hostname: String,
    #[prost(string, tag = "11")]
    pub kernel: String,
    #[prost(uint32, tag = "12")]
    pub cores: u32,
    #[prost(uint64, tag = "13")]
    pub memory_kib: u64,
    /// Rises with every connection of this agent, so that servers can tell the newer of two. 0: unknown.
    #[prost(uint64, tag = "14")]
    pub session: u64,
    /// [`model::kernel::KernelFeature::as_str`] of what its host lacks.
    #[prost(string, repeated, tag = "15")]
    pub missing: Vec<String>,
    /// The processor that it is built for, as `uname -m` names it.
    #[prost(string, tag = "16")]
    pub arch: String,
    /// `muster-agent` or `muster`, if the server may replace its binary; else empty.
    #[prost(string, tag = "17")]
    pub program: String,
    /// [`model::spec::SpecExtension::as_str`] of the sections of specs that it knows beyond those of the first version.
    #[prost(string, repeated, tag = "18")]
    pub extensions: Vec<String>,
    /// It waits for [`crate::Ack::may_report`] before it reports statuses, if the server says [`crate::Welcome::grants_reports`].
    #[prost(bool, tag = "19")]
    pub waits_for_grants: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct OpRef {
    #[prost(fixed64, tag = "1")]
    pub task: u64,
    #[prost(uint32, tag = "2")]
    pub ordinal: u32,
}

impl From<model::OpId> for OpRef {
    fn from(id: model::OpId) -> Self {
        Self {
            task: id.task.number(),
            ordinal: id.ordinal,
        }
    }
}

impl From<OpRef> for model::OpId {
    fn from(op: OpRef) -> Self {
        Self {
            task: model::TaskId::from_number(op.task),
            ordinal: op.ordinal,
        }
    }
}

/// Statuses that changed; an empty report is the heartbeat. The first one of a connection names every process held.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Report {
    #[prost(message, repeated, tag = "1")]
    pub statuses: Vec<ProcessStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessStatus {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub name: String,
    /// 0 unknown, 1 running, 2 stopped.
    #[prost(uint32, tag = "3")]
    pub state: u32,
    #[prost(sint32, tag = "4")]
    pub pid: i32,
    #[prost(string, tag = "5")]
    pub version: String,
    #[prost(int64, tag = "6")]
    pub started_at_ms: i64,
    #[prost(int64, tag = "7")]
    pub reported_at_ms: i64,
    #[prost(float, tag = "8")]
    pub cpu: f32,
    #[prost(float, tag = "9")]
    pub mem: f32,
    #[prost(uint32, tag = "10")]
    pub fd: u32,
    #[prost(uint64, tag = "11")]
    pub disk: u64,
    #[prost(uint64, tag = "12")]
    pub net: u64,
    #[prost(string, tag = "13")]
    pub message: String,
    /// The desired flag that the agent holds (0, 1, 2), and whether it manages the process.
    #[prost(uint32, optional, tag = "14")]
    pub flag: Option<u32>,
    #[prost(bool, optional, tag = "15")]
    pub managed: Option<bool>,
    /// [`model::status::ProcessState::number`]; 0 from an agent that reports `state` alone.
    #[prost(uint32, tag = "16")]
    pub process_state: u32,
    /// When the next attempt or scheduled run is due; 0 for none.
    #[prost(int64, tag = "17")]
    pub next_at_ms: i64,
    #[prost(uint32, tag = "18")]
    pub restarts: u32,
    #[prost(message, optional, tag = "19")]
    pub last_exit: Option<LastExitFrame>,
    #[prost(message, optional, tag = "20")]
    pub health: Option<HealthFrame>,
    #[prost(bool, tag = "21")]
    pub restart_needed: bool,
    /// None without a result of a probe.
    #[prost(message, optional, tag = "22")]
    pub probes: Option<ProbesFrame>,
}

/// How the last run ended. Neither code nor signal: that is not known.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct LastExitFrame {
    #[prost(sint32, optional, tag = "1")]
    pub code: Option<i32>,
    #[prost(sint32, optional, tag = "2")]
    pub signal: Option<i32>,
    #[prost(int64, tag = "3")]
    pub at_ms: i64,
    #[prost(bool, tag = "4")]
    pub oom: bool,
    /// The most memory that it used, and its limit, in bytes; 0 if not known.
    #[prost(uint64, tag = "5")]
    pub memory_used: u64,
    #[prost(uint64, tag = "6")]
    pub memory_limit: u64,
    #[prost(bool, tag = "7")]
    pub host_restarted: bool,
}

impl From<LastExit> for LastExitFrame {
    fn from(last: LastExit) -> Self {
        Self {
            code: match last.exit {
                Exit::Code(code) => Some(code),
                Exit::Signal(_) | Exit::Unseen => None,
            },
            signal: match last.exit {
                Exit::Signal(signal) => Some(signal),
                Exit::Code(_) | Exit::Unseen => None,
            },
            at_ms: last.at.0,
            oom: last.oom,
            memory_used: last.memory.unwrap_or_default().used,
            memory_limit: last.memory.unwrap_or_default().limit,
            host_restarted: last.host_restarted,
        }
    }
}

impl From<LastExitFrame> for LastExit {
    fn from(frame: LastExitFrame) -> Self {
        Self {
            exit: match (frame.code, frame.signal) {
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unseen,
            },
            at: UnixMillis(frame.at_ms),
            oom: frame.oom,
            memory: OomMemory {
                used: frame.memory_used,
                limit: frame.memory_limit,
            }
            .known(),
            host_restarted: frame.host_restarted,
        }
    }
}

/// The last result of a health check.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HealthFrame {
    #[prost(bool, tag = "1")]
    pub ok: bool,
    #[prost(int64, tag = "2")]
    pub checked_at_ms: i64,
    #[prost(string, tag = "3")]
    pub message: String,
}

impl From<&HealthResult> for HealthFrame {
    fn from(result: &HealthResult) -> Self {
        Self {
            ok: result.ok,
            checked_at_ms: result.checked_at.0,
            message: result.message.clone(),
        }
    }
}

impl From<HealthFrame> for HealthResult {
    fn from(frame: HealthFrame) -> Self {
        Self {
            ok: frame.ok,
            checked_at: UnixMillis(frame.checked_at_ms),
            message: frame.message,
        }
    }
}

/// The last result of each probe of `spec.probes`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ProbesFrame {
    #[prost(message, optional, tag = "1")]
    pub ready: Option<HealthFrame>,
    #[prost(message, optional, tag = "2")]
    pub live: Option<HealthFrame>,
}

impl ProbesFrame {
    fn of(results: &ProbeResults) -> Option<Self> {
        (!results.is_empty()).then(|| Self {
            ready: results.ready.as_ref().map(Into::into),
            live: results.live.as_ref().map(Into::into),
        })
    }

    fn into_results(self) -> ProbeResults {
        ProbeResults {
            ready: self.ready.map(Into::into),
            live: self.live.map(Into::into),
        }
    }
}

impl ProcessStatus {
    pub fn new(name: &FullName, status: &Status) -> Self {
        Self {
            namespace: name.namespace.as_str().to_owned(),
            name: name.name.as_str().to_owned(),
            state: match status.state {
                State::Unknown => 0,
                State::Running => 1,
                State::Stopped => 2,
            },
            pid: status.pid,
            version: status.version.clone(),
            started_at_ms: status.started_at.0,
            reported_at_ms: status.reported_at.0,
            cpu: status.cpu,
            mem: status.mem,
            fd: status.fd,
            disk: status.disk,
            net: status.net,
            message: status.message.clone(),
            flag: status.flag.map(|flag| u32::from(u8::from(flag))),
            managed: status.managed,
            process_state: status.process_state.number().into(),
            next_at_ms: status.next_at.0,
            restarts: status.restarts,
            last_exit: status.last_exit.map(Into::into),
            health: status.health.as_ref().map(Into::into),
            restart_needed: status.restart_needed,
            probes: ProbesFrame::of(&status.probes),
        }
    }

    pub fn full_name(&self) -> Result<FullName, Invalid> {
        FullName::parse_registered(&self.namespace, &self.name)
    }

    pub fn into_status(self) -> Status {
        let state = match self.state {
            1 => State::Running,
            2 => State::Stopped,
            _ => State::Unknown,
        };
        let process_state = u8::try_from(self.process_state).unwrap_or_default();
        Status {
            state,
            process_state: ProcessState::from_number(process_state).or_from(state),
            pid: self.pid,
            version: self.version,
            started_at: UnixMillis(self.started_at_ms),
            reported_at: UnixMillis(self.reported_at_ms),
            cpu: self.cpu,
            mem: self.mem,
            fd: self.fd,
            disk: self.disk,
            net: self.net,
            message: self.message,
            flag: self
                .flag
                .and_then(|flag| Flag::try_from(u8::try_from(flag).ok()?).ok()),
            managed: self.managed,
            next_at: UnixMillis(self.next_at_ms),
            restarts: self.restarts,
            last_exit: self.last_exit.map(Into::into),
            health: self.health.map(Into::into),
            probes: self
                .probes
                .map(ProbesFrame::into_results)
                .unwrap_or_default(),
            restart_needed: self.restart_needed,
        }
        .bound()
    }
}

/// How an operation ended. Repeated until it is acknowledged.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResultFrame {
    #[prost(message, optional, tag = "1")]
    pub op: Option<OpRef>,
    /// A [`model::Outcome`] as JSON, as the store keeps it.
    #[prost(bytes = "vec", tag = "2")]
    pub outcome_json: Vec<u8>,
}

impl ResultFrame {
    pub fn new(id: model::OpId, outcome: &Outcome) -> Self {
        let outcome_json = serde_json::to_vec(outcome).expect("an outcome has only string keys");
        Self {
            op: Some(id.into()),
            outcome_json,
        }
    }

    pub fn outcome(&self) -> Result<Outcome, Invalid> {
        serde_json::from_slice(&self.outcome_json)
            .map(Outcome::bound)
            .map_err(|e| Invalid::new("outcome", e.to_string()))
    }
}

/// An event on the host. Repeated until a sequence number at or above its own is acknowledged.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EventFrame {
    /// Rises with each event of this host, for ever, even if its journal is lost.
    #[prost(uint64, tag = "1")]
    pub seq: u64,
    #[prost(int64, tag = "2")]
    pub at_ms: i64,
    #[prost(string, tag = "3")]
    pub namespace: String,
    #[prost(string, tag = "4")]
    pub name: String,
    /// As in [`model::event::EventKind::as_str`].
    #[prost(string, tag = "5")]
    pub kind: String,
    #[prost(string, tag = "6")]
    pub reason: String,
    #[prost(sint32, optional, tag = "7")]
    pub exit_code: Option<i32>,
    #[prost(sint32, optional, tag = "8")]
    pub exit_signal: Option<i32>,
    #[prost(sint64, tag = "9")]
    pub report_id: i64,
}

impl EventFrame {
    pub fn new(seq: u64, event: &model::event::Event) -> Self {
        Self {
            seq,
            at_ms: event.at.0,
            namespace: event.process.namespace.as_str().to_owned(),
            name: event.process.name.as_str().to_owned(),
            kind: event.kind.as_str().to_owned(),
            reason: event.reason.clone(),
            exit_code: match event.exit {
                Some(Exit::Code(code)) => Some(code),
                _ => None,
            },
            exit_signal: match event.exit {
                Some(Exit::Signal(signal)) => Some(signal),
                _ => None,
            },
            report_id: event.report_id,
        }
    }

    pub fn event(&self) -> Result<model::event::Event, Invalid> {
        Ok(model::event::Event {
            at: UnixMillis(self.at_ms),
            process: FullName::parse_registered(&self.namespace, &self.name)?,
            kind: model::event::EventKind::parse(&self.kind).ok_or_else(|| {
                Invalid::new("kind", format!("{:?} is no kind of event", self.kind))
            })?,
            reason: self.reason.clone(),
            exit: match (self.exit_code, self.exit_signal) {
                (Some(code), _) => Some(Exit::Code(code)),
                (None, Some(signal)) => Some(Exit::Signal(signal)),
                (None, None) => None,
            },
            report_id: self.report_id,
        }
        .bound())
    }
}
