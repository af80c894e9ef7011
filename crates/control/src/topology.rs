//! Topology: imports a business from its source into the process view, and registers its instances.
//!
//! A plan compares the facts of the source with the view and commits the differences at once. It is idempotent. An invalid row is
//! reported and skipped.

mod difference;
mod expected;
mod facts;
mod fault;
mod forget_hosts;
mod instances;
mod machines;
mod ordinals;
mod places;
mod plan;
mod programs;
mod read;
mod refresh;
mod remove;
mod render;
mod retire;
mod surplus;
mod watched;

pub use difference::{ChangeCounts, ChangeLine, ChangeOf, Difference};
pub(crate) use forget_hosts::{businesses_on, forget_hosts};
pub use read::{BusinessSummary, Overview, Selected};

pub(crate) use expected::{instance, instances, is_expected, why_unregistered};
use refresh::RefreshLocks;
pub(crate) use refresh::run as refresh;
pub(crate) use render::{Variables, line};
pub(crate) use retire::run as retire;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use fleet::view::View;
use model::access::{Caller, Permission};
use model::change::Changes;
use model::topology::{BusinessFacts, BusinessId, Origin};

use crate::core::Core;
use crate::registry::after::refuse_cycles;
use crate::{Access, ControlError, Replicas};

/// A source of businesses, such as a CMDB.
#[async_trait]
pub trait TopologySource: Send + Sync + std::fmt::Debug {
    /// How often its businesses are refreshed.
    fn refresh_every(&self) -> Duration;
    /// Reads a whole business; an error is a message.
    async fn facts(&self, business: BusinessId) -> Result<BusinessFacts, String>;
}

/// Whether a plan is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apply {
    Really,
    /// Only returns the differences.
    DryRun,
}

/// Businesses and their process view.
#[derive(Debug)]
pub struct Topology {
    core: Arc<Core>,
    access: Arc<Access>,
    replicas: Arc<Replicas>,
    source: OnceLock<Arc<dyn TopologySource>>,
    refreshing: RefreshLocks,
}

impl Topology {
    pub(crate) fn new(core: &Arc<Core>, access: &Arc<Access>, replicas: &Arc<Replicas>) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
            replicas: replicas.clone(),
            source: OnceLock::new(),
            refreshing: RefreshLocks::default(),
        }
    }

    /// Makes the view of a business equal to the facts. Durable and visible when it returns.
    pub async fn import(
        &self,
        caller: &Caller,
        facts: BusinessFacts,
        origin: Origin,
        apply: Apply,
    ) -> Result<Difference, ControlError> {
        let business = facts
            .business
            .ok_or_else(|| model::Invalid::required("bk_biz_id"))?;
        self.access.check(caller, Permission::Operate, business)?;
        self.plan(caller, business, facts, origin, apply, |_| Ok(true))
            .await
    }

    /// Plans and commits, if `may` allows it at that revision.
    async fn plan(
        &self,
        caller: &Caller,
        business: BusinessId,
        facts: BusinessFacts,
        origin: Origin,
        apply: Apply,
        may: impl Fn(&View) -> Result<bool, ControlError> + Send + 'static,
    ) -> Result<Difference, ControlError> {
        let (caller, at) = (caller.clone(), self.core.now());
        let (core, n_facts) = (&self.core, facts.processes.len());
        let planned = core.commit(move |world| {
            if !may(world.fleet.view())? {
                return Ok((Changes::default(), Difference::default()));
            }
            let (changes, difference) = plan::plan(world, &facts, business, origin, &caller, at);
            refuse_cycles(world.fleet, &changes)?;
            Ok(match apply {
                Apply::Really => (changes, difference),
                Apply::DryRun => (Changes::default(), difference),
            })
        });
        let difference = planned.await?;
        if difference.is_empty() || apply == Apply::DryRun {
            core.freed_memory.count(n_facts).await;
        }
        Ok(difference)
    }

    /// Reads a business from its source again. Imported businesses have no source, and stay as they are.
    ///
    /// An empty answer for a known business is refused: missing permissions, a wrong id or a broken CMDB look like that, and
    /// everything that is stopped would be unregistered. An operator who means it removes the business.
    pub async fn refresh(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<Difference, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        // One at a time, so that the older of two answers is never applied last.
        let _turn = self.refreshing.lock(business).await;
        let origin = move |view: &View| view.business(business).map(|row| row.origin);
        let before = origin(self.core.fleet().view());
        match (before, self.source.get()) {
            (Some(Origin::Imported), _) => Ok(Difference::default()),
            (Some(Origin::Cmdb) | None, Some(source)) => {
                let facts = source.facts(business).await;
                let facts = facts.map_err(ControlError::Away)?;
                let is_empty = facts.processes.is_empty();
                let may = move |view: &View| {
                    // Imported or removed meanwhile: that wins.
                    if origin(view) != before {
                        return Ok(false);
                    }
                    match view.processes_of(business).map_or(0, |ours| ours.len()) {
                        n_known if is_empty && n_known > 0 => Err(empty_answer(business, n_known)),
                        0 if is_empty && before.is_none() => Err(no_such_business(business)),
                        _ => Ok(true),
                    }
                };
                self.plan(caller, business, facts, Origin::Cmdb, Apply::Really, may)
                    .await
            }
            (Some(Origin::Cmdb), None) => Err(ControlError::Away(format!(
                "business {business} came from a CMDB, and this server has none: start it with --cmdb"
            ))),
            (None, None) => Err(no_such_business(business)),
        }
    }

    /// Removes a business from the view. Its running processes keep running, and are no longer shown.
    pub async fn remove(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<Difference, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| remove::remove(world, business, &caller, at))
            .await
    }

    /// A business as facts, for an export.
    pub fn export(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<BusinessFacts, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        facts::of(&self.core.fleet(), business).ok_or_else(|| no_such_business(business))
    }

    /// Sets the source, once, before the first request.
    pub fn set_source(&self, source: Arc<dyn TopologySource>) {
        // A second call changes nothing.
        let _ = self.source.set(source);
    }
}

fn empty_answer(business: BusinessId, n_known: u64) -> ControlError {
    ControlError::Conflict(format!(
        "the source has no process of business {business} any more, and {n_known} are known here: nothing was changed; if \
         that is right, remove the business"
    ))
}

pub(crate) fn no_such_business(business: BusinessId) -> ControlError {
    ControlError::NotFound(format!("business {business} is not known"))
}
