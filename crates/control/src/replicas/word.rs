//! What replicas tell each other about agents, as it travels on the bus. All of it is soft: whatever is lost is noticed and
//! asked for again.

use fleet::AgentInfo;

/// One message.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Soft {
    /// What the sender's fleet showed when it was made.
    #[prost(uint64, tag = "1")]
    pub(super) revision: u64,
    #[prost(oneof = "Word", tags = "2, 3, 4, 5, 6")]
    pub(super) word: Option<Word>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Word {
    #[prost(message, tag = "2")]
    Beat(Beat),
    #[prost(message, tag = "3")]
    Hosts(Hosts),
    #[prost(message, tag = "4")]
    Digest(Digest),
    #[prost(message, tag = "5")]
    Resend(Resend),
    /// The sender is about to end, and holds no agent any more.
    #[prost(message, tag = "6")]
    Leaving(Leaving),
}

/// A sign of life.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Beat {
    #[prost(uint32, tag = "1")]
    pub(super) n_agents: u32,
    #[prost(bool, tag = "2")]
    pub(super) is_draining: bool,
    /// Missed something, or just began: wants to be told whom everybody holds.
    #[prost(bool, tag = "3")]
    pub(super) wants_digest: bool,
    #[prost(bool, tag = "4")]
    pub(super) leads: bool,
    /// Where its API is.
    #[prost(string, tag = "5")]
    pub(super) address: String,
    /// What its clock says.
    #[prost(int64, tag = "6")]
    pub(super) now_ms: i64,
}

/// What changed about some agents.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Hosts {
    #[prost(message, repeated, tag = "1")]
    pub(super) blocks: Vec<Block>,
}

/// What changed about one agent.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Block {
    #[prost(uint32, tag = "1")]
    pub(super) host: u32,
    /// Which of its connections: the larger is the newer.
    #[prost(uint64, tag = "2")]
    pub(super) session: u64,
    /// Counts the blocks of one connection, so that a gap is seen.
    #[prost(uint64, tag = "3")]
    pub(super) seq: u64,
    #[prost(bool, tag = "4")]
    pub(super) up: bool,
    /// Everything from the beginning: needs none of the blocks before it.
    #[prost(bool, tag = "5")]
    pub(super) full: bool,
    #[prost(int64, tag = "6")]
    pub(super) since_ms: i64,
    #[prost(message, optional, tag = "7")]
    pub(super) info: Option<Info>,
    /// As the fleet writes them.
    #[prost(bytes = "vec", tag = "8")]
    pub(super) statuses: Vec<u8>,
}

/// Every agent that the sender holds within a range of hosts, and no other.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Digest {
    #[prost(uint32, tag = "1")]
    pub(super) from: u32,
    /// The first host behind it.
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
    /// Of its last block.
    #[prost(uint64, tag = "3")]
    pub(super) seq: u64,
    #[prost(int64, tag = "4")]
    pub(super) heard_ms: i64,
}

/// Tell me all about these again.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Resend {
    #[prost(uint32, repeated, tag = "1")]
    pub(super) hosts: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Leaving {}

/// What an agent said about itself.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Info {
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
}

impl From<&AgentInfo> for Info {
    fn from(info: &AgentInfo) -> Self {
        Self {
            version: info.version.clone(),
            root: info.root,
            hostname: info.hostname.clone(),
            kernel: info.kernel.clone(),
            cores: info.cores,
            memory_kib: info.memory_kib,
        }
    }
}

impl From<Info> for AgentInfo {
    fn from(info: Info) -> Self {
        Self {
            version: info.version,
            root: info.root,
            hostname: info.hostname,
            kernel: info.kernel,
            cores: info.cores,
            memory_kib: info.memory_kib,
        }
        .bound()
    }
}
