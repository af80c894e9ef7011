//! Pages of hosts, filtered and sorted, and how many processes of a host are in each state.

use std::cmp::Ordering;
use std::net::IpAddr;

use model::change::HostId;
use model::selector::LabelSelector;
use model::{Namespace, ProcessState, UnixMillis};

use crate::filter::FoldedText;
use crate::{Fleet, HostView, Link};

/// Which hosts. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFilter {
    /// Whether the agent is connected.
    pub connected: Option<bool>,
    /// Of the agent.
    pub versions: Option<Vec<String>>,
    pub clouds: Option<Vec<u32>>,
    /// Addresses of relays that the agent connects through.
    pub relays: Option<Vec<IpAddr>>,
    /// Of the host itself.
    pub labels: Option<LabelSelector>,
    /// Each must be part of the address, the hostname or the agent's id. Upper and lower case are the same.
    pub words: Vec<String>,
}

/// What hosts are sorted by; equal ones by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKey {
    /// Cloud area, then address.
    Host,
    Hostname,
    Version,
    /// Since when the agent is connected, or away.
    Since,
    Processes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostOrder {
    pub key: HostKey,
    pub descending: bool,
}

impl HostOrder {
    fn compare(self, a: &HostView<'_>, b: &HostView<'_>) -> Ordering {
        fn since(view: &HostView<'_>) -> UnixMillis {
            match view.link {
                Link::Never => UnixMillis::NEVER,
                Link::Up { since } | Link::Down { since } => since,
            }
        }
        fn hostname<'a>(view: &HostView<'a>) -> &'a str {
            view.info.map_or("", |info| &info.hostname)
        }
        fn version<'a>(view: &HostView<'a>) -> &'a str {
            view.info.map_or("", |info| &info.version)
        }
        let compared = match self.key {
            HostKey::Host => (a.host.cloud, a.host.ip).cmp(&(b.host.cloud, b.host.ip)),
            HostKey::Hostname => hostname(a).cmp(hostname(b)),
            HostKey::Version => version(a).cmp(version(b)),
            HostKey::Since => since(a).cmp(&since(b)),
            HostKey::Processes => a.n_processes.cmp(&b.n_processes),
        };
        match self.descending {
            true => compared.reverse(),
            false => compared,
        }
    }
}

impl Fleet {
    /// A page of hosts, and how many match.
    pub fn host_page(
        &self,
        filter: &HostFilter,
        order: &[HostOrder],
        start: u64,
        limit: usize,
    ) -> (usize, Vec<HostView<'_>>) {
        let mut words: Vec<FoldedText> = filter.words.iter().map(|w| FoldedText::new(w)).collect();
        let mut found: Vec<HostView<'_>> = self
            .hosts()
            .filter(|view| matches(filter, &mut words, view))
            .collect();
        if !order.is_empty() {
            found.sort_by(|a, b| {
                let mut compared = order.iter().map(|key| key.compare(a, b));
                let decided = compared.find(|one| *one != Ordering::Equal);
                decided.unwrap_or_else(|| a.id.0.cmp(&b.id.0))
            });
        }
        let count = found.len();
        let skipped = usize::try_from(start).unwrap_or(usize::MAX);
        let page = found.into_iter().skip(skipped).take(limit);
        (count, page.collect())
    }

    /// How many processes of a host are in each state, of the namespaces that the caller may see; None for all.
    pub fn states_on(
        &self,
        host: HostId,
        visible: Option<&[Namespace]>,
    ) -> Vec<(ProcessState, u32)> {
        let mut counts = ProcessState::ALL.map(|state| (state, 0));
        for row in self.processes_of(host) {
            if visible.is_none_or(|all| all.contains(&row.name().namespace)) {
                let state = row.process_state();
                let count = counts.iter_mut().find(|(one, _)| *one == state);
                if let Some((_, count)) = count {
                    *count += 1;
                }
            }
        }
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

fn matches(filter: &HostFilter, words: &mut [FoldedText], view: &HostView<'_>) -> bool {
    let version = view.info.map(|info| info.version.as_str());
    let agent_id = view.agent_id.map_or("", |id| id.as_str());
    (filter.connected).is_none_or(|wanted| view.link.is_up() == wanted)
        && (filter.clouds.as_ref()).is_none_or(|clouds| clouds.contains(&view.host.cloud))
        && (filter.versions.as_ref()).is_none_or(|wanted| {
            version.is_some_and(|version| wanted.iter().any(|one| one == version))
        })
        && (filter.relays.as_ref()).is_none_or(|wanted| {
            let relay = view.info.and_then(|info| info.relay);
            relay.is_some_and(|relay| wanted.contains(&relay.ip()))
        })
        && (filter.labels.as_ref()).is_none_or(|labels| labels.matches(|key| view.labels.get(key)))
        && (words.iter_mut()).all(|word| word.is_in_host(view) || word.is_in(&[agent_id]))
}
