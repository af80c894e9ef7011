//! Enrolment: a join token makes a host known, so that its agent gets a certificate.
//!
//! The server issues certificates; this decides whether one is still valid: it must have been issued since its host was
//! enrolled, and revoking ends the enrolment.

mod batch;
mod in_use;

use std::sync::Arc;

use batch::{Batches, Request};
use model::access::{Audit, Caller};
use model::change::{Changes, HostId, HostRow};
use model::{AgentId, Host, UnixMillis};

use crate::core::Core;
use crate::{Access, ControlError, Refused, secrets};

/// Which agents may connect, and for which host.
#[derive(Debug)]
pub struct Enrolment {
    core: Arc<Core>,
    access: Arc<Access>,
    batches: Arc<Batches>,
}

impl Enrolment {
    pub(crate) fn new(core: &Arc<Core>, access: &Arc<Access>) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
            batches: Arc::default(),
        }
    }

    /// Checks the token and records the host; returns its agent id.
    pub async fn enrol(
        &self,
        token: &str,
        host: Host,
        agent_id: Option<AgentId>,
        from: Option<std::net::IpAddr>,
    ) -> Result<AgentId, ControlError> {
        let request = Request {
            token_sha256: secrets::sha256(token),
            host,
            agent_id,
            made: AgentId::parse(&secrets::hex(&secrets::random::<16>()))?,
            from,
            at: self.core.now(),
        };
        self.batches.enrol(&self.core, request).await
    }
}

/// How much before the enrolment a certificate without a time of issue may seem to have been issued.
const MISSING_TIME_MS: i64 = 60_000;

/// The contents of an agent's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate {
    pub host: Host,
    pub issued: Issued,
}

/// When a certificate was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issued {
    At(UnixMillis),
    /// Estimated: older servers did not write the time into it.
    About(UnixMillis),
}

/// The message for an agent that was replaced by another.
pub(crate) fn superseded(host: Host) -> String {
    format!("certificate replaced: another agent has joined as host {host}")
}

/// The message for an agent that is not enrolled, or no longer.
pub(crate) fn not_enrolled(host: Host) -> String {
    format!("certificate revoked: host {host} is not enrolled any more")
}

/// The message for an agent whose host was removed.
pub(crate) fn removed(host: Host) -> String {
    format!(
        "certificate revoked: host {host} was removed. To join again, start the agent with a new token: \
         muster token create --host {host} --uses 1"
    )
}

impl Enrolment {
    /// Whether this certificate is valid for its host: no other agent enrolled for the host since, and the host was not
    /// revoked.
    pub fn check_certificate(&self, certificate: Certificate) -> Result<(), Refused> {
        let Certificate { host, issued } = certificate;
        let enrolled_at = self.enrolled_at(host);
        let is_good = match (enrolled_at, issued) {
            (None, _) => false,
            (Some(enrolled_at), Issued::At(at)) => at >= enrolled_at,
            (Some(enrolled_at), Issued::About(at)) => {
                at.plus_millis(MISSING_TIME_MS) >= enrolled_at
            }
        };
        match is_good {
            true => Ok(()),
            false => Err(self.refuse_unenrolled(host)),
        }
    }

    /// The agent id and time of issue for a certificate that replaces a valid one.
    pub fn renewal(&self, certificate: Certificate) -> Result<(AgentId, UnixMillis), Refused> {
        self.check_certificate(certificate)?;
        let host = certificate.host;
        let issued_at = self.issue_time(host);
        let agent_id = {
            let fleet = self.core.fleet();
            let view = fleet.find_host(&host);
            view.and_then(|view| view.agent_id.cloned())
        };
        match agent_id {
            Some(agent_id) => Ok((agent_id, issued_at)),
            None => Err(self.refuse_unenrolled(host)),
        }
    }

    /// The time of issue to write into a new certificate: never before the enrolment, even if replicas' clocks differ.
    pub fn issue_time(&self, host: Host) -> UnixMillis {
        let now = self.core.now();
        self.enrolled_at(host).map_or(now, |at| at.max(now))
    }

    /// Invalidates all certificates of this host, at every replica. Its agent has to join again.
    pub async fn revoke(&self, caller: &Caller, host: Host) -> Result<(), ControlError> {
        self.access.check_admin(caller)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let view = world.fleet.find_host(&host);
            let view = view.filter(|view| view.enrolled_at != UnixMillis::NEVER);
            let Some(view) = view else {
                let message = format!("host {host} is not enrolled: there is nothing to revoke");
                return Err(ControlError::NotFound(message));
            };
            let row = HostRow {
                enrolled_at: UnixMillis::NEVER,
                ..view.to_change()
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

    /// The host's id and time of enrolment; None when it is not enrolled.
    pub(crate) fn enrolled(&self, host: Host) -> Option<(HostId, UnixMillis)> {
        let fleet = self.core.fleet();
        let view = fleet.find_host(&host)?;
        (view.enrolled_at != UnixMillis::NEVER).then_some((view.id, view.enrolled_at))
    }

    fn enrolled_at(&self, host: Host) -> Option<UnixMillis> {
        self.enrolled(host).map(|(_, at)| at)
    }

    /// A replica that is behind may not know of the enrolment, so its refusal is temporary.
    pub(crate) fn refuse_unenrolled(&self, host: Host) -> Refused {
        let is_sure = !self.core.is_behind();
        let was_removed = {
            let fleet = self.core.fleet();
            let view = fleet.find_host(&host);
            // One with an agent id joined again, and was revoked since.
            view.is_none_or(|view| view.agent_id.is_none()) && fleet.removed_at(&host).is_some()
        };
        let reason = match was_removed {
            true => removed(host),
            false => not_enrolled(host),
        };
        Refused {
            reason,
            permanent: is_sure,
            rejoin: is_sure,
        }
    }
}
