//! Events: changes of a process that no operation caused.

use serde::{Deserialize, Serialize};

use crate::status::Exit;
use crate::{FullName, UnixMillis};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run ended without a stop operation.
    ProcessExit,
    ProcessRestartSuccess,
    ProcessRestartFailed,
    /// The agent stopped trying to restart it.
    ProcessCancelRestart,
    /// Killed: over one of its own limits for several samples in a row.
    ProcessResourceLimitExceed,
    /// Killed: its group was over a pool limit, and it had the highest score.
    ProcessGroupResourceLimitExceed,
    /// `health_cmd` or the live probe failed several times in a row.
    ProcessUnhealthy,
    /// A file of `configmap` differs from its md5.
    ConfigDrift,
    /// The ready probe failed several times in a row.
    ProcessNotReady,
    /// The ready probe succeeds again.
    ProcessReady,
}

variant_names!(EventKind, as_str, {
    ProcessExit = "process_exit",
    ProcessRestartSuccess = "process_restart_success",
    ProcessRestartFailed = "process_restart_failed",
    ProcessCancelRestart = "process_cancel_restart",
    ProcessResourceLimitExceed = "process_resource_limit_exceed",
    ProcessGroupResourceLimitExceed = "process_group_resource_limit_exceed",
    ProcessUnhealthy = "process_unhealthy",
    ConfigDrift = "config_drift",
    ProcessNotReady = "process_not_ready",
    ProcessReady = "process_ready",
});

impl EventKind {
    /// What happened, for the reference in docs.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ProcessExit => "a run ended without a stop operation",
            Self::ProcessRestartSuccess => "the agent restarted the process, and it runs",
            Self::ProcessRestartFailed => "an attempt of the agent to restart the process failed",
            Self::ProcessCancelRestart => {
                "the agent gave up: it does not try to restart the process any more"
            }
            Self::ProcessResourceLimitExceed => {
                "the agent killed the process: over one of its own limits for several samples in a row"
            }
            Self::ProcessGroupResourceLimitExceed => {
                "the agent killed the process: its group was over a limit of its pool, and the process had the highest score"
            }
            Self::ProcessUnhealthy => "`health_cmd` or `probes.live` failed several times in a row",
            Self::ConfigDrift => "a file of `configmap` differs from its md5",
            Self::ProcessNotReady => "`probes.ready` failed several times in a row",
            Self::ProcessReady => "`probes.ready` succeeds again",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub at: UnixMillis,
    pub process: FullName,
    pub kind: EventKind,
    /// A sentence for people.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// `warn_report_policy.report_id` of the process; 0 for none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub report_id: i64,
}

fn is_none(report_id: &i64) -> bool {
    *report_id == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_what_it_prints_and_is_stored_by_that_name() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
            assert_eq!(EventKind::ALL[kind as usize], kind);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert_eq!(EventKind::parse("nonsense"), None);
    }
}
