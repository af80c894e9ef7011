//! The settings of the listener for agents.

use std::time::Duration;

use super::AgentLimits;
use crate::ca::AGENT_LIFE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentListenerSettings {
    /// How long an agent's certificate is valid. Agents renew theirs after two thirds of it.
    pub certificate_life: Duration,
    /// What one address may do.
    pub limits: AgentLimits,
    /// How long a server that stops waits for its agents to move to other replicas.
    pub drain_timeout: Duration,
}

impl Default for AgentListenerSettings {
    fn default() -> Self {
        Self {
            certificate_life: AGENT_LIFE,
            limits: AgentLimits::default(),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
