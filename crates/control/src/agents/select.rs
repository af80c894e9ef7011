//! Which agents an upgrade is for, and why others are left out.

use std::collections::{BTreeMap, HashSet};

use fleet::{Filter, Fleet, HostView};
use model::change::HostId;
use model::selector::LabelSelector;
use model::{Host, Invalid};

use super::binaries::{AgentBinary, newest};
use crate::ControlError;

/// How many hosts a reason names.
const NAMED_HOSTS: usize = 3;

/// The agents that a request asks for.
#[derive(Debug, Clone, Default)]
pub struct AgentSelection {
    /// None: of every host.
    pub hosts: Option<Vec<Host>>,
    /// Only hosts with a registered process that matches, and hosts that match themselves.
    pub labels: Option<LabelSelector>,
    /// Only of these cloud areas.
    pub clouds: Option<Vec<u32>>,
    /// Only agents of these versions.
    pub versions: Option<Vec<String>>,
}

/// A requested upgrade.
#[derive(Debug, Clone, Default)]
pub struct AgentUpgrade {
    pub selection: AgentSelection,
    /// None: the newest that this server has.
    pub version: Option<String>,
    /// How many agents the caller expects; with another number nothing happens.
    pub expect_count: Option<u64>,
}

/// Why an agent of the selection is not upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutReason {
    /// It has this version already.
    AlreadySo,
    Away,
    /// It is part of another program, or too old to be replaced by its server.
    NotReplaceable,
    /// The server has no binary for its processor or program.
    NoBinary,
}

impl LeftOutReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlreadySo => "already_so",
            Self::Away => "away",
            Self::NotReplaceable => "not_replaceable",
            Self::NoBinary => "no_binary",
        }
    }
}

/// Agents of the selection that are not upgraded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub reason: LeftOutReason,
    pub count: u64,
    /// The first of them.
    pub hosts: Vec<Host>,
}

/// What an upgrade does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradePlan {
    pub version: String,
    pub hosts: Vec<Host>,
    pub left_out: Vec<LeftOut>,
}

impl UpgradePlan {
    pub(super) fn new(
        fleet: &Fleet,
        binaries: &[AgentBinary],
        upgrade: &AgentUpgrade,
    ) -> Result<Self, ControlError> {
        let version = version_of(binaries, upgrade.version.as_deref())?;
        let mut left_out: BTreeMap<LeftOutReason, LeftOut> = BTreeMap::new();
        let mut hosts = Vec::new();
        for view in selected(fleet, &upgrade.selection)? {
            match why_left_out(&view, binaries, version) {
                None => hosts.push(view.host),
                Some(reason) => {
                    let group = left_out.entry(reason).or_insert_with(|| LeftOut {
                        reason,
                        count: 0,
                        hosts: Vec::new(),
                    });
                    group.count += 1;
                    if group.hosts.len() < NAMED_HOSTS {
                        group.hosts.push(view.host);
                    }
                }
            }
        }
        Ok(Self {
            version: version.to_owned(),
            hosts,
            left_out: left_out.into_values().collect(),
        })
    }

    /// Refuses an upgrade of nothing, or of another number than expected.
    pub(super) fn check(&self, expected: Option<u64>) -> Result<(), ControlError> {
        let count = self.hosts.len() as u64;
        if let Some(expected) = expected.filter(|expected| *expected != count) {
            return Err(ControlError::AgentCountChanged { expected, count });
        }
        if !self.hosts.is_empty() {
            return Ok(());
        }
        let reasons: Vec<String> = self
            .left_out
            .iter()
            .map(|group| format!("{}: {}", group.reason.as_str(), group.count))
            .collect();
        let rule = match reasons.is_empty() {
            true => "selects no host".to_owned(),
            false => format!("selects no agent to upgrade ({})", reasons.join(", ")),
        };
        Err(Invalid::new("hosts", rule).into())
    }
}

fn version_of<'a>(
    binaries: &'a [AgentBinary],
    asked: Option<&'a str>,
) -> Result<&'a str, ControlError> {
    let versions = || binaries.iter().map(|binary| binary.version.as_str());
    let Some(asked) = asked else {
        return newest(versions()).ok_or_else(|| {
            let rule = "this server has no binary of an agent: install the package muster, or put muster-agent-VERSION-ARCH \
                 into agents/ of its data directory";
            Invalid::new("version", rule).into()
        });
    };
    if versions().any(|version| version == asked) {
        return Ok(asked);
    }
    let mut known: Vec<&str> = versions().collect();
    known.dedup();
    let known = match known.is_empty() {
        true => "none".to_owned(),
        false => known.join(", "),
    };
    let rule = format!("this server has no binary of version {asked:?}; it has {known}");
    Err(Invalid::new("version", rule).into())
}

/// In the order of their ids.
fn selected<'a>(
    fleet: &'a Fleet,
    selection: &AgentSelection,
) -> Result<Vec<HostView<'a>>, ControlError> {
    let labelled: Option<HashSet<HostId>> =
        (selection.labels.as_ref()).map(|labels| labelled(fleet, labels));
    let matches = |view: &HostView<'_>| {
        let version = view.info.map_or("", |info| info.version.as_str());
        (labelled.as_ref()).is_none_or(|hosts| hosts.contains(&view.id))
            && (selection.clouds.as_ref()).is_none_or(|clouds| clouds.contains(&view.host.cloud))
            && (selection.versions.as_ref())
                .is_none_or(|versions| versions.iter().any(|one| one == version))
    };
    match &selection.hosts {
        None => Ok(fleet.hosts().filter(matches).collect()),
        Some(hosts) => {
            let views: Result<Vec<_>, ControlError> = hosts
                .iter()
                .map(|host| {
                    let view = fleet.find_host(host);
                    view.ok_or_else(|| ControlError::NotFound(format!("host {host} is not known")))
                })
                .collect();
            let mut views = views?;
            views.retain(matches);
            views.sort_by_key(|view| view.id);
            views.dedup_by_key(|view| view.id);
            Ok(views)
        }
    }
}

/// The hosts with a process that passes, and those whose own labels pass. Where no test wants a label to be there, a host
/// without that label says nothing: then its processes decide, if it has some.
fn labelled(fleet: &Fleet, labels: &LabelSelector) -> HashSet<HostId> {
    let filter = Filter {
        labels: Some(labels.clone()),
        ..Filter::default()
    };
    let processes = fleet.page(&filter, &[], 0, usize::MAX).rows;
    let with_process = processes.iter().map(|row| row.host().id);
    let own = fleet.hosts().filter(|view| {
        let decides = labels.wants_presence() || view.n_processes == 0;
        decides && labels.matches(|key| view.labels.get(key))
    });
    with_process.chain(own.map(|view| view.id)).collect()
}

fn why_left_out(
    view: &HostView<'_>,
    binaries: &[AgentBinary],
    version: &str,
) -> Option<LeftOutReason> {
    let Some(info) = view.info.filter(|_| view.link.is_up()) else {
        return Some(LeftOutReason::Away);
    };
    if info.version == version {
        return Some(LeftOutReason::AlreadySo);
    }
    if info.program.is_empty() {
        return Some(LeftOutReason::NotReplaceable);
    }
    let fits = |binary: &AgentBinary| {
        (binary.program.as_str(), binary.version.as_str()) == (&info.program, version)
            && binary.arch == info.arch
    };
    (!binaries.iter().any(fits)).then_some(LeftOutReason::NoBinary)
}
