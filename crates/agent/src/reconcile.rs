//! Turns desired state and commands of the server into requests to the supervisor.
//!
//! Pure: frames in, requests out, in order. A bad entry is skipped and logged.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::{Code, Flag, FullName, Invalid, Op, OpId, Outcome, UnixMillis};
use supervisor::{DependencyAnswer, Operation, Registration, Request};
use wire::down::definition_hash;
use wire::{Command, Dependencies, DependencyState, Desired, DesiredProcess};

/// The processes that the agent holds, with the versions that the server compares.
#[derive(Debug, Default)]
pub struct HeldProcesses {
    processes: HashMap<FullName, HeldVersion>,
    /// The names of a full list so far, while it is arriving.
    named: Option<HashSet<FullName>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldVersion {
    incarnation: u64,
    definition_hash: u64,
}

/// The hash of the definition that the server sent; 0 if the journal does not have all of it: an earlier agent dropped the
/// sections of the spec that it did not know. The server then sends it again.
fn known_hash(hold: &Registration) -> u64 {
    let labels = serde_json::to_string(&hold.labels).expect("labels have only string keys");
    let hash = definition_hash(&hold.spec.to_json(), &labels);
    if hash == hold.definition_hash {
        hash
    } else {
        0
    }
}

impl HeldProcesses {
    pub fn new(recovered: &[Registration]) -> Self {
        let registered = |hold: &Registration| {
            let version = HeldVersion {
                incarnation: hold.incarnation,
                definition_hash: known_hash(hold),
            };
            (hold.name.clone(), version)
        };
        Self {
            processes: recovered.iter().map(registered).collect(),
            named: None,
        }
    }

    pub fn contains(&self, name: &FullName) -> bool {
        self.processes.contains_key(name)
    }

    pub fn len(&self) -> usize {
        self.processes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// The digest by which the server knows whether to send anything.
    pub fn digest(&self) -> u64 {
        wire::down::held_digest(
            self.processes
                .iter()
                .map(|(name, held)| (name, held.incarnation, held.definition_hash)),
        )
    }

    /// Drops an incomplete full list, for a new connection.
    pub fn rewind(&mut self) {
        self.named = None;
    }

    /// The requests that make this frame true.
    pub fn apply(&mut self, frame: Desired) -> Vec<Request> {
        if frame.full && self.named.is_none() {
            self.named = Some(HashSet::new());
        }
        let mut requests = Vec::new();
        for process in &frame.processes {
            match self.hold(process) {
                Ok(hold) => requests.extend(hold.map(Request::Hold)),
                Err(invalid) => {
                    tracing::warn!(process = ?process.name, %invalid, "ignored a process: the server sent an invalid spec");
                }
            }
        }
        for set in &frame.groups {
            match set.groups() {
                Ok((namespace, groups)) => requests.push(Request::Groups(namespace, groups)),
                Err(invalid) => {
                    let namespace = &set.namespace;
                    tracing::warn!(namespace, %invalid, "ignored new process groups: the server sent invalid ones");
                }
            }
        }
        for name in &frame.forget {
            match name.full_name() {
                Ok(name) => requests.extend(self.forget(name)),
                Err(invalid) => {
                    tracing::warn!(process = ?name, %invalid, "ignored a removal: the server sent an invalid name");
                }
            }
        }
        if frame.last
            && let Some(named) = self.named.take()
        {
            let unnamed: Vec<FullName> = self
                .processes
                .keys()
                .filter(|name| !named.contains(*name))
                .cloned()
                .collect();
            requests.extend(unnamed.into_iter().filter_map(|name| self.forget(name)));
        }
        requests
    }

    /// `None` if the process is held in this version already.
    fn hold(&mut self, process: &DesiredProcess) -> Result<Option<Registration>, Invalid> {
        let name = process.full_name()?;
        // A bad entry still names its process: the process keeps its old spec and is not forgotten.
        if let Some(named) = &mut self.named {
            named.insert(name.clone());
        }
        let version = HeldVersion {
            incarnation: process.incarnation,
            definition_hash: definition_hash(&process.spec_json, &process.labels_json),
        };
        if self.processes.get(&name) == Some(&version) {
            return Ok(None);
        }
        let hold = Registration {
            name: name.clone(),
            incarnation: version.incarnation,
            spec: Arc::new(process.spec()?),
            labels: process.labels()?,
            definition_hash: version.definition_hash,
            flag: flag(process.flag)?,
            managed: process.managed,
            registered_at: UnixMillis(process.registered_at_ms),
        };
        self.processes.insert(name, version);
        Ok(Some(hold))
    }

    fn forget(&mut self, name: FullName) -> Option<Request> {
        if let Some(named) = &mut self.named {
            named.remove(&name);
        }
        self.processes.remove(&name).map(|_| Request::Forget(name))
    }
}

fn flag(number: u32) -> Result<Flag, Invalid> {
    u8::try_from(number)
        .map_err(|_| format!("{number} is no flag: 0, 1 or 2"))
        .and_then(Flag::try_from)
        .map_err(|rule| Invalid::new("flag", rule))
}

/// What the server says about dependencies on other hosts.
pub fn dependency_answers(frame: Dependencies) -> Vec<DependencyAnswer> {
    let answer = |state: DependencyState| {
        let (process, when, place) = state.dependency()?;
        Some(DependencyAnswer {
            process,
            when,
            place,
            unmet: (!state.is_met).then_some(state.unmet),
        })
    };
    frame.states.into_iter().filter_map(answer).collect()
}

/// Parses a command; the error is the outcome of one that cannot be executed.
pub fn operation(
    id: OpId,
    command: &Command,
    clock: ClockOffset,
    now: UnixMillis,
) -> Result<Operation, Box<Outcome>> {
    let Some(op) = Op::from_number(command.op_type.into()) else {
        let message = format!("unknown op type {}", command.op_type);
        return Err(Box::new(Outcome::plain(Code::UNKNOWN_OP, message, now)));
    };
    let refused = |invalid: Invalid| {
        let outcome = Outcome::plain(Code::INVALID, invalid.to_string(), now);
        Box::new(outcome)
    };
    let name = command
        .name
        .as_ref()
        .ok_or_else(|| refused(Invalid::required("name")))?;
    let probe = match command.probe_json.as_str() {
        "" => None,
        json => {
            let probe = serde_json::from_str(json);
            Some(probe.map_err(|e| refused(Invalid::new("probe", e.to_string())))?)
        }
    };
    Ok(Operation {
        id,
        process: name.full_name().map_err(refused)?,
        op,
        probe,
        deadline: match command.sent_ms {
            0 => clock.to_local(command.deadline_ms),
            // `sent_ms` makes the deadline independent of clock changes since the welcome.
            sent => ClockOffset::new(UnixMillis(sent), now).to_local(command.deadline_ms),
        },
    })
}

/// How far the server's clock is ahead of this host's. Deadlines are in server time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockOffset {
    ahead_ms: i64,
}

impl ClockOffset {
    pub fn new(server: UnixMillis, local: UnixMillis) -> Self {
        let ahead_ms = match server {
            UnixMillis::NEVER => 0,
            server => server.0.saturating_sub(local.0),
        };
        Self { ahead_ms }
    }

    /// 0 means no deadline.
    fn to_local(self, server_ms: i64) -> UnixMillis {
        match server_ms {
            0 => UnixMillis(i64::MAX),
            at => UnixMillis(at.saturating_sub(self.ahead_ms)),
        }
    }
}
