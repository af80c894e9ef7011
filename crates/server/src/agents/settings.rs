//! The settings of the listener for agents.

use std::time::Duration;

use super::{AgentLimits, MAX_RELAYED_AGENTS, Relays};
use crate::ca::AGENT_LIFE;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentListenerSettings {
    /// How long an agent's certificate is valid. Agents renew theirs after two thirds of it.
    pub certificate_life: Duration,
    /// What one address may do.
    pub limits: AgentLimits,
    /// The addresses of relays, from which PROXY headers are accepted.
    pub relays: Relays,
    /// How many agents relays may bring in connections that carry many; 0: each agent needs a connection of its own.
    pub relayed_agents: usize,
    /// How long a server that stops waits for its agents to move to other replicas.
    pub drain_timeout: Duration,
}

impl Default for AgentListenerSettings {
    fn default() -> Self {
        Self {
            certificate_life: AGENT_LIFE,
            limits: AgentLimits::default(),
            relays: Relays::default(),
            relayed_agents: MAX_RELAYED_AGENTS,
            drain_timeout: Duration::from_secs(30),
        }
    }
}
