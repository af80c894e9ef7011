//! Frames from a server to an agent: the desired state.

use model::group::ProcessGroup;
use model::spec::after::{Place, When};
use model::{FullName, Invalid, Labels, Namespace, Spec};

use crate::ask::Ask;
use crate::from_frames;
use crate::up::OpRef;

pub use model::digest::{definition_hash, held_digest, held_hash};

/// Any frame that a server sends.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Down {
    #[prost(oneof = "DownKind", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub kind: Option<DownKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum DownKind {
    #[prost(message, tag = "1")]
    Welcome(Welcome),
    #[prost(message, tag = "2")]
    Desired(Desired),
    #[prost(message, tag = "3")]
    Command(Command),
    #[prost(message, tag = "4")]
    Ack(Ack),
    #[prost(message, tag = "5")]
    Bye(Bye),
    #[prost(message, tag = "6")]
    Ask(Ask),
    #[prost(message, tag = "7")]
    Move(Move),
    #[prost(message, tag = "8")]
    Dependencies(Dependencies),
}

from_frames!(Down, DownKind: Welcome(Welcome), Desired(Desired), Command(Command), Ack(Ack), Bye(Bye), Ask(Ask), Move(Move), Dependencies(Dependencies));

/// Response to a hello.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Welcome {
    #[prost(uint32, tag = "1")]
    pub version: u32,
    #[prost(int64, tag = "2")]
    pub server_time_ms: i64,
    #[prost(string, tag = "3")]
    pub server_version: String,
    /// The server grants reports of statuses by [`Ack::may_report`]. Without a grant the agent sends heartbeats, results, the
    /// statuses that led to them, events and answers.
    #[prost(bool, tag = "4")]
    pub grants_reports: bool,
}

/// Which processes the agent should hold.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Desired {
    /// This and the following frames until `last` list all processes: the agent forgets any other.
    #[prost(bool, tag = "1")]
    pub full: bool,
    /// Ends a full list.
    #[prost(bool, tag = "2")]
    pub last: bool,
    #[prost(message, repeated, tag = "3")]
    pub processes: Vec<DesiredProcess>,
    #[prost(message, repeated, tag = "4")]
    pub forget: Vec<NameRef>,
    /// Namespaces whose process groups changed; each with all of its groups.
    #[prost(message, repeated, tag = "5")]
    pub groups: Vec<GroupSet>,
}

/// The process groups of one namespace on this host.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GroupSet {
    #[prost(string, tag = "1")]
    pub namespace: String,
    /// A list of [`ProcessGroup`]s as JSON; an empty one removes them.
    #[prost(string, tag = "2")]
    pub groups_json: String,
}

impl GroupSet {
    pub fn new(namespace: &Namespace, groups: &[ProcessGroup]) -> Self {
        let groups_json = serde_json::to_string(groups).expect("groups have only string keys");
        Self {
            namespace: namespace.as_str().to_owned(),
            groups_json,
        }
    }

    pub fn groups(&self) -> Result<(Namespace, Vec<ProcessGroup>), Invalid> {
        let namespace = Namespace::parse_registered(&self.namespace)?;
        let groups = serde_json::from_str(&self.groups_json);
        Ok((
            namespace,
            groups.map_err(|e| Invalid::new("process_group", e.to_string()))?,
        ))
    }
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct NameRef {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(string, tag = "2")]
    pub name: String,
}

impl NameRef {
    pub fn new(name: &FullName) -> Self {
        Self {
            namespace: name.namespace.as_str().to_owned(),
            name: name.name.as_str().to_owned(),
        }
    }

    pub fn full_name(&self) -> Result<FullName, Invalid> {
        FullName::parse_registered(&self.namespace, &self.name)
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DesiredProcess {
    #[prost(message, optional, tag = "1")]
    pub name: Option<NameRef>,
    /// Distinguishes this registration from an earlier one of the same name.
    #[prost(uint64, tag = "2")]
    pub incarnation: u64,
    /// [`Spec::to_json`].
    #[prost(string, tag = "3")]
    pub spec_json: String,
    /// Labels as a JSON object.
    #[prost(string, tag = "4")]
    pub labels_json: String,
    /// What the server last recorded. Used only for an incarnation that the agent does not hold yet: after that, operations
    /// change it, and the agent's journal keeps it.
    #[prost(uint32, tag = "5")]
    pub flag: u32,
    #[prost(bool, tag = "6")]
    pub managed: bool,
    #[prost(int64, tag = "7")]
    pub registered_at_ms: i64,
}

impl DesiredProcess {
    pub fn full_name(&self) -> Result<FullName, Invalid> {
        self.name
            .as_ref()
            .ok_or_else(|| Invalid::required("name"))?
            .full_name()
    }

    pub fn spec(&self) -> Result<Spec, Invalid> {
        serde_json::from_str(&self.spec_json).map_err(|e| Invalid::new("spec", e.to_string()))
    }

    pub fn labels(&self) -> Result<Labels, Invalid> {
        serde_json::from_str(&self.labels_json).map_err(|e| Invalid::new("labels", e.to_string()))
    }
}

/// One operation. Executed at most once, however often it arrives.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Command {
    #[prost(message, optional, tag = "1")]
    pub op: Option<OpRef>,
    #[prost(message, optional, tag = "2")]
    pub name: Option<NameRef>,
    /// [`model::Op::number`].
    #[prost(uint32, tag = "3")]
    pub op_type: u32,
    /// A [`model::spec::Probe`] as JSON, for a query of an unregistered process; else empty.
    #[prost(string, tag = "4")]
    pub probe_json: String,
    /// After this the server ends the target; the agent does not begin an operation later.
    #[prost(int64, tag = "5")]
    pub deadline_ms: i64,
    /// When it was sent, by the clock of the deadline: the agent uses the difference, so its own clock does not matter. 0:
    /// unknown.
    #[prost(int64, tag = "6")]
    pub sent_ms: i64,
}

/// Results and events that the server has stored and the agent may delete.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Ack {
    #[prost(message, repeated, tag = "1")]
    pub results: Vec<OpRef>,
    /// Every event up to this one; 0 for none.
    #[prost(uint64, tag = "2")]
    pub events_through: u64,
    /// Grants so many statuses from now on, in place of what is left of earlier grants; 0 grants nothing. The frame in which they
    /// run out is sent whole.
    #[prost(uint32, tag = "3")]
    pub may_report: u32,
}

/// The server closes the connection, with a reason.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Bye {
    #[prost(string, tag = "1")]
    pub reason: String,
    /// Connecting again fails until an operator changes something.
    #[prost(bool, tag = "2")]
    pub permanent: bool,
    /// The agent's certificate is not valid any more: it must enrol again.
    #[prost(bool, tag = "3")]
    pub rejoin: bool,
}

/// Asks the agent to connect to another server, and to disconnect from this one once the other has welcomed it. An agent that
/// does not know this frame, or no other server, stays.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Move {
    #[prost(string, tag = "1")]
    pub reason: String,
}

/// What dependencies of this host's processes have come to on other hosts. Replaces what was said before; an agent that was
/// told nothing waits.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Dependencies {
    #[prost(message, repeated, tag = "1")]
    pub states: Vec<DependencyState>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DependencyState {
    #[prost(message, optional, tag = "1")]
    pub name: Option<NameRef>,
    /// [`model::spec::after::When::as_str`].
    #[prost(string, tag = "2")]
    pub when: String,
    /// [`model::spec::after::Place::as_str`].
    #[prost(string, tag = "3")]
    pub place: String,
    #[prost(bool, tag = "4")]
    pub is_met: bool,
    /// What is so instead, in a few words.
    #[prost(string, tag = "5")]
    pub unmet: String,
}

impl DependencyState {
    pub fn new(process: &FullName, when: When, place: Place, unmet: Option<&str>) -> Self {
        Self {
            name: Some(NameRef::new(process)),
            when: when.as_str().to_owned(),
            place: place.as_str().to_owned(),
            is_met: unmet.is_none(),
            unmet: unmet.unwrap_or_default().to_owned(),
        }
    }

    /// None for a dependency of a kind that this build does not know.
    pub fn dependency(&self) -> Option<(FullName, When, Place)> {
        let name = self.name.as_ref()?.full_name().ok()?;
        Some((name, When::parse(&self.when)?, Place::parse(&self.place)?))
    }
}
