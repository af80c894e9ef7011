//! Which hosts a caller asks for, and what each is answered.

use fleet::Fleet;
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

/// The host that an entry means, or the answer that says why there is none.
pub(crate) fn resolve(fleet: &Fleet, asked: &Asked) -> Result<Host, Answer> {
    let refuse = |code, message| {
        Err(Answer {
            key_prefix: asked.key_prefix.clone(),
            host: None,
            code,
            message,
        })
    };
    match &asked.place {
        Place::Host(host) => Ok(*host),
        Place::Agent(agent) => match fleet.host_of_agent(agent).and_then(|id| fleet.host(id)) {
            Some(view) => Ok(view.host),
            None => refuse(
                Code::NO_CONNECTION,
                format!("can not find connection by agent id {agent}"),
            ),
        },
        Place::Bad(invalid) => refuse(Code::INVALID, invalid.to_string()),
    }
}
