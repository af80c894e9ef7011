//! Process groups: a pool of cpu and memory that processes of one namespace share on one host.

use serde::{Deserialize, Serialize};

use crate::spec::raw::percent;
use crate::{Invalid, lenient};

/// How many groups one namespace may have on one host.
pub const MAX_GROUPS: usize = 256;

/// One pool. Limits are percent of the whole machine, 0 means none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessGroup {
    pub id: String,
    pub resource: Pool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    pub cpu_pool_limit: f64,
    pub mem_pool_limit: f64,
    /// Which process is killed: 0, the one that uses most; 1, the one that uses most of its own limit.
    pub cpu_pool_weight: u8,
    pub mem_pool_weight: u8,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawProcessGroup {
    pub id: Option<serde_json::Value>,
    #[serde(deserialize_with = "lenient::object")]
    pub resource: Option<RawPool>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawPool {
    #[serde(deserialize_with = "lenient::float")]
    pub cpu_pool_limit: Option<f64>,
    #[serde(deserialize_with = "lenient::float")]
    pub mem_pool_limit: Option<f64>,
    #[serde(deserialize_with = "lenient::int")]
    pub cpu_pool_weight: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub mem_pool_weight: Option<i64>,
}

/// Checks a list of groups; errors name the field from `process_group` inwards.
pub fn complete(groups: Vec<Option<RawProcessGroup>>) -> Result<Vec<ProcessGroup>, Invalid> {
    ensure!(
        groups.len() <= MAX_GROUPS,
        "process_group",
        "must be at most {MAX_GROUPS} groups"
    );
    let mut complete: Vec<ProcessGroup> = Vec::with_capacity(groups.len());
    for (index, group) in groups.into_iter().enumerate() {
        let group = group
            .unwrap_or_default()
            .complete()
            .map_err(|e| e.within(&format!("process_group[{index}]")))?;
        let is_new = complete.iter().all(|other| other.id != group.id);
        ensure!(
            is_new,
            format!("process_group[{index}].id"),
            "stands twice in the list"
        );
        complete.push(group);
    }
    Ok(complete)
}

impl RawProcessGroup {
    fn complete(self) -> Result<ProcessGroup, Invalid> {
        let id = match self.id {
            Some(serde_json::Value::String(id)) if !id.is_empty() && id.len() <= 128 => id,
            Some(serde_json::Value::Number(id)) => id.to_string(),
            None | Some(serde_json::Value::Null) => return Err(Invalid::required("id")),
            Some(_) => {
                return Err(Invalid::new(
                    "id",
                    "must be a text of 1 to 128 bytes, or a number",
                ));
            }
        };
        let pool = self.resource.unwrap_or_default();
        let percent = |field, value| percent(field, value).map_err(|e| e.within("resource"));
        let weight = |field: &str, value: Option<i64>| match value.unwrap_or(0) {
            0 => Ok(0),
            1 => Ok(1),
            _ => Err(Invalid::new(format!("resource.{field}"), "must be 0 or 1")),
        };
        Ok(ProcessGroup {
            id,
            resource: Pool {
                cpu_pool_limit: percent("cpu_pool_limit", pool.cpu_pool_limit)?,
                mem_pool_limit: percent("mem_pool_limit", pool.mem_pool_limit)?,
                cpu_pool_weight: weight("cpu_pool_weight", pool.cpu_pool_weight)?,
                mem_pool_weight: weight("mem_pool_weight", pool.mem_pool_weight)?,
            },
        })
    }
}
