//! Agents as programs: the binaries that this server hands out, and upgrades by jobs.

mod binaries;
mod select;
mod work;

pub use binaries::{AgentBinaries, AgentBinary};
pub use select::{AgentSelection, AgentUpgrade, LeftOut, LeftOutReason, UpgradePlan};
pub(crate) use work::upgrade_agent;

use std::sync::Arc;

use model::access::{AccessArea, Caller, Permission};
use model::job::{BatchSize, JobAction, JobId, JobOptions};

use crate::core::Core;
use crate::jobs::{Jobs, NewJob};
use crate::{Access, ControlError, JobSelection, Sessions};

/// The binaries of agents, and their upgrades.
#[derive(Debug)]
pub struct Agents {
    core: Arc<Core>,
    access: Arc<Access>,
    sessions: Arc<Sessions>,
    binaries: AgentBinaries,
}

impl Agents {
    pub(crate) fn new(core: &Arc<Core>, access: &Arc<Access>, sessions: &Arc<Sessions>) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
            sessions: sessions.clone(),
            binaries: AgentBinaries::default(),
        }
    }

    /// The binaries that this server hands out. Any program may have them.
    pub fn binaries(&self) -> &AgentBinaries {
        &self.binaries
    }

    /// The same for a caller of the API.
    pub fn list_binaries(&self, caller: &Caller) -> Result<Vec<AgentBinary>, ControlError> {
        self.access
            .check(caller, Permission::View, AccessArea::Anything)?;
        Ok(self.binaries.list())
    }

    /// What an upgrade would do. Nothing is changed.
    pub fn plan_upgrade(
        &self,
        caller: &Caller,
        upgrade: &AgentUpgrade,
    ) -> Result<UpgradePlan, ControlError> {
        self.access
            .check(caller, Permission::View, AccessArea::Anything)?;
        let binaries = self.binaries.list();
        UpgradePlan::new(&self.core.fleet(), &binaries, upgrade)
    }

    /// Begins an upgrade: a job with one task for each agent. Returns it with what it leaves out.
    pub async fn upgrade(
        &self,
        jobs: &Jobs,
        caller: &Caller,
        upgrade: AgentUpgrade,
        scope: serde_json::Value,
        options: JobOptions,
        batch: Option<BatchSize>,
    ) -> Result<(JobId, UpgradePlan), ControlError> {
        self.access.check_admin(caller)?;
        let plan = self.plan_upgrade(caller, &upgrade)?;
        plan.check(upgrade.expect_count)?;
        let new = NewJob {
            action: JobAction::UpgradeAgent,
            selection: JobSelection::Agents {
                hosts: plan.hosts.clone(),
                version: plan.version.clone(),
            },
            field: "hosts",
            scope,
            options,
            batch,
            expect_count: None,
            update: None,
        };
        let (id, _) = jobs.create(caller, new).await?;
        Ok((id, plan))
    }
}
