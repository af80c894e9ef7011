//! Jobs that update a process: its new definition, and what its hosts had before, so that a job can be taken back.

use serde::{Deserialize, Serialize};

use super::JobId;
use crate::{FullName, Labels, Spec};

/// How many different definitions one job keeps: the new one, and those that its hosts had.
pub const MAX_UPDATE_DEFINITIONS: usize = 100;

/// What a job brings to the hosts of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobUpdate {
    pub process: FullName,
    /// What tasks bring, then what hosts had before. Tasks name definitions by their place here.
    pub definitions: Vec<JobDefinition>,
    /// The version that was asked for by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<u32>,
    /// The job that this one takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<JobId>,
    /// The job that takes this one back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverted_by: Option<JobId>,
    /// The user who asked to take it back while it went on; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revert_asked_by: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobDefinition {
    pub spec: Spec,
    pub labels: Labels,
}

/// What a task of such a job does to its host. Numbers are places in [`JobUpdate::definitions`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUpdate {
    pub to: u32,
    /// What the host had before the task changed it. None before that, and where it had nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub had: Option<u32>,
    /// The process is restarted, however it is: this task or the one that it takes back has begun to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarts: bool,
}
