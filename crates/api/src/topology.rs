//! Businesses, and what an import changes in one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::UnixMillis;
use serde::{Deserialize, Serialize};

responses! {
    pub struct BusinessList {
        pub businesses: Vec<BusinessView>,
    }

    pub struct BusinessView {
        pub id: u32,
        pub name: String,
        /// `given` by a file or this API, or read from a `cmdb`.
        pub origin: Cow<'static, str>,
        /// When it was last compared with its source.
        #[schema(value_type = i64)]
        pub refreshed_at: UnixMillis,
        pub sets: usize,
        pub modules: usize,
        pub processes: u64,
        /// Rows that were left out then, and why.
        pub troubles: Vec<LeftOutRow>,
    }

    /// A row of the source that is wrong and was left out.
    pub struct LeftOutRow {
        /// Where in the source it stands, such as `sets[0].modules[1]`.
        pub row: String,
        pub reason: String,
        /// What the reason says, for programs and for other languages: `belongs_elsewhere`, `twice`, `twice_in_service`,
        /// `host_twice`, `host_elsewhere`, `required`, `invalid` or `more`; empty where an older version stored the row.
        pub code: Cow<'static, str>,
        /// As the code needs: `what`, `id`, `name`, `business`, `other`, `known`, `field`, `rule`, `count`.
        #[schema(value_type = BTreeMap<String, String>)]
        pub params: BTreeMap<Cow<'static, str>, String>,
    }
}

/// What an import, a refresh or a removal changes in a business, or would change.
///
/// The document describes it in `schemas.json`, as [`crate::schemas::DifferenceSchema`].
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Difference {
    pub sets: ChangeCounts,
    pub modules: ChangeCounts,
    pub hosts: ChangeCounts,
    pub services: ChangeCounts,
    pub processes: ChangeCounts,
    pub instances: ChangeCounts,
    /// Gone from the source, and still running: shown until they are stopped.
    pub vanished: u32,
    /// `+` new, `~` changed, `-` gone, `!` still running.
    pub lines: Vec<String>,
    /// The same lines as codes with parameters.
    pub changes: Vec<ChangeView>,
    /// Lines that were too many.
    pub more_lines: u32,
    pub troubles: Vec<LeftOutRow>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeCounts {
    pub new: u32,
    pub changed: u32,
    pub gone: u32,
}

/// A line of a difference, for programs and for other languages.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeView {
    /// As in the line.
    pub mark: String,
    /// `set`, `module`, `service`, `host`, `host_moved`, `process` or `still_runs`.
    pub code: Cow<'static, str>,
    pub params: BTreeMap<Cow<'static, str>, String>,
}
