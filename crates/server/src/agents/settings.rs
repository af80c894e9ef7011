//! What the agents' door is told before it opens.

use std::time::Duration;

use super::Limits;
use crate::ca::AGENT_LIFE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorSettings {
    /// How long an agent's certificate lives. Agents renew theirs after two thirds of it.
    pub certificate_life: Duration,
    /// What one address may do.
    pub limits: Limits,
    /// How long a server that stops waits for its agents to move to other replicas.
    pub drain_timeout: Duration,
}

impl Default for DoorSettings {
    fn default() -> Self {
        Self {
            certificate_life: AGENT_LIFE,
            limits: Limits::default(),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
