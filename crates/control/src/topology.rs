//! Topology: a business as its source tells it becomes the process view, and its instances registered processes.
//!
//! A plan compares the facts with the view and changes what differs, all of it in one commit: applied again it changes
//! nothing. A row that is wrong is named and left out; the others count.

mod difference;
mod facts;
mod instances;
mod places;
mod plan;
mod refresh;
mod remove;
mod render;
mod retire;
mod surplus;
mod watched;

pub use difference::{Difference, Tally};

pub(crate) use refresh::run as refresh;
pub(crate) use render::{Variables, line};
pub(crate) use retire::run as retire;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::access::Caller;
use model::topology::{BusinessId, BusinessRow, Facts, Origin, namespace_of};

use crate::access::check_namespace;
use crate::{Control, ControlError};

/// Where businesses come from that are not given to us.
#[async_trait]
pub trait TopologySource: Send + Sync + std::fmt::Debug {
    /// How often businesses that came from it are read again.
    fn refresh_every(&self) -> Duration;
    /// All of one, as it is now; an error in words when it cannot be read as a whole.
    async fn facts(&self, business: BusinessId) -> Result<Facts, String>;
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
        facts: Facts,
        origin: Origin,
        apply: Apply,
    ) -> Result<Difference, ControlError> {
        let business = facts
            .business
            .ok_or_else(|| model::Invalid::required("bk_biz_id"))?;
        check_namespace(caller, &namespace_of(business))?;
        let (caller, at) = (caller.clone(), self.now());
        let facts = Arc::new(facts);
        self.commit(move |world| {
            let (changes, difference) = plan::plan(world, &facts, business, origin, &caller, at);
            Ok(match apply {
                Apply::Really => (changes, difference),
                Apply::DryRun => (Default::default(), difference),
            })
        })
        .await
    }

    /// Reads a business anew from its source. One that was given to us is as it was given.
    pub async fn refresh_topology(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<Difference, ControlError> {
        check_namespace(caller, &namespace_of(business))?;
        let origin = self.fleet().view().business(business).map(|row| row.origin);
        match (origin, self.0.source.get()) {
            (Some(Origin::Given), _) => Ok(Difference::default()),
            (Some(Origin::Cmdb) | None, Some(source)) => {
                let facts = source.facts(business).await;
                let facts = facts.map_err(ControlError::Away)?;
                self.import_topology(caller, facts, Origin::Cmdb, Apply::Really)
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
        check_namespace(caller, &namespace_of(business))?;
        let (caller, at) = (caller.clone(), self.now());
        self.commit(move |world| remove::remove(world, business, &caller, at))
            .await
    }

    /// A business as the facts that would make it: what a file would hold.
    pub fn topology(&self, caller: &Caller, business: BusinessId) -> Result<Facts, ControlError> {
        check_namespace(caller, &namespace_of(business))?;
        facts::of(&self.fleet(), business).ok_or_else(|| no_such_business(business))
    }

    /// Every business that the caller may see.
    pub fn businesses(&self, caller: &Caller) -> Vec<BusinessRow> {
        let fleet = self.fleet();
        let may_see = |row: &&BusinessRow| check_namespace(caller, &namespace_of(row.id)).is_ok();
        fleet.view().businesses().filter(may_see).cloned().collect()
    }

    /// Says where businesses come from that nobody gave us; once, before requests are taken.
    pub fn set_topology_source(&self, source: Arc<dyn TopologySource>) {
        // A second source would be a mistake of the caller's; the first stays.
        let _ = self.0.source.set(source);
    }
}

pub(crate) fn no_such_business(business: BusinessId) -> ControlError {
    ControlError::NotFound(format!("business {business} is not known"))
}
