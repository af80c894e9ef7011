//! Apps, users, join tokens and the audit trail.

use std::io::Write;

use model::UnixMillis;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Client, Path};
use crate::failure::{Failure, Kind};
use crate::verb::grant::GrantBody;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct AppRow {
    pub code: String,
    pub grants: Vec<GrantRow>,
    pub trusted: bool,
    pub rate_limit: u32,
    pub created_at: UnixMillis,
}

/// A role, and where it counts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GrantRow {
    pub role: String,
    pub everything: bool,
    pub namespaces: Vec<String>,
    pub businesses: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub struct NewApp<'a> {
    pub code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<[GrantBody<'a>; 1]>,
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
    pub grants: Vec<GrantRow>,
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
    pub replace: bool,
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
    pub user: Option<&'a str>,
    pub app: Option<&'a str>,
    pub action: Option<&'a str>,
    pub from: Option<&'a str>,
    pub object: Option<&'a str>,
    pub since: Option<&'a str>,
    pub until: Option<&'a str>,
}

impl AuditFilter<'_> {
    fn on(self, path: Path) -> Path {
        path.maybe("user", self.user)
            .maybe("app", self.app)
            .maybe("action", self.action)
            .maybe("from", self.from)
            .maybe("object", self.object)
            .maybe("since", self.since)
            .maybe("until", self.until)
    }
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

    /// Takes back what there is only one of.
    pub fn undo<T: DeserializeOwned>(&self, what: &str) -> Result<T, Failure> {
        self.delete(&Path::new(what), None::<&()>)
    }

    pub fn revoke(&self, host: &model::Host) -> Result<(), Failure> {
        let path = Path::new("hosts").join(&host.to_string()).join("revoke");
        self.post::<serde::de::IgnoredAny>(&path, &serde_json::json!({}))
            .map(|_| ())
    }

    /// The newest first.
    pub fn audit(
        &self,
        filter: AuditFilter<'_>,
        limit: u16,
        before: Option<u64>,
    ) -> Result<Value, Failure> {
        let path = Path::new("audit")
            .query("limit", limit)
            .maybe("before", before);
        self.get(&filter.on(path))
    }

    /// All of it as it comes, in `jsonl` or `csv`.
    pub fn export_audit(
        &self,
        filter: AuditFilter<'_>,
        format: &str,
        to: &mut dyn Write,
    ) -> Result<(), Failure> {
        let path = filter.on(Path::new("audit/export").query("format", format));
        let mut lines = self.stream(&path)?;
        std::io::copy(&mut lines, to).map_err(|error| {
            let said = format!("the export broke off, and what was written is a part: {error}");
            Failure::new(Kind::Failed, said)
        })?;
        Ok(())
    }

    /// `what` is `apps` or `users`. Answers all that it has then.
    pub fn grant(&self, what: &str, name: &str, body: &impl Serialize) -> Result<Value, Failure> {
        self.post(&Path::new(what).join(name).join("grants"), body)
    }

    pub fn revoke_grants(
        &self,
        what: &str,
        name: &str,
        body: &impl Serialize,
    ) -> Result<Value, Failure> {
        self.delete(&Path::new(what).join(name).join("grants"), Some(body))
    }
}
