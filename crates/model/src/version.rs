//! Versions of a process: the definitions that were registered under its name, in the order in which they were asked for.

use std::sync::Arc;

use crate::change::NameId;
use crate::job::JobId;
use crate::{Labels, Spec, UnixMillis};

/// How many versions of one process are kept; older ones are forgotten.
pub const KEPT_VERSIONS: u32 = 50;

/// What asked for a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VersionSource {
    Register,
    Update,
    /// An operation that brought its own spec.
    Operate,
    /// An update in batches.
    Roll,
    /// An earlier version was asked for again.
    Rollback,
    /// A roll was taken back.
    Revert,
}

variant_names!(VersionSource, as_str, {
    Register = "register",
    Update = "update",
    Operate = "operate",
    Roll = "roll",
    Rollback = "rollback",
    Revert = "revert",
});

impl VersionSource {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == text)
    }
}

/// Who asked for a version, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionOrigin {
    pub source: VersionSource,
    pub app: String,
    pub user: String,
    /// The job that brings it to hosts, batch by batch.
    pub job: Option<JobId>,
    /// The version whose definition it is again.
    pub restores: Option<u32>,
}

impl VersionOrigin {
    pub fn new(source: VersionSource, app: &str, user: &str) -> Self {
        Self {
            source,
            app: app.to_owned(),
            user: user.to_owned(),
            job: None,
            restores: None,
        }
    }
}

/// A definition that becomes the newest version of its process, unless it is that already. The store numbers it.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionRow {
    pub name: NameId,
    pub spec: Arc<Spec>,
    pub labels: Arc<Labels>,
    /// `NEVER` for what was registered before versions were kept.
    pub at: UnixMillis,
    pub origin: VersionOrigin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_parses_from_its_name() {
        for source in VersionSource::ALL {
            assert_eq!(VersionSource::parse(source.as_str()), Some(source));
        }
        assert_eq!(VersionSource::parse("import"), None);
    }
}
