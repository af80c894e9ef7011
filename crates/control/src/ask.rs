//! Which hosts a caller asks for, and what each is answered.

use model::{AgentId, Code, Host, Invalid};

/// One host as the caller named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What stands before `:namespace:name` in the caller's key: it is echoed to the letter.
    pub key_prefix: Box<str>,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Host(Host),
    Agent(AgentId),
    /// Fails its own key and no other.
    Bad(Invalid),
}

/// What became of one key. A host named twice is answered once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub key_prefix: Box<str>,
    pub host: Option<Host>,
    pub code: Code,
    pub message: String,
}
