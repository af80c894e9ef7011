//! The run that is the process now, and what is known of it.

use model::rare::Rare;
use model::shared_default;
use model::spec::ProbeKind;
use serde::{Deserialize, Serialize};

use super::health::Health;
use super::order::DependencyRun;
use super::readiness::Readiness;
use super::{Cmd, Form, LiveRun, Sink, types};

/// The run that is the process now, and what is true of this run only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CurrentRun {
    pub(crate) alive: LiveRun,
    /// The journal has these beside the phase: see `record`.
    #[serde(skip)]
    pub(crate) facts: RunFacts,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFacts {
    /// Where it writes, if the agent started it and it stays in the foreground.
    #[serde(default)]
    pub(crate) sink: Option<Sink>,
    #[serde(default, rename = "troubles")]
    pub(crate) faults: Rare<RunFaults>,
    #[serde(default, skip_serializing_if = "Rare::is_default")]
    pub(crate) health: Rare<Health>,
    #[serde(default, skip_serializing_if = "Rare::is_default")]
    pub(crate) live: Rare<Health>,
    #[serde(default, skip_serializing_if = "Rare::is_default")]
    pub(crate) ready: Rare<Readiness>,
    /// Why the agent kills it; empty as long as it does not.
    #[serde(default, rename = "sentence", skip_serializing_if = "String::is_empty")]
    pub(crate) kill_reason: String,
    /// [`Spec::launch_digest`] of the spec that it was started with; 0 if not known.
    #[serde(default, skip_serializing_if = "types::is_zero")]
    pub(crate) launch_digest: u64,
    /// The runs of its dependencies with which it was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) dependencies: Vec<DependencyRun>,
}

shared_default!(RunFaults, Health, Readiness);

/// What is wrong around a run that is up, each as a sentence of its status; empty where nothing is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunFaults {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) log: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) pid_file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) rotation: String,
    /// It is over a limit, and the agent may not kill it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) limit: String,
    /// The last ready probe could not be made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) ready_probe: String,
    /// The last live probe could not be made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) live_probe: String,
}

impl CurrentRun {
    /// A run that this agent did not start.
    pub(super) fn adopted(alive: LiveRun) -> Self {
        let facts = RunFacts::default();
        Self { alive, facts }
    }

    /// A run that this command brought up.
    pub(super) fn launched(alive: LiveRun, cmd: Option<&Cmd>) -> Self {
        let sink = cmd.map(|cmd| &cmd.sink);
        let facts = RunFacts {
            sink: match alive.form {
                Form::Foreground { .. } => sink.cloned(),
                Form::Daemon => None,
            },
            faults: RunFaults {
                log: sink.map_or_else(String::new, |sink| sink.instead_of_log.clone()),
                ..RunFaults::default()
            }
            .into(),
            launch_digest: cmd.map_or(0, |cmd| cmd.launch_digest),
            ..RunFacts::default()
        };
        Self { alive, facts }
    }
}

impl RunFacts {
    pub(super) fn note_dependency(&mut self, found: DependencyRun) {
        self.dependencies
            .retain(|known| known.process != found.process);
        self.dependencies.push(found);
    }
}

impl RunFaults {
    pub(super) fn probe_mut(&mut self, kind: ProbeKind) -> &mut String {
        match kind {
            ProbeKind::Ready => &mut self.ready_probe,
            ProbeKind::Live => &mut self.live_probe,
        }
    }
}
