//! Enrolments that wait at the same moment share one commit.
//!
//! A commit costs an fsync, so a fleet that joins at once would wait for one each. Every enrolment queues its request and begins a
//! commit; the one whose turn it is plans for all that wait, and the others find nothing left to do.

use std::collections::HashSet;
use std::sync::Arc;

use locks::Mutex;
use model::access::{Audit, Caller, JoinToken};
use model::change::{Changes, HostRow};
use model::{AgentId, Host, UnixMillis};
use tokio::sync::oneshot;

use super::in_use;
use crate::ControlError;
use crate::commit::World;
use crate::core::Core;
use crate::draft::Draft;

/// How many enrolments one commit has at most.
const MAX_BATCH: usize = 512;

/// Who asks to be enrolled.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) token_sha256: [u8; 32],
    pub(super) host: Host,
    /// The id that the agent asks for.
    pub(super) agent_id: Option<AgentId>,
    /// The id for a host that has none.
    pub(super) made: AgentId,
    pub(super) from: Option<std::net::IpAddr>,
    pub(super) at: UnixMillis,
}

type Answer = Result<AgentId, ControlError>;

#[derive(Debug)]
struct Waiting {
    request: Request,
    answer: oneshot::Sender<Answer>,
}

#[derive(Debug, Default)]
pub(super) struct Batches {
    waiting: Mutex<Vec<Waiting>>,
}

impl Batches {
    /// Enrols; returns when it is durable.
    pub(super) async fn enrol(self: &Arc<Self>, core: &Arc<Core>, request: Request) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().push(Waiting { request, answer });
        // Not cancelled with its caller: it may have the requests of others.
        tokio::spawn(self.clone().commit(core.clone()));
        answered.await.unwrap_or_else(|_| {
            let message = "the server could not record the enrolment: try again";
            Err(ControlError::Busy(message.to_owned()))
        })
    }

    /// Commits the requests that wait when its turn comes.
    async fn commit(self: Arc<Self>, core: Arc<Core>) {
        let mut taken: Option<Vec<Request>> = None;
        let answers = Arc::new(Mutex::new(Vec::new()));
        let (batches, to_answer, started_at) = (self.clone(), answers.clone(), core.started_at);
        let committed = core
            .commit_short(move |world| {
                let requests = taken.get_or_insert_with(|| {
                    let waiting = batches.next();
                    let (requests, senders) = waiting
                        .into_iter()
                        .map(|waiting| (waiting.request, waiting.answer))
                        .unzip();
                    *to_answer.lock() = senders;
                    requests
                });
                Ok(plan(world, requests, started_at))
            })
            .await;
        let senders: Vec<oneshot::Sender<Answer>> = std::mem::take(&mut *answers.lock());
        match committed {
            Ok(answers) => {
                for (sender, answer) in senders.into_iter().zip(answers) {
                    // Fails when the agent has gone: it asks again.
                    let _ = sender.send(answer);
                }
            }
            // All others are told to try again. Without a plan none was taken: its turn has not come.
            Err(error) => {
                let left = match senders.is_empty() {
                    true => self.next(),
                    false => Vec::new(),
                };
                let left = left.into_iter().map(|waiting| waiting.answer);
                if let Some(first) = senders.into_iter().chain(left).next() {
                    let _ = first.send(Err(error));
                }
            }
        }
    }

    /// The next requests, none of which depends on another: a second one for a host, an agent id or a token waits for the next
    /// commit, which its own task makes.
    fn next(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock();
        let (mut hosts, mut ids) = (HashSet::new(), HashSet::new());
        let (mut batch, mut rest) = (Vec::new(), Vec::new());
        for one in waiting.drain(..) {
            let Request { host, agent_id, .. } = &one.request;
            let is_apart = batch.len() < MAX_BATCH
                && !hosts.contains(host)
                && agent_id.as_ref().is_none_or(|id| !ids.contains(id));
            match is_apart {
                true => {
                    hosts.insert(*host);
                    ids.extend(agent_id.clone());
                    batch.push(one);
                }
                false => rest.push(one),
            }
        }
        *waiting = rest;
        batch
    }
}

/// The changes of all requests that are granted, and the answer to each.
fn plan(world: &World<'_>, requests: &[Request], started_at: UnixMillis) -> (Changes, Vec<Answer>) {
    let mut changes = Changes::default();
    let Some(first) = requests.first() else {
        return (changes, Vec::new());
    };
    let mut draft = Draft::new(world, first.at);
    let mut tokens = Tokens::default();
    let answers = requests
        .iter()
        .map(|request| {
            plan_one(
                world,
                &mut draft,
                &mut tokens,
                request,
                started_at,
                &mut changes,
            )
        })
        .collect();
    for token in tokens.used {
        match token.uses_left {
            None => {}
            Some(0) => changes.join_tokens_gone.push(token.id),
            Some(_) => changes.join_tokens.push(token),
        }
    }
    (changes, answers)
}

/// Tokens with a limited number of uses, as earlier requests of the batch left them.
#[derive(Debug, Default)]
struct Tokens {
    used: Vec<JoinToken>,
}

impl Tokens {
    /// None when the batch has used it up.
    fn find<'a>(&'a self, world: &'a World<'_>, sha256: &[u8; 32]) -> Option<&'a JoinToken> {
        let mut tokens = world.accounts.join_tokens.values();
        let token = tokens.find(|token| token.token_sha256 == *sha256)?;
        match self.used.iter().find(|used| used.id == token.id) {
            Some(used) => Some(used).filter(|used| used.uses_left != Some(0)),
            None => Some(token),
        }
    }

    fn use_up(&mut self, token: &JoinToken) {
        let Some(n) = token.uses_left else {
            return;
        };
        let left = JoinToken {
            uses_left: Some(n.saturating_sub(1)),
            ..token.clone()
        };
        self.used.retain(|used| used.id != left.id);
        self.used.push(left);
    }
}

fn plan_one(
    world: &World<'_>,
    draft: &mut Draft<'_>,
    tokens: &mut Tokens,
    request: &Request,
    started_at: UnixMillis,
    changes: &mut Changes,
) -> Answer {
    let &Request { host, at, .. } = request;
    let usable = tokens
        .find(world, &request.token_sha256)
        .filter(|token| token.expires_at.0 == 0 || token.expires_at > at)
        .filter(|token| token.host.is_none_or(|only| only == host));
    let Some(token) = usable.cloned() else {
        let message = format!("the join token is unknown, has expired, or is not for host {host}");
        return Err(ControlError::JoinTokenRefused(message));
    };
    let id = draft.host(host);
    let view = world.fleet.host(id);
    let contact = view.and_then(|view| in_use::contact(&view, started_at, at));
    if let Some(contact) = contact
        && !token.replace
    {
        return Err(ControlError::HostInUse(contact.refusal(host)));
    }
    let view = world.fleet.host(id);
    let before = view.and_then(|view| view.agent_id.cloned());
    let agent = request.agent_id.clone().or(before);
    let agent = agent.unwrap_or_else(|| request.made.clone());
    if world
        .fleet
        .host_of_agent(&agent)
        .is_some_and(|owner| owner != id)
    {
        return Err(ControlError::Conflict(format!(
            "agent id {agent} belongs to another host"
        )));
    }
    let row = HostRow {
        agent_id: Some(agent.clone()),
        enrolled_at: at,
        ..view.map_or_else(|| HostRow::new(id, host), |view| view.to_change())
    };
    let caller = Caller {
        from: request.from,
        ..Caller::system()
    };
    let how = match contact {
        Some(_) => format!("token {}, in place of another agent", token.id),
        None => format!("token {}", token.id),
    };
    let audit = Audit::new(&caller, at, "enrol", host.to_string(), how);
    changes.hosts.push(row);
    changes.audit.push(audit);
    tokens.use_up(&token);
    Ok(agent)
}
