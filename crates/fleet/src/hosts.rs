//! Hosts, and the agents on them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use model::bounds::{MAX_HOSTNAME, MAX_KERNEL, MAX_VERSION};
use model::change::{HostId, HostRow, NameId, ProcessId};
use model::kernel::KernelFeatures;
use model::spec::SpecExtensions;
use model::text::sanitize_line;
use model::{AgentId, Host, Labels, UnixMillis};

use crate::cow::{CowMap, Paged};
use crate::host_texts::HostTexts;

/// Whether a host's agent is connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Link {
    /// It has never connected, as far as this server knows.
    #[default]
    Never,
    Up {
        since: UnixMillis,
    },
    Down {
        since: UnixMillis,
    },
}

impl Link {
    pub fn is_up(self) -> bool {
        matches!(self, Self::Up { .. })
    }
}

/// What an agent reports about itself when it connects, and how it connects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInfo {
    pub version: String,
    pub root: bool,
    pub hostname: String,
    pub kernel: String,
    pub cores: u32,
    pub memory_kib: u64,
    /// What its kernel lacks.
    pub missing: KernelFeatures,
    /// As `uname -m` names it.
    pub arch: String,
    /// The program that a server may replace; empty if it may not.
    pub program: String,
    /// The oldest version of the protocol that it speaks; 0 if a replica of an earlier version told of it.
    pub protocol_oldest: u32,
    /// The newest version of the protocol that it speaks.
    pub protocol: u32,
    /// The sections of specs that it knows beyond those of the first version.
    pub extensions: SpecExtensions,
    /// The relay between agent and server: its address as the server sees it, and the port that the agent connects to.
    pub relay: Option<SocketAddr>,
}

impl AgentInfo {
    /// Limits and escapes texts that come from the host.
    #[must_use]
    pub fn bound(mut self) -> Self {
        sanitize_line(&mut self.version, MAX_VERSION);
        sanitize_line(&mut self.hostname, MAX_HOSTNAME);
        sanitize_line(&mut self.kernel, MAX_KERNEL);
        sanitize_line(&mut self.arch, MAX_VERSION);
        sanitize_line(&mut self.program, MAX_VERSION);
        self
    }
}

/// The name and id of each process of a host, by name.
type HostProcesses = Vec<(NameId, ProcessId)>;

#[derive(Debug, Clone)]
struct HostCell {
    row: Arc<HostRow>,
    link: Link,
    /// When the agent last sent anything, including heartbeats, in milliseconds. All copies of the cell share it.
    heard_at: Arc<AtomicI64>,
    info: Option<Arc<AgentInfo>>,
    processes: Arc<HostProcesses>,
}

/// One host, borrowed from the fleet.
#[derive(Debug, Clone, Copy)]
pub struct HostView<'a> {
    pub id: HostId,
    pub host: Host,
    pub agent_id: Option<&'a AgentId>,
    pub enrolled_at: UnixMillis,
    /// As [`HostRow::supplier`].
    pub supplier: i64,
    pub labels: &'a Labels,
    pub link: Link,
    /// When the agent last sent anything, including heartbeats.
    pub heard_at: UnixMillis,
    pub info: Option<&'a AgentInfo>,
    pub n_processes: u32,
}

impl HostView<'_> {
    /// Its stored row, for plans that change a part of it.
    pub fn to_change(&self) -> HostRow {
        HostRow {
            id: self.id,
            host: self.host,
            agent_id: self.agent_id.cloned(),
            enrolled_at: self.enrolled_at,
            supplier: self.supplier,
            removed_at: None,
            labels: self.labels.clone(),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    cells: Paged<Arc<HostCell>>,
    by_host: CowMap<Host, HostId>,
    by_agent: CowMap<AgentId, HostId>,
    removed: RemovedHosts,
    texts: HostTexts,
}

/// Hosts that were removed, for the history that refers to their ids.
#[derive(Debug, Clone, Default)]
struct RemovedHosts {
    by_id: CowMap<HostId, Host>,
    /// The ids that a host had, and when it was last removed.
    by_host: CowMap<Host, (Vec<HostId>, UnixMillis)>,
}

impl Hosts {
    pub(crate) fn put(&mut self, row: &HostRow) {
        self.texts.forget();
        let new = Arc::new(row.clone());
        if let Some(cell) = self.cells.get_mut(row.id.0) {
            let cell = Arc::make_mut(cell);
            if let Some(before) = &cell.row.agent_id {
                self.by_agent.remove(before);
            }
            cell.row = new;
        } else {
            let cell = HostCell {
                row: new,
                link: Link::Never,
                heard_at: Arc::new(AtomicI64::new(UnixMillis::NEVER.0)),
                info: None,
                processes: Arc::default(),
            };
            self.cells.insert(row.id.0, Arc::new(cell));
            self.by_host.insert(row.host, row.id);
        }
        if let Some(agent) = &row.agent_id {
            self.by_agent.insert(agent.clone(), row.id);
        }
    }

    /// Frees a removed host; its id is never used again. Its processes must be gone.
    pub(crate) fn remove(&mut self, row: &HostRow, at: UnixMillis) {
        let (id, host) = (row.id, row.host);
        self.texts.forget();
        self.cells.skip_to(id.0 + 1);
        let before = self.cells.remove(id.0);
        // A host that has come back has another id already.
        if before.is_some() && self.by_host.get(&host) == Some(&id) {
            self.by_host.remove(&host);
        }
        let agent = before.as_ref().and_then(|cell| cell.row.agent_id.as_ref());
        if let Some(agent) = agent
            && self.by_agent.get(agent) == Some(&id)
        {
            self.by_agent.remove(agent);
        }
        if self.removed.by_id.insert(id, host).is_none() {
            let never = || (Vec::new(), UnixMillis::default());
            let (ids, last) = self.removed.by_host.get_or_insert_with(host, never);
            ids.push(id);
            *last = at.max(*last);
        }
    }

    /// When a host was last removed.
    pub(crate) fn removed_at(&self, host: &Host) -> Option<UnixMillis> {
        self.removed.by_host.get(host).map(|(_, at)| *at)
    }

    /// The host with this id, also if it was removed.
    pub(crate) fn address(&self, id: HostId) -> Option<Host> {
        let known = self.cell(id).map(|cell| cell.row.host);
        known.or_else(|| self.removed.by_id.get(&id).copied())
    }

    /// Every id that a host has and had.
    pub(crate) fn ids_of(&self, host: &Host) -> Vec<HostId> {
        let before = self.removed.by_host.get(host);
        let before = before.into_iter().flat_map(|(ids, _)| ids.iter().copied());
        self.find(host).into_iter().chain(before).collect()
    }

    pub(crate) fn find(&self, host: &Host) -> Option<HostId> {
        self.by_host.get(host).copied()
    }

    pub(crate) fn find_agent(&self, agent: &AgentId) -> Option<HostId> {
        self.by_agent.get(agent).copied()
    }

    pub(crate) fn view(&self, id: HostId) -> Option<HostView<'_>> {
        self.cell(id).map(|cell| cell.view(id))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = HostView<'_>> {
        let cells = self.cells.iter();
        cells.map(|(id, cell)| cell.view(HostId(id)))
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.cells.next()
    }

    /// False when the host is not known.
    pub(crate) fn set_link(&mut self, id: HostId, link: Link) -> bool {
        let cell = self.cell_mut(id);
        cell.map(|cell| cell.link = link).is_some()
    }

    pub(crate) fn heard(&self, id: HostId, at: UnixMillis) {
        if let Some(cell) = self.cell(id) {
            cell.heard_at.store(at.0, Relaxed);
        }
    }

    pub(crate) fn set_info(&mut self, id: HostId, info: AgentInfo) {
        if let Some(cell) = self.cell_mut(id) {
            cell.info = Some(Arc::new(info));
            self.texts.forget();
        }
    }

    /// Calls `found` with each host that has the word, in lower case, in its address or its name.
    pub(crate) fn containing(&self, word: &str, found: impl FnMut(HostId)) {
        self.texts.containing(self, word, found);
    }

    /// The processes of a host, by the ids of their names.
    pub(crate) fn processes(&self, id: HostId) -> &[(NameId, ProcessId)] {
        self.cell(id).map_or(&[], |cell| &cell.processes)
    }

    pub(crate) fn find_process(&self, id: HostId, name: NameId) -> Option<ProcessId> {
        let processes = self.processes(id);
        let at = processes.binary_search_by_key(&name, |(name, _)| *name);
        at.ok().map(|at| processes[at].1)
    }

    pub(crate) fn add_process(&mut self, id: HostId, name: NameId, process: ProcessId) {
        if let Some(cell) = self.cell_mut(id) {
            let processes = Arc::make_mut(&mut cell.processes);
            match processes.binary_search_by_key(&name, |(name, _)| *name) {
                Ok(at) => processes[at].1 = process,
                Err(at) => processes.insert(at, (name, process)),
            }
        }
    }

    pub(crate) fn remove_process(&mut self, id: HostId, name: NameId) {
        if let Some(cell) = self.cell_mut(id) {
            let processes = Arc::make_mut(&mut cell.processes);
            if let Ok(at) = processes.binary_search_by_key(&name, |(name, _)| *name) {
                processes.remove(at);
            }
        }
    }

    fn cell(&self, id: HostId) -> Option<&HostCell> {
        self.cells.get(id.0).map(|cell| &**cell)
    }

    fn cell_mut(&mut self, id: HostId) -> Option<&mut HostCell> {
        self.cells.get_mut(id.0).map(Arc::make_mut)
    }
}

impl HostCell {
    fn view(&self, id: HostId) -> HostView<'_> {
        HostView {
            id,
            host: self.row.host,
            agent_id: self.row.agent_id.as_ref(),
            enrolled_at: self.row.enrolled_at,
            supplier: self.row.supplier,
            labels: &self.row.labels,
            link: self.link,
            heard_at: UnixMillis(self.heard_at.load(Relaxed)),
            info: self.info.as_deref(),
            n_processes: self.processes.len() as u32,
        }
    }
}
