//! The facts of a business from any source: a file, the native API, a CMDB.
//!
//! Ids may be absent: then an object is identified by its name within its parent, and the planner assigns a number.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Attributes, BusinessId, Program, SetEnv};
use crate::{AgentId, Reason};

/// A whole business as flat lists. References are indexes into them, so they cannot dangle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BusinessFacts {
    pub business: Option<BusinessId>,
    pub name: String,
    pub variables: Attributes,
    /// Names of cloud areas.
    pub clouds: Vec<(u32, String)>,
    pub sets: Vec<SetFacts>,
    pub modules: Vec<ModuleFacts>,
    pub hosts: Vec<HostFacts>,
    pub services: Vec<ServiceFacts>,
    pub processes: Vec<ProcessFacts>,
    /// Rows that could not be read; the others are applied.
    pub troubles: Vec<SourceFault>,
    /// The process ids of such rows, as far as readable: these processes stay unchanged.
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
    /// IPv4 if it has one.
    pub ip: IpAddr,
    pub ip_v6: Option<std::net::Ipv6Addr>,
    /// Further inner addresses.
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
    /// Processes that the source describes once share it.
    pub program: Arc<Program>,
    pub row: ProcessSource,
}

/// The position of a process in its source, for messages. Processes that the source describes once share the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessSource {
    row: Arc<str>,
    host: Option<Arc<str>>,
}

impl ProcessSource {
    /// A row that describes one process.
    pub fn new(row: impl Into<Arc<str>>) -> Self {
        Self {
            row: row.into(),
            host: None,
        }
    }

    /// A row that describes a process on several hosts.
    pub fn on_host(row: &Arc<str>, host: &Arc<str>) -> Self {
        Self {
            row: row.clone(),
            host: Some(host.clone()),
        }
    }
}

impl fmt::Display for ProcessSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            None => f.write_str(&self.row),
            Some(host) => write!(f, "{} on {host}", self.row),
        }
    }
}

/// A position in the source, for messages: `sets[0].modules[1].processes[0]`, `bk_process_id 46`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceRow(pub String);

/// An invalid row and the reason. The other rows are applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFault {
    pub row: SourceRow,
    pub reason: String,
    /// What the reason says, for programs; None in rows that an older version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Reason>,
}
