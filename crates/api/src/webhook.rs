//! Webhooks.

use std::borrow::Cow;

use model::UnixMillis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

responses! {
    pub struct WebhookList {
        pub webhooks: Vec<WebhookRow>,
    }

    pub struct WebhookRow {
        pub id: String,
        pub url: String,
        /// Null for all.
        pub namespaces: Option<Vec<String>>,
        /// Null for all.
        pub kinds: Option<Vec<Cow<'static, str>>>,
        /// Tests of labels; null for all.
        pub label: Option<String>,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
        /// Deliveries that succeeded since the server started.
        pub delivered: u64,
        /// Attempts that failed since the server started.
        pub failed: u64,
        /// Since when deliveries fail; null when the last one succeeded.
        #[schema(value_type = Option<i64>)]
        pub failing_since: Option<UnixMillis>,
        /// Why the last delivery failed; null when it succeeded.
        pub last_error: Option<String>,
    }
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// `http://HOST[:PORT]/PATH`
    #[schema(required)]
    pub url: Option<String>,
    /// Only events of these namespaces; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// Only events of these kinds; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<String>>,
    /// Only events of processes with these labels, as in the list of processes; of all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Signs what is sent, 16 to 256 bytes; made by the server if not given. The server keeps it to sign with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

responses! {
    /// The secret is shown this once.
    pub struct CreatedWebhook {
        pub id: String,
        pub url: String,
        pub secret: String,
    }

    /// How a test went.
    pub struct WebhookTest {
        pub delivered: bool,
        /// What the receiver answered with; null when it did not.
        pub status: Option<u16>,
        /// Why it was not delivered; null when it was.
        pub error: Option<String>,
        pub took_ms: u64,
    }
}
