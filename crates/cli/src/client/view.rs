//! The process view: businesses, their topology, their processes, and what an expression selects of them.

use model::UnixMillis;
use model::topology::document::BusinessDocument;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Client, Page, Path};
use crate::failure::Failure;

/// One business in short.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BusinessRow {
    pub id: u32,
    pub name: String,
    pub origin: String,
    pub refreshed_at: UnixMillis,
    pub sets: u64,
    pub modules: u64,
    pub processes: u64,
    pub troubles: Vec<TroubleRow>,
}

/// A row of a topology that was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TroubleRow {
    pub row: String,
    pub reason: String,
}

/// What an import changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Difference {
    pub sets: Tally,
    pub modules: Tally,
    pub hosts: Tally,
    pub services: Tally,
    pub processes: Tally,
    pub instances: Tally,
    pub vanished: u64,
    pub lines: Vec<String>,
    pub more_lines: u64,
    pub troubles: Vec<TroubleRow>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Tally {
    pub new: u64,
    pub changed: u64,
    pub gone: u64,
}

/// Whether an import is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Import {
    Really,
    DryRun,
}

/// Which processes of a business.
#[derive(Debug, Clone, Default)]
pub struct ViewFilter {
    pub business: u32,
    pub env: Option<&'static str>,
    /// Joined: `set.module.service.process.id`.
    pub expr: Option<String>,
    pub status: Option<String>,
    pub managed: Option<bool>,
    pub host: Option<model::Host>,
    pub search: Vec<String>,
    pub order: Option<String>,
}

/// One process of the view.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ViewRow {
    pub id: u32,
    pub expression: String,
    pub name: String,
    pub env: String,
    pub set: Place,
    pub module: Place,
    pub host: String,
    pub status: String,
    pub managed: bool,
    pub vanished: bool,
    pub priority: Option<i32>,
    pub config_templates: Vec<TemplateName>,
    pub instances: Vec<InstanceRow>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Place {
    pub id: u32,
    pub name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TemplateName {
    pub name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct InstanceRow {
    pub process: String,
    pub status: String,
    pub managed: bool,
    pub pid: i64,
    pub message: String,
    pub connected: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Explained {
    pub expression: String,
    pub count: u64,
    pub parts: Vec<PartExplained>,
    pub matches: Vec<Match>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PartExplained {
    pub part: String,
    pub text: String,
    pub words: String,
    pub count: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Match {
    pub id: u32,
    pub expression: String,
}

impl Client {
    pub fn businesses(&self) -> Result<Value, Failure> {
        self.get(&Path::new("businesses"))
    }

    pub fn topology(&self, business: u32) -> Result<BusinessDocument, Failure> {
        self.get(&topology_path(business))
    }

    pub fn import_topology(
        &self,
        document: &BusinessDocument,
        import: Import,
    ) -> Result<Value, Failure> {
        let path = topology_path(document.bk_biz_id);
        let path = match import {
            Import::Really => path,
            Import::DryRun => path.query("dry_run", true),
        };
        self.put(&path, document)
    }

    pub fn remove_topology(&self, business: u32) -> Result<Value, Failure> {
        self.delete(&topology_path(business), None::<&()>)
    }

    pub fn refresh_topology(&self, business: u32) -> Result<Value, Failure> {
        self.post(&business_path(business).join("refresh"), &())
    }

    /// As many processes of a business as there are from `start`, or `limit` of them.
    pub fn view<T: DeserializeOwned>(
        &self,
        filter: &ViewFilter,
        start: usize,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        let mut path = Path::new("processes")
            .join("view")
            .query("business", filter.business)
            .maybe("env", filter.env)
            .maybe("expr", filter.expr.as_deref())
            .maybe("status", filter.status.as_deref())
            .maybe("managed", filter.managed)
            .maybe("ip", filter.host.map(|host| host.ip))
            .maybe("cloud", filter.host.map(|host| host.cloud))
            .maybe("order", filter.order.as_deref());
        for term in &filter.search {
            path = path.query("search", term);
        }
        self.pages_from(&path, "processes", start, limit)
    }

    pub fn explain(
        &self,
        business: u32,
        env: Option<&'static str>,
        expression: &str,
    ) -> Result<Value, Failure> {
        #[derive(Serialize)]
        struct Body<'a> {
            business: u32,
            #[serde(skip_serializing_if = "Option::is_none")]
            env: Option<&'static str>,
            expression: &'a str,
        }
        let body = Body {
            business,
            env,
            expression,
        };
        self.post(&Path::new("expression").join("explain"), &body)
    }
}

pub(super) fn business_path(business: u32) -> Path {
    Path::new("businesses").join(&business.to_string())
}

fn topology_path(business: u32) -> Path {
    business_path(business).join("topology")
}
