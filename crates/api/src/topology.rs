//! Businesses, and what an import changes in one.

use std::borrow::Cow;

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
        #[schema(value_type = Vec<Object>)]
        pub troubles: Vec<LeftOutRow>,
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

/// A row of the source that is wrong and was left out.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOutRow {
    /// Where in the source it stands, such as `sets[0].modules[1]`.
    pub row: String,
    pub reason: String,
}
