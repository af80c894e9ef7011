//! One process, borrowed from the fleet: columns, definition and host together.

use std::borrow::Cow;

use model::change::{DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::selector::LabelSelector;
use model::status::{HealthResult, LastExit, ProbeResults};
use model::topology::{BkProcessId, BusinessId, SetEnv};
use model::{Flag, FullName, Labels, ProcessState, State, UnixMillis};

use crate::columns::Block;
use crate::condition::{Health, ProbeHealth};
use crate::labels::OWNER_LABEL;
use crate::observed::{Extras, Observation};
use crate::{Definition, Fleet, HostView, Link};

#[derive(Debug, Clone)]
pub struct Row<'a> {
    fleet: &'a Fleet,
    id: ProcessId,
    block: &'a Block,
    at: usize,
    name: &'a FullName,
    definition: &'a Definition,
    host: HostView<'a>,
    seen: Observation,
}

impl<'a> Row<'a> {
    pub(crate) fn new(fleet: &'a Fleet, id: ProcessId) -> Option<Self> {
        let (block, at) = fleet.columns.block(id)?;
        Some(Self {
            fleet,
            id,
            block,
            at,
            name: fleet.names.get(NameId(block.name[at]))?,
            definition: fleet.definitions.get(DefinitionId(block.definition[at]))?,
            host: fleet.hosts.view(HostId(block.host[at]))?,
            seen: block.observed.read(at),
        })
    }

    pub fn id(&self) -> ProcessId {
        self.id
    }

    pub fn host(&self) -> HostView<'a> {
        self.host
    }

    pub fn name(&self) -> &'a FullName {
        self.name
    }

    pub fn name_id(&self) -> NameId {
        NameId(self.block.name[self.at])
    }

    /// The labels of its registration; an instance also has its owner's id.
    pub fn labels(&self) -> Cow<'a, Labels> {
        let given = &*self.definition.labels;
        match self.owner() {
            None => Cow::Borrowed(given),
            Some(owner) => Cow::Owned(given.with(OWNER_LABEL, &owner.to_string())),
        }
    }

    /// The value that selectors test: of one of [`Self::labels`], otherwise of its host's label.
    pub fn label(&self, key: &str) -> Option<Cow<'a, str>> {
        match (key, self.owner()) {
            (OWNER_LABEL, Some(owner)) => Some(Cow::Owned(owner.to_string())),
            _ => {
                let own = self.definition.labels.get(key);
                own.or_else(|| self.host.labels.get(key)).map(Cow::Borrowed)
            }
        }
    }

    /// Whether [`Self::label`] passes every test.
    pub fn passes(&self, labels: &LabelSelector) -> bool {
        labels.matches(|key| self.label(key))
    }

    /// The process of the view that it is an instance of.
    pub fn owner(&self) -> Option<BkProcessId> {
        self.block.owner(self.at)
    }

    /// The business and the environment of the process of the view that it is an instance of.
    pub fn place(&self) -> Option<(BusinessId, SetEnv)> {
        let view = &self.fleet.view;
        let service = view.service_of(self.owner()?)?;
        let module = view.module(view.module_of_service(service)?)?;
        let set = view.set(module.set)?;
        Some((set.business, set.env))
    }

    pub fn definition(&self) -> &'a Definition {
        self.definition
    }

    pub fn flag(&self) -> Flag {
        self.block.flag(self.at)
    }

    pub fn managed(&self) -> bool {
        self.block.managed(self.at)
    }

    /// Flag and managed as the agent last reported them; None before its first report.
    pub fn held(&self) -> Option<(Flag, bool)> {
        self.seen.held()
    }

    pub fn incarnation(&self) -> Revision {
        Revision(self.block.incarnation[self.at])
    }

    pub fn registered_at(&self) -> UnixMillis {
        UnixMillis::from_secs(i64::from(self.block.registered_at[self.at]))
    }

    pub fn state(&self) -> State {
        self.seen.state
    }

    /// The state as the native API shows it: unknown while its agent is away.
    pub fn process_state(&self) -> ProcessState {
        match self.host.link.is_up() {
            true => self.known_state(),
            false => ProcessState::Unknown,
        }
    }

    /// The last known state of a process whose agent is away.
    pub fn was(&self) -> Option<ProcessState> {
        let known = self.known_state();
        (!self.host.link.is_up() && known != ProcessState::Unknown).then_some(known)
    }

    fn known_state(&self) -> ProcessState {
        self.seen.condition.marks.state()
    }

    /// When its next attempt or scheduled run is due.
    pub fn next_at(&self) -> Option<UnixMillis> {
        let next_at = self.seen.condition.next_at();
        (next_at != UnixMillis::NEVER).then_some(next_at)
    }

    /// How often the agent has started it by itself since the last operation that did; at most 65,535.
    pub fn restarts(&self) -> u32 {
        self.seen.condition.restarts.into()
    }

    pub fn last_exit(&self) -> Option<LastExit> {
        let last = self.seen.condition.last_exit()?;
        let memory = self.extras().and_then(|extras| extras.oom_memory);
        Some(LastExit { memory, ..last })
    }

    /// The last health check of its run.
    pub fn health(&self) -> Option<HealthResult> {
        let health = self.extras()?.health.as_ref();
        health.map(Health::to_result)
    }

    /// The last results of its probes.
    pub fn probes(&self) -> ProbeResults {
        let probes = self.extras().and_then(|extras| extras.probes.as_deref());
        probes.map(ProbeHealth::to_results).unwrap_or_default()
    }

    /// Whether its run began with a spec whose changes since take effect only at the next start.
    pub fn restart_needed(&self) -> bool {
        self.seen.condition.marks.restart_needed()
    }

    /// −1 when not running.
    pub fn pid(&self) -> i32 {
        self.seen.pid
    }

    pub fn started_at(&self) -> UnixMillis {
        UnixMillis::from_secs(i64::from(self.seen.started_at))
    }

    pub(crate) fn started_secs(&self) -> u32 {
        self.seen.started_at
    }

    /// How fresh the status is. Agents report changes, so the last status holds as of the last sign of life.
    pub fn reported_at(&self) -> UnixMillis {
        match self.seen.reported_at {
            0 => UnixMillis::NEVER,
            secs => UnixMillis::from_secs(i64::from(secs)).max(self.host.heard_at),
        }
    }

    pub fn cpu(&self) -> f32 {
        self.seen.cpu
    }

    pub fn mem(&self) -> f32 {
        self.seen.mem
    }

    pub fn fd(&self) -> u32 {
        self.seen.fd
    }

    pub fn disk(&self) -> u64 {
        self.seen.disk
    }

    pub fn net(&self) -> u64 {
        self.seen.net
    }

    pub fn version(&self) -> Cow<'static, str> {
        match self.extras().map_or("", |extras| &extras.version) {
            "" => Cow::Borrowed(""),
            version => Cow::Owned(version.to_owned()),
        }
    }

    /// The agent's message; while the agent is disconnected, that and since when.
    pub fn message(&self) -> Cow<'static, str> {
        let said = self.extras().map_or("", |extras| &*extras.message);
        let away = match self.host.link {
            Link::Up { .. } if said.is_empty() => return Cow::Borrowed(""),
            Link::Up { .. } => return Cow::Owned(said.to_owned()),
            Link::Never if self.host.enrolled_at != UnixMillis::NEVER => "agent offline".to_owned(),
            Link::Never => "no agent has connected from this host yet".to_owned(),
            Link::Down { since } => format!("agent offline since {}", since.to_rfc3339()),
        };
        match said.is_empty() {
            true => Cow::Owned(away),
            false => Cow::Owned(format!("{away}; before that: {said}")),
        }
    }

    fn extras(&self) -> Option<&Extras> {
        self.seen.extras.as_deref()
    }

    /// The definition that it is registered with, which others of its name may share.
    pub fn definition_id(&self) -> DefinitionId {
        DefinitionId(self.block.definition[self.at])
    }

    /// The durable part, for plans.
    pub fn to_change(&self) -> ProcessRow {
        self.block.row(self.id, self.at)
    }
}
