//! Processes and hosts.

use std::collections::BTreeMap;

use model::spec::Spec;
use model::{FullName, UnixMillis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Client, MAX_PAGE, Path};
use crate::failure::Failure;
use crate::target::HostRef;

/// One process on one host.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ProcessRow {
    pub namespace: String,
    pub name: String,
    pub host: String,
    pub agent_id: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub flag: Value,
    pub state: String,
    pub managed: bool,
    pub pid: i64,
    pub version: String,
    pub message: String,
    pub registered_at: UnixMillis,
    pub started_at: UnixMillis,
    pub reported_at: UnixMillis,
    pub cpu: f64,
    pub mem: f64,
    pub fd: u64,
    pub disk: i64,
    pub net: i64,
}

/// One machine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct HostRow {
    pub host: String,
    pub agent_id: Option<String>,
    pub connected: bool,
    pub since: UnixMillis,
    pub version: Option<String>,
    pub root: Option<bool>,
    pub hostname: Option<String>,
    pub kernel: Option<String>,
    pub cores: Option<u64>,
    pub memory_kib: Option<u64>,
    pub processes: u64,
}

/// Some rows, and how many there are in all.
#[derive(Debug)]
pub struct Page<T> {
    pub count: u64,
    pub rows: Vec<T>,
}

#[derive(Debug, Clone, Default)]
pub struct ProcessFilter {
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub host: Option<String>,
    pub state: Option<&'static str>,
    pub managed: Option<bool>,
}

/// What is registered under one name, and where.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProcessView {
    pub definitions: Vec<DefinitionRow>,
    pub count: u64,
    pub processes: Vec<ProcessRow>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct DefinitionRow {
    pub spec: Spec,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub hosts: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Registration {
    pub hosts: Vec<HostRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(serialize_with = "model::spec::serialize_as_request")]
    pub spec: Spec,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Results {
    pub results: Vec<HostResult>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct HostResult {
    pub host: String,
    pub code: i32,
    pub message: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ReplicaRow {
    pub id: String,
    pub address: String,
    pub this: bool,
    pub agents: usize,
    pub draining: bool,
    pub leads: bool,
}

impl Client {
    /// As many processes as there are, or `limit` of them.
    pub fn processes<T: DeserializeOwned>(
        &self,
        filter: &ProcessFilter,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        let path = Path::new("processes")
            .maybe("namespace", filter.namespace.as_deref())
            .maybe("name", filter.name.as_deref())
            .maybe("host", filter.host.as_deref())
            .maybe("state", filter.state)
            .maybe("managed", filter.managed);
        self.pages(&path, "processes", limit)
    }

    pub fn hosts<T: DeserializeOwned>(
        &self,
        connected: Option<bool>,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        let path = Path::new("hosts").maybe("connected", connected);
        self.pages(&path, "hosts", limit)
    }

    pub fn host<T: DeserializeOwned>(&self, host: &model::Host) -> Result<T, Failure> {
        self.get(&Path::new("hosts").join(&host.to_string()))
    }

    pub fn process<T: DeserializeOwned>(&self, name: &FullName) -> Result<T, Failure> {
        self.get(&process_path(name))
    }

    pub fn register(&self, name: &FullName, body: &Registration) -> Result<Results, Failure> {
        self.post(&process_path(name), body)
    }

    pub fn update(&self, name: &FullName, body: &Registration) -> Result<Results, Failure> {
        self.put(&process_path(name), body)
    }

    /// No hosts: all that it is registered on.
    pub fn unregister(
        &self,
        name: &FullName,
        hosts: Option<&[HostRef]>,
    ) -> Result<Results, Failure> {
        #[derive(Serialize)]
        struct Hosts<'a> {
            hosts: &'a [HostRef],
        }
        match hosts {
            Some(hosts) => self.delete(&process_path(name), Some(&Hosts { hosts })),
            None => self.delete(&process_path(name).query("all", true), None::<&()>),
        }
    }

    /// Follows the pages of a list until it ends or there are enough.
    pub(super) fn pages<T: DeserializeOwned>(
        &self,
        path: &Path,
        list: &str,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        self.pages_from(path, list, 0, limit)
    }

    /// The same from a row on.
    pub(super) fn pages_from<T: DeserializeOwned>(
        &self,
        path: &Path,
        list: &str,
        start: usize,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        let mut page = Page {
            count: 0,
            rows: Vec::new(),
        };
        loop {
            let wanted = limit
                .map_or(MAX_PAGE, |limit| limit - page.rows.len())
                .clamp(1, MAX_PAGE);
            let path = path
                .clone()
                .query("start", start + page.rows.len())
                .query("limit", wanted);
            let mut answer: BTreeMap<String, Value> = self.get(&path)?;
            page.count = answer.get("count").and_then(Value::as_u64).unwrap_or(0);
            let rows = answer.remove(list).unwrap_or(Value::Null);
            let rows: Vec<T> = serde_json::from_value(rows).map_err(|e| {
                Failure::new(
                    crate::failure::Kind::Failed,
                    format!("the server's list of {list} is not as expected: {e}"),
                )
            })?;
            // A page may be shorter than wanted where its rows are long.
            let is_last = rows.is_empty();
            page.rows.extend(rows);
            if is_last
                || (start + page.rows.len()) as u64 >= page.count
                || limit.is_some_and(|limit| page.rows.len() >= limit)
            {
                return Ok(page);
            }
        }
    }
}

pub(super) fn process_path(name: &FullName) -> Path {
    Path::new("processes")
        .join(name.namespace.as_str())
        .join(name.name.as_str())
}
