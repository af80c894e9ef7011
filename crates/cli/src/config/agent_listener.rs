//! Settings of the listener for agents.

use std::time::Duration;

use agent::config::source::{Key, Sources};
use server::{AgentListenerSettings, Relays};

use super::parse_number;
use crate::failure::Failure;

pub(super) const CERT_DAYS: Key = Key::new("agent_cert_days", "MUSTER_AGENT_CERT_DAYS");
pub(super) const RATE: Key = Key::new("agent_rate", "MUSTER_AGENT_RATE");
pub(super) const DRAIN_TIMEOUT: Key = Key::new("drain_timeout", "MUSTER_DRAIN_TIMEOUT");
pub(super) const RELAYS: Key = Key::new("relays", "MUSTER_RELAYS");
pub(super) const RELAYED_AGENTS: Key = Key::new("relayed_agents", "MUSTER_RELAYED_AGENTS");

const DAY_SECS: u64 = 24 * 3600;
/// The burst of connections from one address, in seconds of its rate.
const BURST_SECS: u32 = 20;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct AgentListenerArgs {
    /// Days that an agent's certificate is valid; agents renew it in time [env: MUSTER_AGENT_CERT_DAYS] [default: 90]
    #[arg(long, value_name = "DAYS")]
    pub agent_cert_days: Option<String>,
    /// Agent connections accepted per second from one address; a burst may be twenty times as large [env: MUSTER_AGENT_RATE]
    /// [default: 1000]
    #[arg(long, value_name = "N")]
    pub agent_rate: Option<String>,
    /// Addresses or networks of relays, separated by commas: a PROXY header with the agent's address is accepted from them
    /// [env: MUSTER_RELAYS]
    #[arg(long, value_name = "CIDRS")]
    pub relays: Option<String>,
    /// Agents that relays bring in connections that carry many; 0: each agent of a relay needs a connection of its own
    /// [env: MUSTER_RELAYED_AGENTS] [default: 1000000]
    #[arg(long, value_name = "N")]
    pub relayed_agents: Option<String>,
    /// Seconds that a stopping replica waits for its agents to move to other replicas [env: MUSTER_DRAIN_TIMEOUT]
    /// [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub drain_timeout: Option<String>,
}

pub(super) fn pick(
    args: &AgentListenerArgs,
    sources: &Sources<'_>,
) -> Result<AgentListenerSettings, Failure> {
    let number = |key: Key, flag: &Option<String>, most: u32| {
        sources.pick(key, flag.as_deref(), |text| {
            parse_number(key.name, text, most)
        })
    };
    let mut settings = AgentListenerSettings::default();
    if let Some(days) = number(CERT_DAYS, &args.agent_cert_days, 3650)? {
        settings.certificate_life = Duration::from_secs(u64::from(days) * DAY_SECS);
    }
    if let Some(rate) = number(RATE, &args.agent_rate, 1_000_000)? {
        settings.limits.rate = rate;
        settings.limits.burst = rate.saturating_mul(BURST_SECS);
    }
    if let Some(relays) = sources.pick(RELAYS, args.relays.as_deref(), Relays::parse)? {
        settings.relays = relays;
    }
    let relayed = sources.pick(
        RELAYED_AGENTS,
        args.relayed_agents.as_deref(),
        |text| match text.trim() {
            "0" => Ok(0),
            _ => parse_number(RELAYED_AGENTS.name, text, 10_000_000),
        },
    )?;
    if let Some(relayed) = relayed {
        settings.relayed_agents = relayed as usize;
    }
    if let Some(secs) = number(DRAIN_TIMEOUT, &args.drain_timeout, 3600)? {
        settings.drain_timeout = Duration::from_secs(secs.into());
    }
    Ok(settings)
}

pub(super) fn show(settings: &AgentListenerSettings, put: &mut impl FnMut(Key, Option<String>)) {
    let days = settings.certificate_life.as_secs() / DAY_SECS;
    put(CERT_DAYS, Some(days.to_string()));
    put(RATE, Some(settings.limits.rate.to_string()));
    let relays = (!settings.relays.is_empty()).then(|| settings.relays.to_string());
    put(RELAYS, relays);
    put(RELAYED_AGENTS, Some(settings.relayed_agents.to_string()));
    let drain = settings.drain_timeout.as_secs();
    put(DRAIN_TIMEOUT, Some(drain.to_string()));
}
