//! The changes of one commit. The store writes them, the fleet applies them, replicas exchange them: one form for all three.
//!
//! The planner of a change chooses its ids, which are small numbers. This is safe because a commit names the revision that
//! it was planned against, and the store refuses it if a newer revision exists.

use std::sync::Arc;

use crate::access::{App, Audit, JoinToken, Login, User};
use crate::config_template::TemplateChanges;
use crate::event::Event;
use crate::group::ProcessGroup;
use crate::job::{JobRow, JobTaskRow};
use crate::spec::Probe;
use crate::timeline::TimelineRow;
use crate::topology::{BkProcessId, TopologyChanges};
use crate::version::VersionRow;
use crate::webhook::Webhook;
use crate::{
    AgentId, Flag, FullName, Host, Labels, Namespace, Op, OpId, Outcome, Spec, TaskId, UnixMillis,
};

/// The number of a commit. Gap-free: revision n + 1 is the commit after n.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "r{}", self.0)
    }
}

macro_rules! id_type {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub u32);

        impl $type {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id_type!(
    /// A host that enrolled or that a request named.
    HostId
);
id_type!(
    /// A (namespace, name) pair.
    NameId
);
id_type!(
    /// A spec with its labels, shared by every process that uses it.
    DefinitionId
);
id_type!(
    /// One registered process. Reused after its removal.
    ProcessId
);

/// Each row holds the whole new state of its object, so applying it is idempotent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    pub hosts: Vec<HostRow>,
    pub names: Vec<NameRow>,
    pub definitions: Vec<DefinitionRow>,
    pub definitions_gone: Vec<DefinitionId>,
    pub processes: Vec<ProcessRow>,
    pub processes_gone: Vec<ProcessId>,
    pub groups: Vec<GroupRow>,
    pub tasks: Vec<TaskRow>,
    pub targets: Vec<TargetRow>,
    pub outcomes: Vec<OutcomeRow>,
    pub events: Vec<EventRow>,
    pub apps: Vec<App>,
    pub apps_gone: Vec<String>,
    pub users: Vec<User>,
    pub users_gone: Vec<String>,
    pub logins: Vec<Login>,
    pub logins_gone: Vec<[u8; 32]>,
    pub join_tokens: Vec<JoinToken>,
    pub join_tokens_gone: Vec<String>,
    pub webhooks: Vec<Webhook>,
    pub webhooks_gone: Vec<String>,
    pub topology: TopologyChanges,
    pub jobs: Vec<JobRow>,
    pub job_tasks: Vec<JobTaskRow>,
    pub templates: TemplateChanges,
    pub audit: Vec<Audit>,
    /// Written with the commit; never read back as changes.
    pub timeline: Vec<TimelineRow>,
    /// The same; the store numbers them.
    pub versions: Vec<VersionRow>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How many rows of the tables that grow with the fleet.
    pub fn n_rows(&self) -> usize {
        let of_view = self.topology.processes.len() + self.topology.processes_gone.len();
        let registered = self.processes.len() + self.processes_gone.len();
        of_view + registered + self.hosts.len() + self.targets.len() + self.outcomes.len()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRow {
    pub id: HostId,
    pub host: Host,
    pub agent_id: Option<AgentId>,
    /// `NEVER` if only a request named it.
    pub enrolled_at: UnixMillis,
    /// `bk_supplier_id` of the last registration that had one. Echoed to callers, not part of the identity.
    pub supplier: i64,
    /// When the host was removed. The row stays, because history refers to its id; a host that comes back gets another one.
    pub removed_at: Option<UnixMillis>,
    /// Its processes have them, too, where they have no label of the same key.
    pub labels: Labels,
}

impl HostRow {
    /// A host that a request names for the first time.
    pub fn new(id: HostId, host: Host) -> Self {
        Self {
            id,
            host,
            agent_id: None,
            enrolled_at: UnixMillis::NEVER,
            supplier: 0,
            removed_at: None,
            labels: Labels::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRow {
    pub id: NameId,
    pub name: FullName,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionRow {
    pub id: DefinitionId,
    pub name: NameId,
    pub spec: Arc<Spec>,
    pub labels: Arc<Labels>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessRow {
    pub id: ProcessId,
    pub host: HostId,
    pub name: NameId,
    pub definition: DefinitionId,
    pub flag: Flag,
    pub managed: bool,
    pub registered_at: UnixMillis,
    /// The revision that registered it: distinguishes it from an earlier process of the same name.
    pub incarnation: Revision,
    /// The process of the view of which this is an instance. Adds the label `bk_process_id`.
    pub owner: Option<BkProcessId>,
}

/// All process groups of a namespace on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRow {
    pub host: HostId,
    pub namespace: Namespace,
    pub groups: Vec<ProcessGroup>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub created_at: UnixMillis,
    pub app: String,
    pub user: String,
    /// The task whose failed targets it repeats.
    pub retries: Option<TaskId>,
}

/// One target as requested. Its result is an [`OutcomeRow`].
#[derive(Debug, Clone, PartialEq)]
pub struct TargetRow {
    pub op_id: OpId,
    pub op: Op,
    /// None if the agent id is unknown or the address invalid.
    pub host: Option<HostId>,
    pub process: Arc<FullName>,
    /// The text before `:namespace:name` in the caller's keys; several if the caller named the host in several ways.
    pub key_prefixes: Arc<[Box<str>]>,
    /// For operations on processes without a registration.
    pub probe: Option<Arc<Probe>>,
    /// After this the target ends as terminated.
    pub deadline: UnixMillis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeRow {
    pub op_id: OpId,
    pub outcome: Outcome,
}

/// An event as the server received it. (host, seq) identifies it, so repetitions are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    pub host: HostId,
    pub seq: u64,
    pub event: Event,
}
