//! Enrolment: a join token and a host become a known agent. The certificate is the server's affair.

use model::access::{Audit, Caller};
use model::change::{Changes, HostRow};
use model::{AgentId, Host};

use crate::register::Draft;
use crate::{Control, ControlError, Lacks, secrets};

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
            // Whoever has a token must not be able to push a living agent aside.
            if world.fleet.host(id).is_some_and(|view| view.link.is_up()) {
                return Err(ControlError::Conflict(format!(
                    "host {host} has an agent that is connected: stop that one before another enrols in its place"
                )));
            }
            let before = world.fleet.host(id).and_then(|view| view.agent_id.cloned());
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
                format!("token {}", token.id),
            )];
            Ok((
                Changes {
                    hosts: vec![row],
                    audit,
                    ..Default::default()
                },
                agent,
            ))
        })
        .await
    }
}
