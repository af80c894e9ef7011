//! The upgrade of one agent: sends it the binary in parts, tells it to become it, and waits for the result.
//!
//! Every step can be repeated, by another server, too: the agent says how much it has, and which upgrade goes on.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::job::JobTarget;
use model::upgrade::{MAX_PART, UpgradePhase, UpgradeState};
use model::{Code, Host};
use tokio::time::{Instant, sleep};
use wire::ask::{Question, Upgrade, UpgradePart};

use super::{AgentBinary, Agents};
use crate::ControlError;
use crate::sessions::Unfinished;

/// How long an agent may take to begin with a part: others may be on their way before it.
const START_WITHIN: Duration = Duration::from_secs(60);
/// How long a host may take to write a part.
const DONE_WITHIN: Duration = Duration::from_secs(120);
/// How long an upgrade may take once it has begun: the new agent, and the way back.
const UPGRADE_WITHIN: Duration = Duration::from_secs(180);
const POLL_EVERY: Duration = Duration::from_millis(500);
/// How long an agent may be away before its upgrade fails: it may be between two connections, or in the upgrade that a server
/// which was killed began.
const RECONNECT_WITHIN: Duration = Duration::from_secs(40);

/// Upgrades the agent of a task. A remark about a success, or the code and the reason of a failure.
pub(crate) async fn upgrade_agent(
    agents: Arc<Agents>,
    target: JobTarget,
    version: String,
) -> Result<String, (Code, String)> {
    let JobTarget::Agent { agent: host } = target else {
        return Err((Code::COMMAND_FAILED, "this task has no agent".to_owned()));
    };
    let began = Instant::now();
    while !agents.is_connected(host) && began.elapsed() < RECONNECT_WITHIN {
        sleep(POLL_EVERY).await;
    }
    let Some(binary) = agents.binary_for(host, &version)? else {
        return Ok(format!("it is {version} already"));
    };
    let from = agents.version_on(host);
    let content = {
        let (agents, binary) = (agents.clone(), binary.clone());
        let loaded = tokio::task::spawn_blocking(move || agents.binaries.load(&binary)).await;
        let failed = |error: String| (Code::COMMAND_FAILED, error);
        loaded
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(format!("{}: {error}", binary_name(&version))))?
    };
    agents.send(host, &binary, &content).await?;
    drop(content);
    let wanted = Upgrade {
        sha256: binary.sha256.clone(),
        version: version.clone(),
    };
    let began = Instant::now();
    let mut state = match agents.ask_agent(host, Question::Upgrade(wanted)).await {
        Ok(state) => state,
        // The connection was lost: whether it has begun, the agent tells on its next one.
        Err(ControlError::Away(_)) => UpgradeState::default(),
        Err(error) => return Err(failure(error)),
    };
    loop {
        let is_this = state.sha256 == binary.sha256.as_str();
        match state.phase {
            UpgradePhase::Done if is_this => {
                return Ok(format!("from {from} to {version}"));
            }
            UpgradePhase::Failed if is_this => {
                return Err((Code::COMMAND_FAILED, state.message));
            }
            UpgradePhase::Idle
            | UpgradePhase::Running
            | UpgradePhase::Done
            | UpgradePhase::Failed => {}
        }
        if began.elapsed() > UPGRADE_WITHIN {
            let secs = UPGRADE_WITHIN.as_secs();
            let reason = format!("the agent has not told within {secs} s how its upgrade went");
            return Err((Code::TERMINATED, reason));
        }
        sleep(POLL_EVERY).await;
        // It disconnects when it becomes the new binary.
        if let Ok(now) = agents.ask_agent(host, Question::UpgradeState {}).await {
            state = now;
        }
    }
}

fn binary_name(version: &str) -> String {
    format!("the binary of version {version}")
}

fn failure(error: ControlError) -> (Code, String) {
    let code = match &error {
        ControlError::Away(_) => Code::NO_CONNECTION,
        _ => Code::COMMAND_FAILED,
    };
    (code, error.to_string())
}

impl Agents {
    fn is_connected(&self, host: Host) -> bool {
        let fleet = self.core.fleet();
        fleet.find_host(&host).is_some_and(|view| view.link.is_up())
    }

    /// The binary for the agent of a host; None if it has this version.
    fn binary_for(&self, host: Host, version: &str) -> Result<Option<AgentBinary>, (Code, String)> {
        let (program, arch) = {
            let fleet = self.core.fleet();
            let view = fleet.find_host(&host).filter(|view| view.link.is_up());
            let info = view.and_then(|view| view.info);
            let Some(info) = info else {
                let reason = format!("the agent of host {host} is not connected");
                return Err((Code::NO_CONNECTION, reason));
            };
            if info.version == version {
                return Ok(None);
            }
            (info.program.clone(), info.arch.clone())
        };
        let fits = |binary: &AgentBinary| {
            binary.program == program && binary.version == version && binary.arch == arch
        };
        let found = self.binaries.list().into_iter().find(fits);
        let missing = || {
            let reason = format!("this server has no {program} {version} for {arch}");
            (Code::COMMAND_FAILED, reason)
        };
        found.map(Some).ok_or_else(missing)
    }

    fn version_on(&self, host: Host) -> String {
        let fleet = self.core.fleet();
        let info = fleet.find_host(&host).and_then(|view| view.info);
        info.map_or_else(String::new, |info| info.version.clone())
    }

    /// Sends what the agent does not have yet.
    async fn send(
        &self,
        host: Host,
        binary: &AgentBinary,
        content: &Bytes,
    ) -> Result<(), (Code, String)> {
        let size = content.len() as u64;
        let part = |offset: u64, content: Bytes| {
            Question::UpgradePart(UpgradePart {
                sha256: binary.sha256.clone(),
                size,
                offset,
                content,
            })
        };
        // The first question, without content, tells how much the agent has. So does one after a lost connection.
        let mut received: Option<u64> = None;
        let mut heard_at = Instant::now();
        while received.is_none_or(|received| received < size) {
            let (from, to) = match received {
                None => (0, 0),
                Some(from) => (from as usize, content.len().min(from as usize + MAX_PART)),
            };
            let asked = self.ask_agent(host, part(from as u64, content.slice(from..to)));
            match asked.await {
                Ok(state) if received.is_some_and(|before| state.received <= before) => {
                    let reason = format!("the agent took no part of the binary after byte {from}");
                    return Err((Code::COMMAND_FAILED, reason));
                }
                Ok(state) => (received, heard_at) = (Some(state.received), Instant::now()),
                Err(ControlError::Away(_)) if heard_at.elapsed() < RECONNECT_WITHIN => {
                    received = None;
                    sleep(POLL_EVERY).await;
                }
                Err(error) => return Err(failure(error)),
            }
        }
        Ok(())
    }

    async fn ask_agent(
        &self,
        host: Host,
        question: Question,
    ) -> Result<UpgradeState, ControlError> {
        let answer = self.sessions.start_question(host, question, START_WITHIN);
        let answer = answer.await?.finish(DONE_WITHIN).await;
        let answer = answer.map_err(|error| match error {
            Unfinished::Refused(reason) => ControlError::Declined(reason),
            Unfinished::Disconnected | Unfinished::TooLate | Unfinished::TooLong => {
                ControlError::Away(format!(
                    "the agent of host {host} did not answer to its end"
                ))
            }
        })?;
        let state: UpgradeState = serde_json::from_slice(&answer).map_err(|_| {
            ControlError::Declined(format!(
                "the agent of host {host} answered with what this server does not understand"
            ))
        })?;
        Ok(state.bound())
    }
}
