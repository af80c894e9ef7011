//! Enrolment: a join token and a host become a known agent. The certificate itself is the server's affair; whether one
//! still counts is decided here: it must have been issued since its host was enrolled, and revoking ends the enrolment.

mod in_use;

use model::access::{Audit, Caller, JoinToken};
use model::change::{Changes, HostId, HostRow};
use model::{AgentId, Host, UnixMillis};

use crate::register::Draft;
use crate::{Control, ControlError, Lacks, Refused, secrets};

impl Control {
    /// Checks the token and records the host; answers the agent id that it goes by from now on.
    pub async fn enrol(
        &self,
        token: &str,
        host: Host,
        agent_id: Option<AgentId>,
        from: Option<std::net::IpAddr>,
    ) -> Result<AgentId, ControlError> {
        let (hash, at) = (secrets::sha256(token), self.now());
        let started_at = self.0.started_at;
        let made = AgentId::parse(&secrets::hex(&secrets::random::<16>()))?;
        self.commit(move |world| {
            let token = world
                .access
                .join_tokens
                .values()
                .find(|token| token.token_sha256 == hash);
            let usable = token
                .filter(|token| token.expires_at.0 == 0 || token.expires_at > at)
                .filter(|token| token.host.is_none_or(|only| only == host));
            let Some(token) = usable else {
                let message =
                    format!("the join token is unknown, has expired, or is not for host {host}");
                return Err(ControlError::Unauthenticated {
                    lacks: Lacks::Credentials,
                    message,
                });
            };
            let mut draft = Draft::new(world, at);
            let id = draft.host(host);
            let view = world.fleet.host(id);
            let contact = view.and_then(|view| in_use::contact(&view, started_at, at));
            if let Some(contact) = contact
                && !token.replace
            {
                return Err(ControlError::HostInUse(contact.refusal(host)));
            }
            let view = world.fleet.host(id);
            let supplier = view.map_or(0, |view| view.supplier);
            let before = view.and_then(|view| view.agent_id.cloned());
            let agent = agent_id.clone().or(before).unwrap_or_else(|| made.clone());
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
                id,
                host,
                agent_id: Some(agent.clone()),
                enrolled_at: at,
                supplier,
            };
            let caller = Caller {
                from,
                ..Caller::system()
            };
            let audit = vec![Audit::new(
                &caller,
                at,
                "enrol",
                host.to_string(),
                match contact {
                    Some(_) => format!("token {}, in place of another agent", token.id),
                    None => format!("token {}", token.id),
                },
            )];
            let mut changes = Changes {
                hosts: vec![row],
                audit,
                ..Default::default()
            };
            use_up(token, &mut changes);
            Ok((changes, agent))
        })
        .await
    }
}

/// A token that is good for so many joins is good for one less, and gone after the last.
fn use_up(token: &JoinToken, changes: &mut Changes) {
    match token.uses_left {
        None => {}
        Some(0 | 1) => changes.join_tokens_gone.push(token.id.clone()),
        Some(n) => changes.join_tokens.push(JoinToken {
            uses_left: Some(n - 1),
            ..token.clone()
        }),
    }
}

/// How much earlier than its host was enrolled a certificate may seem to be issued that does not say when it was.
const UNSAID_MS: i64 = 60_000;

/// What a certificate of an agent says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate {
    pub host: Host,
    pub issued: Issued,
}

/// When a certificate was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issued {
    At(UnixMillis),
    /// It does not say: older servers made it, at about this time.
    About(UnixMillis),
}

/// What an agent is told whose place another has taken.
pub(crate) fn superseded(host: Host) -> String {
    format!("another agent has enrolled for host {host} with a token that replaces agents")
}

/// What an agent is told that is not enrolled, or not any more.
pub(crate) fn not_enrolled(host: Host) -> String {
    format!(
        "host {host} is not enrolled here, or its certificates were revoked: start the agent with a join token"
    )
}

impl Control {
    /// Whether the agent with this certificate may speak for its host: nobody enrolled in its place since, and nobody
    /// revoked it.
    pub fn check_certificate(&self, certificate: Certificate) -> Result<(), Refused> {
        let Certificate { host, issued } = certificate;
        let enrolled_at = self.enrolled_at(host);
        let is_good = match (enrolled_at, issued) {
            (None, _) => false,
            (Some(enrolled_at), Issued::At(at)) => at >= enrolled_at,
            (Some(enrolled_at), Issued::About(at)) => at.plus_millis(UNSAID_MS) >= enrolled_at,
        };
        match is_good {
            true => Ok(()),
            false => Err(self.refuse_stranger(host)),
        }
    }

    /// What a new certificate of an enrolled host says: it is as good as the one that it replaces.
    pub fn renewal(&self, certificate: Certificate) -> Result<(AgentId, UnixMillis), Refused> {
        self.check_certificate(certificate)?;
        let host = certificate.host;
        let issued_at = self.issue_time(host);
        let fleet = self.fleet();
        let view = fleet.host_id(&host).and_then(|id| fleet.host(id));
        match view.and_then(|view| view.agent_id.cloned()) {
            Some(agent_id) => Ok((agent_id, issued_at)),
            None => Err(self.refuse_stranger(host)),
        }
    }

    /// The time that a certificate of this host has to say which is issued now. Replicas need not agree about the time.
    pub fn issue_time(&self, host: Host) -> UnixMillis {
        let now = self.now();
        self.enrolled_at(host).map_or(now, |at| at.max(now))
    }

    /// Refuses all certificates that this host has got until now, at every replica. Its agent has to join again.
    pub async fn revoke(&self, caller: &Caller, host: Host) -> Result<(), ControlError> {
        self.check_admin(caller)?;
        let (caller, at) = (caller.clone(), self.now());
        self.commit(move |world| {
            let view = world
                .fleet
                .host_id(&host)
                .and_then(|id| world.fleet.host(id));
            let view = view.filter(|view| view.enrolled_at != UnixMillis::NEVER);
            let Some(view) = view else {
                let message = format!("host {host} is not enrolled: there is nothing to revoke");
                return Err(ControlError::NotFound(message));
            };
            let row = HostRow {
                id: view.id,
                host,
                agent_id: view.agent_id.cloned(),
                enrolled_at: UnixMillis::NEVER,
                supplier: view.supplier,
            };
            let audit = Audit::new(&caller, at, "host.revoke", host.to_string(), String::new());
            let changes = Changes {
                hosts: vec![row],
                audit: vec![audit],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }

    /// The host and when it was enrolled, if it is.
    pub(crate) fn enrolled(&self, host: Host) -> Option<(HostId, UnixMillis)> {
        let fleet = self.fleet();
        let view = fleet.host_id(&host).and_then(|id| fleet.host(id))?;
        (view.enrolled_at != UnixMillis::NEVER).then_some((view.id, view.enrolled_at))
    }

    fn enrolled_at(&self, host: Host) -> Option<UnixMillis> {
        self.enrolled(host).map(|(_, at)| at)
    }

    /// A replica that does not know the latest sends nobody away for good.
    pub(crate) fn refuse_stranger(&self, host: Host) -> Refused {
        let is_sure = !self.is_behind();
        Refused {
            reason: not_enrolled(host),
            permanent: is_sure,
            rejoin: is_sure,
        }
    }
}
