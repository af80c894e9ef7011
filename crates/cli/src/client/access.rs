//! Apps, users, join tokens and the audit trail.

use model::UnixMillis;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Client, Path};
use crate::failure::Failure;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct AppRow {
    pub code: String,
    pub namespaces: Option<Vec<String>>,
    pub trusted: bool,
    pub rate_limit: u32,
    pub created_at: UnixMillis,
}

#[derive(Debug, Clone, Serialize)]
pub struct NewApp {
    pub code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    pub trusted: bool,
    pub rate_limit: u32,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct CreatedApp {
    pub code: String,
    pub secret: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct UserRow {
    pub name: String,
    pub created_at: UnixMillis,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TokenRow {
    pub id: String,
    pub host: Option<String>,
    pub expires_at: UnixMillis,
    pub created_at: UnixMillis,
    #[serde(default)]
    pub uses_left: Option<u32>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct CreatedToken {
    pub id: String,
    pub token: String,
    #[serde(default)]
    pub expires_at: UnixMillis,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct AuditRow {
    pub id: u64,
    pub at: UnixMillis,
    pub app: String,
    pub user: String,
    pub from: String,
    pub action: String,
    pub object: String,
    pub detail: String,
}

#[derive(Debug, Clone, Copy)]
pub struct AuditFilter<'a> {
    pub limit: u16,
    pub before: Option<u64>,
    pub user: Option<&'a str>,
    pub app: Option<&'a str>,
    pub action: Option<&'a str>,
}

impl Client {
    /// `apps`, `users` or `tokens` as they are.
    pub fn list(&self, what: &str) -> Result<Value, Failure> {
        self.get(&Path::new(what))
    }

    pub fn create<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.post(&Path::new(what), body)
    }

    pub fn remove(&self, what: &str, id: &str) -> Result<(), Failure> {
        self.delete::<serde::de::IgnoredAny>(&Path::new(what).join(id), None::<&()>)
            .map(|_| ())
    }

    /// The newest first.
    pub fn audit(&self, filter: AuditFilter<'_>) -> Result<Value, Failure> {
        let path = Path::new("audit")
            .query("limit", filter.limit)
            .maybe("before", filter.before)
            .maybe("user", filter.user)
            .maybe("app", filter.app)
            .maybe("action", filter.action);
        self.get(&path)
    }
}
