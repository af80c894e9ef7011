//! Events and webhooks.

use model::UnixMillis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Client, Path};
use crate::failure::Failure;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct EventRow {
    pub at: UnixMillis,
    pub host: String,
    pub process: String,
    pub kind: String,
    pub reason: String,
}

/// Lists are joined by commas; times are as the API takes them.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    pub limit: u16,
    pub before: Option<u64>,
    pub namespaces: Option<String>,
    pub name: Option<String>,
    pub hosts: Option<String>,
    pub kinds: Option<String>,
    pub since: Option<String>,
    pub until: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct WebhookRow {
    pub id: String,
    pub url: String,
    pub namespaces: Option<Vec<String>>,
    pub kinds: Option<Vec<String>>,
    pub created_at: UnixMillis,
    pub delivered: u64,
    pub failing_since: Option<UnixMillis>,
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct NewWebhook {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct CreatedWebhook {
    pub id: String,
    pub url: String,
    pub secret: String,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct WebhookTest {
    pub delivered: bool,
    pub status: Option<u16>,
    pub error: Option<String>,
    #[serde(default)]
    pub took_ms: u64,
}

impl Client {
    /// The newest first.
    pub fn events(&self, filter: &EventFilter) -> Result<Value, Failure> {
        let path = Path::new("events")
            .query("limit", filter.limit)
            .maybe("before", filter.before)
            .maybe("namespace", filter.namespaces.as_deref())
            .maybe("name", filter.name.as_deref())
            .maybe("host", filter.hosts.as_deref())
            .maybe("kind", filter.kinds.as_deref())
            .maybe("since", filter.since.as_deref())
            .maybe("until", filter.until.as_deref());
        self.get(&path)
    }

    /// Has the server send a test event now.
    pub fn test_webhook(&self, id: &str) -> Result<WebhookTest, Failure> {
        let path = Path::new("webhooks").join(id).join("test");
        self.post(&path, &serde_json::json!({}))
    }
}
