//! A business as its source tells it, whatever the source: a file, the native API, a CMDB.
//!
//! Ids may be absent: then the same thing is known again by its name within what it belongs to, and numbered by us.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Attributes, BusinessId, Program, SetEnv};
use crate::AgentId;

/// A whole business, flat. References are indexes, so that they cannot dangle once the source was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BusinessFacts {
    pub business: Option<BusinessId>,
    pub name: String,
    pub variables: Attributes,
    /// Cloud areas that the source names.
    pub clouds: Vec<(u32, String)>,
    pub sets: Vec<SetFacts>,
    pub modules: Vec<ModuleFacts>,
    pub hosts: Vec<HostFacts>,
    pub services: Vec<ServiceFacts>,
    pub processes: Vec<ProcessFacts>,
    /// Rows that could not be read; the others count.
    pub troubles: Vec<SourceFault>,
    /// The processes of such rows, where that much could be read: they stay as they are.
    pub unread: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetFacts {
    pub id: Option<u32>,
    pub name: String,
    pub env: SetEnv,
    pub attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModuleFacts {
    pub id: Option<u32>,
    /// Index into [`BusinessFacts::sets`].
    pub set: usize,
    pub name: String,
    pub service_template: u32,
    pub attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HostFacts {
    pub id: Option<u32>,
    pub cloud: u32,
    /// IPv4 where it has one.
    pub ip: IpAddr,
    pub ip_v6: Option<std::net::Ipv6Addr>,
    /// Inner addresses beside these two.
    pub other_innerips: Vec<IpAddr>,
    pub agent_id: Option<AgentId>,
    pub attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServiceFacts {
    pub id: Option<u32>,
    /// Index into [`BusinessFacts::modules`].
    pub module: usize,
    /// Index into [`BusinessFacts::hosts`].
    pub host: usize,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProcessFacts {
    pub id: Option<u32>,
    /// Index into [`BusinessFacts::services`].
    pub service: usize,
    pub process_template: u32,
    pub program: Program,
    pub row: SourceRow,
}

/// Where in the source something stood, for messages: `sets[0].modules[1].processes[0]`, `bk_process_id 46`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceRow(pub String);

/// A row that is wrong, and why. The rest is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFault {
    pub row: SourceRow,
    pub reason: String,
}
