//! Topology: a business as its source tells it becomes the process view, and its instances registered processes.
//!
//! A plan compares the facts with the view and changes what differs, all of it in one commit: applied again it changes
//! nothing. A row that is wrong is named and left out; the others count.

mod difference;
mod expected;
mod facts;
mod instances;
mod machines;
mod ordinals;
mod places;
mod plan;
mod refresh;
mod remove;
mod render;
mod retire;
mod surplus;
mod watched;

pub use difference::{Difference, Tally};

pub(crate) use expected::{instance, instances, is_expected, why_unregistered};
pub(crate) use refresh::Refreshing;
pub(crate) use refresh::run as refresh;
pub(crate) use render::{Variables, line};
pub(crate) use retire::run as retire;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fleet::view::View;
use model::access::{Caller, Permission};
use model::change::Changes;
use model::topology::{BusinessFacts, BusinessId, BusinessRow, Origin};

use crate::{Control, ControlError};

/// Where businesses come from that are not given to us.
#[async_trait]
pub trait TopologySource: Send + Sync + std::fmt::Debug {
    /// How often businesses that came from it are read again.
    fn refresh_every(&self) -> Duration;
    /// All of one, as it is now; an error in words when it cannot be read as a whole.
    async fn facts(&self, business: BusinessId) -> Result<BusinessFacts, String>;
}

/// Whether a plan is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apply {
    Really,
    /// Only tells what would change.
    DryRun,
}

impl Control {
    /// Makes the view of a business what the facts say. Durable and visible when it answers.
    pub async fn import_topology(
        &self,
        caller: &Caller,
        facts: BusinessFacts,
        origin: Origin,
        apply: Apply,
    ) -> Result<Difference, ControlError> {
        let business = facts
            .business
            .ok_or_else(|| model::Invalid::required("bk_biz_id"))?;
        self.check(caller, Permission::Operate, business)?;
        self.plan_topology(caller, business, facts, origin, apply, |_| Ok(true))
            .await
    }

    /// Plans and commits, if the world at that moment still allows it; else nothing changes.
    async fn plan_topology(
        &self,
        caller: &Caller,
        business: BusinessId,
        facts: BusinessFacts,
        origin: Origin,
        apply: Apply,
        may: impl Fn(&View) -> Result<bool, ControlError> + Send + 'static,
    ) -> Result<Difference, ControlError> {
        let (caller, at) = (caller.clone(), self.now());
        self.commit(move |world| {
            if !may(world.fleet.view())? {
                return Ok((Changes::default(), Difference::default()));
            }
            let (changes, difference) = plan::plan(world, &facts, business, origin, &caller, at);
            Ok(match apply {
                Apply::Really => (changes, difference),
                Apply::DryRun => (Changes::default(), difference),
            })
        })
        .await
    }

    /// Reads a business anew from its source. One that was given to us is as it was given.
    ///
    /// A source that suddenly has nothing at all of a business changes nothing: rights, a wrong id or a broken CMDB look just
    /// like that, and everything that does not run would be forgotten. Whoever means it removes the business.
    pub async fn refresh_topology(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<Difference, ControlError> {
        self.check(caller, Permission::Operate, business)?;
        // One at a time: of two answers of the source the older must not come last.
        let _turn = self.0.refreshing.lock(business).await;
        let origin = move |view: &View| view.business(business).map(|row| row.origin);
        let before = origin(self.fleet().view());
        match (before, self.0.source.get()) {
            (Some(Origin::Imported), _) => Ok(Difference::default()),
            (Some(Origin::Cmdb) | None, Some(source)) => {
                let facts = source.facts(business).await;
                let facts = facts.map_err(ControlError::Away)?;
                let is_empty = facts.processes.is_empty();
                let may = move |view: &View| {
                    // Somebody gave or removed it while it was read: theirs counts.
                    if origin(view) != before {
                        return Ok(false);
                    }
                    match view.processes_of(business).map_or(0, |ours| ours.len()) {
                        n_known if is_empty && n_known > 0 => Err(empty_answer(business, n_known)),
                        0 if is_empty && before.is_none() => Err(no_such_business(business)),
                        _ => Ok(true),
                    }
                };
                self.plan_topology(caller, business, facts, Origin::Cmdb, Apply::Really, may)
                    .await
            }
            (Some(Origin::Cmdb), None) => Err(ControlError::Away(format!(
                "business {business} came from a CMDB, and this server has none: start it with --cmdb"
            ))),
            (None, None) => Err(no_such_business(business)),
        }
    }

    /// Removes a business from the view. What still runs of it goes on and is no longer shown.
    pub async fn remove_business(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<Difference, ControlError> {
        self.check(caller, Permission::Operate, business)?;
        let (caller, at) = (caller.clone(), self.now());
        self.commit(move |world| remove::remove(world, business, &caller, at))
            .await
    }

    /// A business as the facts that would make it: what a file would hold.
    pub fn topology(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<BusinessFacts, ControlError> {
        self.check(caller, Permission::View, business)?;
        facts::of(&self.fleet(), business).ok_or_else(|| no_such_business(business))
    }

    /// Every business that the caller may see.
    pub fn businesses(&self, caller: &Caller) -> Vec<BusinessRow> {
        let fleet = self.fleet();
        let may_see = |row: &&BusinessRow| caller.may(Permission::View, row.id);
        fleet.view().businesses().filter(may_see).cloned().collect()
    }

    /// Says where businesses come from that nobody gave us; once, before requests are taken.
    pub fn set_topology_source(&self, source: Arc<dyn TopologySource>) {
        // A second source would be a mistake of the caller's; the first stays.
        let _ = self.0.source.set(source);
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
