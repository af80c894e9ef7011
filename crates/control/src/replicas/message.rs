//! The messages between replicas. All of it is soft state: a loss is noticed, and requested again.

use bytes::Bytes;
use fleet::AgentInfo;
use model::spec::SpecExtensions;

use crate::sessions::features;

/// One message on the bus.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Envelope {
    /// The revision of the sender's fleet.
    #[prost(uint64, tag = "1")]
    pub(super) revision: u64,
    #[prost(oneof = "PeerMessage", tags = "2, 3, 4, 5, 6")]
    pub(super) message: Option<PeerMessage>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum PeerMessage {
    #[prost(message, tag = "2")]
    Heartbeat(Heartbeat),
    #[prost(message, tag = "3")]
    HostBlocks(HostBlocks),
    #[prost(message, tag = "4")]
    Digest(Digest),
    #[prost(message, tag = "5")]
    Resend(Resend),
    /// The sender stops, and holds no agent any more.
    #[prost(message, tag = "6")]
    Stopping(Stopping),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Heartbeat {
    #[prost(uint32, tag = "1")]
    pub(super) n_agents: u32,
    #[prost(bool, tag = "2")]
    pub(super) is_draining: bool,
    /// The sender missed messages, or has just started: every replica sends its digest.
    #[prost(bool, tag = "3")]
    pub(super) wants_digest: bool,
    #[prost(bool, tag = "4")]
    pub(super) leads: bool,
    /// The address of its API.
    #[prost(string, tag = "5")]
    pub(super) address: String,
    /// The sender's clock.
    #[prost(int64, tag = "6")]
    pub(super) now_ms: i64,
}

/// Changes of some agents.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HostBlocks {
    #[prost(message, repeated, tag = "1")]
    pub(super) blocks: Vec<HostBlock>,
}

/// Changes of one agent.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HostBlock {
    #[prost(uint32, tag = "1")]
    pub(super) host: u32,
    /// The session number; the larger is the newer.
    #[prost(uint64, tag = "2")]
    pub(super) session: u64,
    /// The sequence number of the block within the session.
    #[prost(uint64, tag = "3")]
    pub(super) seq: u64,
    #[prost(bool, tag = "4")]
    pub(super) up: bool,
    /// Complete: needs no earlier block.
    #[prost(bool, tag = "5")]
    pub(super) full: bool,
    #[prost(int64, tag = "6")]
    pub(super) since_ms: i64,
    #[prost(message, optional, tag = "7")]
    pub(super) info: Option<AgentInfoMessage>,
    /// Encoded by the fleet.
    #[prost(bytes = "bytes", tag = "8")]
    pub(super) statuses: Bytes,
    /// The conditions of these statuses, encoded by the fleet; empty from a replica of an earlier version.
    #[prost(bytes = "bytes", tag = "9")]
    pub(super) conditions: Bytes,
    /// The memory of runs that the kernel killed, of some of these processes, encoded by the fleet.
    #[prost(bytes = "bytes", tag = "10")]
    pub(super) memories: Bytes,
    /// The results of the probes of some of these processes, encoded by the fleet.
    #[prost(bytes = "bytes", tag = "11")]
    pub(super) probes: Bytes,
}

impl HostBlock {
    /// Adds to earlier blocks of a session that goes on.
    pub(super) fn is_delta(&self) -> bool {
        self.up && !self.full
    }

    pub(super) fn n_bytes(&self) -> usize {
        let more = self.memories.len() + self.probes.len();
        self.statuses.len() + self.conditions.len() + more
    }
}

/// Every agent that the sender holds within a range of hosts.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Digest {
    #[prost(uint32, tag = "1")]
    pub(super) from: u32,
    /// Exclusive.
    #[prost(uint32, tag = "2")]
    pub(super) until: u32,
    #[prost(message, repeated, tag = "3")]
    pub(super) entries: Vec<DigestEntry>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct DigestEntry {
    #[prost(uint32, tag = "1")]
    pub(super) host: u32,
    #[prost(uint64, tag = "2")]
    pub(super) session: u64,
    /// Of the last block.
    #[prost(uint64, tag = "3")]
    pub(super) seq: u64,
    #[prost(int64, tag = "4")]
    pub(super) heard_ms: i64,
}

/// Requests full blocks of these hosts.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Resend {
    #[prost(uint32, repeated, tag = "1")]
    pub(super) hosts: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Stopping {}

/// The agent's description of itself.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AgentInfoMessage {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(bool, tag = "2")]
    root: bool,
    #[prost(string, tag = "3")]
    hostname: String,
    #[prost(string, tag = "4")]
    kernel: String,
    #[prost(uint32, tag = "5")]
    cores: u32,
    #[prost(uint64, tag = "6")]
    memory_kib: u64,
    #[prost(string, repeated, tag = "7")]
    missing: Vec<String>,
    #[prost(string, tag = "8")]
    arch: String,
    #[prost(string, tag = "9")]
    program: String,
    #[prost(uint32, tag = "10")]
    protocol: u32,
    /// `IP:PORT`; empty without a relay, and from a replica of an earlier version.
    #[prost(string, tag = "11")]
    relay: String,
    #[prost(uint32, tag = "12")]
    protocol_oldest: u32,
    #[prost(string, repeated, tag = "13")]
    extensions: Vec<String>,
}

impl From<&AgentInfo> for AgentInfoMessage {
    fn from(info: &AgentInfo) -> Self {
        Self {
            version: info.version.clone(),
            root: info.root,
            hostname: info.hostname.clone(),
            kernel: info.kernel.clone(),
            cores: info.cores,
            memory_kib: info.memory_kib,
            missing: info.missing.names().map(str::to_owned).collect(),
            arch: info.arch.clone(),
            program: info.program.clone(),
            protocol: info.protocol,
            relay: info
                .relay
                .map(|relay| relay.to_string())
                .unwrap_or_default(),
            protocol_oldest: info.protocol_oldest,
            extensions: info.extensions.names().map(str::to_owned).collect(),
        }
    }
}

impl From<AgentInfoMessage> for AgentInfo {
    fn from(info: AgentInfoMessage) -> Self {
        Self {
            version: info.version,
            root: info.root,
            hostname: info.hostname,
            kernel: info.kernel,
            cores: info.cores,
            memory_kib: info.memory_kib,
            missing: features(&info.missing),
            arch: info.arch,
            program: info.program,
            protocol: info.protocol,
            relay: info.relay.parse().ok(),
            protocol_oldest: info.protocol_oldest,
            extensions: SpecExtensions::of_names(&info.extensions),
        }
        .bound()
    }
}
