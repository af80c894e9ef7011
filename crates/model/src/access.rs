//! Who may call: apps, users, login sessions, join tokens; and the trail of what they did.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Host, Invalid, Namespace, UnixMillis};

/// A salted hash of a secret. The secret itself is never kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretHash {
    pub scheme: HashScheme,
    pub salt: Vec<u8>,
    pub hash: Vec<u8>,
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HashScheme {
    /// One round of SHA-256: for secrets that a machine made and checks on every request.
    Sha256,
    /// PBKDF2-HMAC-SHA256: for passwords that people choose.
    Pbkdf2 { rounds: u32 },
}

/// A program that calls the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    pub code: String,
    pub secret: SecretHash,
    /// Namespaces that it may touch; none named means all.
    pub namespaces: Option<Vec<Namespace>>,
    /// May name its user with `bk_username` instead of a login.
    pub trusted: bool,
    /// Requests per second; 0 means no limit.
    pub rate_limit: u32,
    pub created_at: UnixMillis,
}

impl App {
    /// An app that is trusted with users' names in every namespace is trusted with apps, users and tokens, too.
    pub fn is_admin(&self) -> bool {
        self.trusted && self.namespaces.is_none()
    }
}

/// App codes and user names: letters, digits, and a few signs.
pub fn parse_handle(field: &str, text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Invalid::required(field));
    }
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    match text.len() <= 64 && text.chars().all(fine) {
        true => Ok(text.to_owned()),
        false => Err(Invalid::new(
            field,
            "must be at most 64 letters, digits, '-', '_', '.' or '@'",
        )),
    }
}

/// A person who can log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub name: String,
    pub password: SecretHash,
    pub created_at: UnixMillis,
}

/// What `bk_token` names. Kept by the hash of the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    pub token_sha256: [u8; 32],
    pub user: String,
    pub expires_at: UnixMillis,
}

/// Lets an agent enrol. Kept by the hash of the token; `id` is what people name it by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinToken {
    pub id: String,
    pub token_sha256: [u8; 32],
    /// Never means that it does not expire.
    pub expires_at: UnixMillis,
    /// When set, good for this host alone.
    pub host: Option<Host>,
    pub created_at: UnixMillis,
}

/// Who asks, after the credentials were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub app: String,
    pub user: String,
    /// Namespaces that the app may touch; none named means all.
    pub namespaces: Option<Vec<Namespace>>,
    /// May change apps, users and tokens.
    pub admin: bool,
    pub from: Option<IpAddr>,
    pub request_id: String,
}

impl Caller {
    /// Muster itself, for work that nobody asked for.
    pub fn system() -> Self {
        Self {
            app: "muster".into(),
            user: "system".into(),
            namespaces: None,
            admin: true,
            from: None,
            request_id: String::new(),
        }
    }

    pub fn may_touch(&self, namespace: &Namespace) -> bool {
        self.namespaces
            .as_ref()
            .is_none_or(|allowed| allowed.contains(namespace))
    }
}

/// One line of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub at: UnixMillis,
    pub app: String,
    pub user: String,
    pub from: String,
    pub request_id: String,
    /// The verb: `register`, `operate`, `app.create`, …
    pub action: String,
    /// What it was done to.
    pub object: String,
    /// How much, with what result.
    pub detail: String,
}

impl Audit {
    pub fn new(
        caller: &Caller,
        at: UnixMillis,
        action: &str,
        object: impl Into<String>,
        detail: String,
    ) -> Self {
        Self {
            at,
            app: caller.app.clone(),
            user: caller.user.clone(),
            from: caller.from.map(|ip| ip.to_string()).unwrap_or_default(),
            request_id: caller.request_id.clone(),
            action: action.to_owned(),
            object: object.into(),
            detail,
        }
    }
}
