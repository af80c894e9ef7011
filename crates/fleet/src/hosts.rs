//! Hosts, and the agents on them.

use std::net::SocketAddr;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use model::bounds::{MAX_HOSTNAME, MAX_KERNEL, MAX_VERSION};
use model::change::{HostId, HostRow, ProcessId};
use model::kernel::KernelFeatures;
use model::spec::SpecExtensions;
use model::text::sanitize_line;
use model::{AgentId, Host, Labels, UnixMillis};
use std::hash::BuildHasher;

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

#[derive(Debug)]
struct HostCell {
    row: HostRow,
    link: Link,
    /// When the agent last sent anything, including heartbeats.
    heard_at: UnixMillis,
    info: Option<Arc<AgentInfo>>,
    first_process: Option<ProcessId>,
    n_processes: u32,
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

#[derive(Debug, Default)]
pub(crate) struct Hosts {
    /// Boxed, so that the place of a removed host takes little.
    cells: Vec<Option<Box<HostCell>>>,
    by_host: HashTable<u32>,
    by_agent: HashMap<AgentId, HostId>,
    hasher: DefaultHashBuilder,
    len: usize,
    /// An agent connected or disconnected since the last save.
    pub(crate) links_moved: bool,
    removed: RemovedHosts,
}

/// Hosts that were removed, for the history that refers to their ids.
#[derive(Debug, Default)]
struct RemovedHosts {
    by_id: HashMap<HostId, Host>,
    /// The ids that a host had, and when it was last removed.
    by_host: HashMap<Host, (Vec<HostId>, UnixMillis)>,
}

impl Hosts {
    pub(crate) fn put(&mut self, row: &HostRow) {
        let index = row.id.index();
        if self.cells.len() <= index {
            self.cells.resize_with(index + 1, || None);
        }
        if let Some(cell) = &mut self.cells[index] {
            if let Some(before) = &cell.row.agent_id {
                self.by_agent.remove(before);
            }
            cell.row = row.clone();
        } else {
            self.cells[index] = Some(Box::new(HostCell {
                row: row.clone(),
                link: Link::Never,
                heard_at: UnixMillis::NEVER,
                info: None,
                first_process: None,
                n_processes: 0,
            }));
            self.len += 1;
            let (cells, hasher) = (&self.cells, &self.hasher);
            self.by_host
                .insert_unique(hasher.hash_one(row.host), row.id.0, |id| {
                    hash_of(hasher, cells, *id)
                });
        }
        if let Some(agent) = &row.agent_id {
            self.by_agent.insert(agent.clone(), row.id);
        }
    }

    /// Frees a removed host; its id is never used again. Its processes must be gone.
    pub(crate) fn remove(&mut self, row: &HostRow, at: UnixMillis) {
        let (id, host) = (row.id, row.host);
        if self.cells.len() <= id.index() {
            self.cells.resize_with(id.index() + 1, || None);
        }
        if self.cells[id.index()].is_some() {
            let hash = self.hasher.hash_one(host);
            // A host that has come back has another id already.
            if let Ok(entry) = self.by_host.find_entry(hash, |known| *known == id.0) {
                entry.remove();
            }
            self.len -= 1;
        }
        if let Some(agent) = self.cells[id.index()]
            .take()
            .and_then(|cell| cell.row.agent_id)
            && self.by_agent.get(&agent) == Some(&id)
        {
            self.by_agent.remove(&agent);
        }
        if self.removed.by_id.insert(id, host).is_none() {
            let (ids, last) = self.removed.by_host.entry(host).or_default();
            ids.push(id);
            *last = at.max(*last);
        }
        self.links_moved = true;
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
        self.by_host
            .find(self.hasher.hash_one(host), |id| {
                self.cells[*id as usize]
                    .as_ref()
                    .is_some_and(|cell| cell.row.host == *host)
            })
            .map(|id| HostId(*id))
    }

    pub(crate) fn find_agent(&self, agent: &AgentId) -> Option<HostId> {
        self.by_agent.get(agent).copied()
    }

    pub(crate) fn view(&self, id: HostId) -> Option<HostView<'_>> {
        let cell = self.cell(id)?;
        Some(HostView {
            id,
            host: cell.row.host,
            agent_id: cell.row.agent_id.as_ref(),
            enrolled_at: cell.row.enrolled_at,
            supplier: cell.row.supplier,
            labels: &cell.row.labels,
            link: cell.link,
            heard_at: cell.heard_at,
            info: cell.info.as_deref(),
            n_processes: cell.n_processes,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = HostView<'_>> {
        (0..self.cells.len() as u32).filter_map(|id| self.view(HostId(id)))
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.cells.len() as u32
    }

    pub(crate) fn set_link(&mut self, id: HostId, link: Link) {
        if let Some(cell) = self.cell_mut(id) {
            cell.link = link;
            self.links_moved = true;
        }
    }

    pub(crate) fn heard(&mut self, id: HostId, at: UnixMillis) {
        if let Some(cell) = self.cell_mut(id) {
            cell.heard_at = at;
        }
    }

    pub(crate) fn set_info(&mut self, id: HostId, info: AgentInfo) {
        if let Some(cell) = self.cell_mut(id) {
            cell.info = Some(Arc::new(info));
        }
    }

    pub(crate) fn first_process(&self, id: HostId) -> Option<ProcessId> {
        self.cell(id)?.first_process
    }

    pub(crate) fn link_process(&mut self, id: HostId, process: ProcessId) {
        if let Some(cell) = self.cell_mut(id) {
            cell.first_process = Some(process);
            cell.n_processes += 1;
        }
    }

    pub(crate) fn unlink_process(&mut self, id: HostId, first: Option<ProcessId>) {
        if let Some(cell) = self.cell_mut(id) {
            cell.first_process = first;
            cell.n_processes -= 1;
        }
    }

    fn cell(&self, id: HostId) -> Option<&HostCell> {
        self.cells.get(id.index())?.as_deref()
    }

    fn cell_mut(&mut self, id: HostId) -> Option<&mut HostCell> {
        self.cells.get_mut(id.index())?.as_deref_mut()
    }
}

fn hash_of(hasher: &DefaultHashBuilder, cells: &[Option<Box<HostCell>>], id: u32) -> u64 {
    match &cells[id as usize] {
        Some(cell) => hasher.hash_one(cell.row.host),
        None => 0,
    }
}
