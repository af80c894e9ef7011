//! Registered processes, the hosts that they are on, and process groups.

pub(crate) mod after;
mod groups;
mod label_hosts;
mod read;
mod register;
mod summary;
mod unregister;
mod versions;

pub use label_hosts::{LabelHosts, LabelledHost};
pub use read::{Groups, HostStates, ProcessNames, Statuses};
pub use register::{Mode, Registration};
pub(crate) use summary::Summaries;
pub use summary::Summary;
pub use versions::{ProcessVersion, VersionNumbers};

use std::sync::Arc;

use crate::Access;
use crate::core::Core;

#[derive(Debug)]
pub struct Registry {
    pub(crate) core: Arc<Core>,
    pub(crate) access: Arc<Access>,
}

impl Registry {
    pub(crate) fn new(core: &Arc<Core>, access: &Arc<Access>) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
        }
    }
}
