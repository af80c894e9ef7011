//! What happened to processes and hosts besides events: operations, agents coming and going, specs and config files.
//!
//! One row stands for all hosts that a request touched at once, so that a request for many hosts costs one row.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::UnixMillis;
use crate::change::{HostId, NameId};

/// What a row of the timeline is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineKind {
    Operation,
    Agent,
    Spec,
    Config,
}

variant_names!(TimelineKind, as_str, {
    Operation = "operation",
    Agent = "agent",
    Spec = "spec",
    Config = "config",
});

impl TimelineKind {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineRow {
    pub at: UnixMillis,
    pub kind: TimelineKind,
    /// None for what happened to a host.
    pub process: Option<NameId>,
    /// Ascending, each once.
    pub hosts: Vec<HostId>,
    pub body: TimelineBody,
}

/// What is shown and not searched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelineBody {
    /// `stop`, `updated`, `agent_away`, …
    pub code: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub app: String,
    /// The address of the caller.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u32>,
}

/// Hosts as bytes: the distance of each from the one before, seven bits a byte.
pub fn pack_hosts(hosts: &[HostId]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(hosts.len() * 2);
    let mut last = 0;
    for host in hosts {
        let mut distance = host.0.wrapping_sub(last);
        last = host.0;
        while distance >= 0x80 {
            bytes.push(distance as u8 | 0x80);
            distance >>= 7;
        }
        bytes.push(distance as u8);
    }
    bytes
}

/// Bytes of another program give some hosts, never a failure.
pub fn unpack_hosts(bytes: &[u8]) -> Vec<HostId> {
    let (mut hosts, mut last, mut distance, mut shift) = (Vec::new(), 0_u32, 0_u32, 0);
    for byte in bytes {
        distance |= u32::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 != 0 {
            shift += 7;
            continue;
        }
        last = last.wrapping_add(distance);
        hosts.push(HostId(last));
        (distance, shift) = (0, 0);
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_unpacked_as_they_were_packed() {
        for hosts in [
            vec![],
            vec![0],
            vec![5, 6, 7, 300, 70_000],
            (0..100_000).collect(),
            vec![0, u32::MAX],
        ] {
            let hosts: Vec<HostId> = hosts.into_iter().map(HostId).collect();
            assert_eq!(unpack_hosts(&pack_hosts(&hosts)), hosts);
        }
        let many: Vec<HostId> = (0..100_000).map(HostId).collect();
        assert_eq!(pack_hosts(&many).len(), 100_000);
        unpack_hosts(&[0xFF; 40]);
    }

    #[test]
    fn every_kind_reads_back_what_it_prints() {
        for kind in TimelineKind::ALL {
            assert_eq!(TimelineKind::parse(kind.as_str()), Some(kind));
        }
    }
}
