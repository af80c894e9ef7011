//! Which hosts a caller asks for, and what each is answered.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

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

/// What became of one key.
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

/// One answer per key, in the order of the request. A host is decided about once, in however many ways it is named.
pub(crate) fn answer_each(
    fleet: &Fleet,
    hosts: &[Asked],
    mut decide: impl FnMut(Host) -> (Code, String),
) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::with_capacity(hosts.len());
    let mut keys: HashSet<&str> = HashSet::with_capacity(hosts.len());
    let mut decided: HashMap<Host, usize> = HashMap::with_capacity(hosts.len());
    for asked in hosts.iter().filter(|asked| keys.insert(&asked.key_prefix)) {
        let answer = match resolve(fleet, asked) {
            Err(refusal) => refusal,
            Ok(host) => {
                let key_prefix = asked.key_prefix.clone();
                match decided.entry(host) {
                    Entry::Occupied(before) => Answer {
                        key_prefix,
                        ..answers[*before.get()].clone()
                    },
                    Entry::Vacant(first) => {
                        first.insert(answers.len());
                        let (code, message) = decide(host);
                        Answer {
                            key_prefix,
                            host: Some(host),
                            code,
                            message,
                        }
                    }
                }
            }
        };
        answers.push(answer);
    }
    answers
}

/// How many things a line of the audit trail names before it counts the rest.
pub(crate) const NAMED_IN_AUDIT: usize = 20;

/// What was done where, for the audit trail: `2 of 3 hosts: 0:10.0.0.1, 0:10.0.0.2`.
pub(crate) fn trail(answers: &[Answer]) -> String {
    let done = || {
        answers
            .iter()
            .filter(|answer| answer.code == Code::OK)
            .filter_map(|answer| answer.host)
    };
    let hosts: Vec<String> = done()
        .take(NAMED_IN_AUDIT)
        .map(|host| host.to_string())
        .collect();
    let (n_done, n_asked) = (done().count(), answers.len());
    format!("{n_done} of {n_asked} hosts: {}", shortened(hosts, n_done))
}

/// The first of `n`, and how many more there are.
pub(crate) fn shortened(first: Vec<String>, n: usize) -> String {
    match n - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The answer to what is done.
pub(crate) fn success() -> (Code, String) {
    (Code::OK, "success".to_owned())
}
