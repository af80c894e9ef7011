//! Access control: apps, users, login sessions, join tokens, callers, and the audit trail.

pub mod grant;
mod rights;
mod scope;

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

pub use grant::{Grant, Role};
pub use rights::{AccessArea, Permission, Rights};
pub use scope::ProcessScope;

use crate::{Host, Invalid, Namespace, UnixMillis};

/// A salted hash of a secret. The secret itself is not stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretHash {
    pub scheme: HashScheme,
    pub salt: Vec<u8>,
    pub hash: Vec<u8>,
}

impl SecretHash {
    /// No secret has this hash.
    pub fn none() -> Self {
        Self {
            scheme: HashScheme::Sha256,
            salt: Vec::new(),
            hash: Vec::new(),
        }
    }
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HashScheme {
    /// One round of SHA-256: for generated secrets, which are checked on every request.
    Sha256,
    /// PBKDF2-HMAC-SHA256: for passwords that people choose.
    Pbkdf2 { rounds: u32 },
}

/// A program that calls the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    pub code: String,
    pub secret: SecretHash,
    /// Before roles existed: the namespaces that it may use; None means all.
    #[serde(default)]
    pub namespaces: Option<Vec<Namespace>>,
    /// May name its user by `bk_username` without a login.
    pub trusted: bool,
    /// Requests per second; 0 means no limit.
    pub rate_limit: u32,
    pub created_at: UnixMillis,
    /// None if it was created before roles existed, see [`App::grants`].
    #[serde(default)]
    pub grants: Option<Vec<Grant>>,
}

impl App {
    /// The permissions of the app. An app that was created before roles existed keeps its permissions: it operates in its
    /// namespaces, and is admin if it is trusted in all namespaces.
    pub fn grants(&self) -> Vec<Grant> {
        match (&self.grants, &self.namespaces) {
            (Some(grants), _) => grants.clone(),
            (None, None) if self.trusted => vec![Grant::everywhere(Role::Admin)],
            (None, None) => vec![Grant::everywhere(Role::Operator)],
            // An empty list grants nothing, unlike in `Grant::new`.
            (None, Some(namespaces)) => vec![Grant {
                role: Role::Operator,
                reach: grant::GrantReach::Within {
                    namespaces: namespaces.clone(),
                    businesses: Vec::new(),
                },
            }],
        }
    }
}

/// Parses an app code or a user name.
pub fn parse_handle(field: &str, text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Invalid::required(field));
    }
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    ensure!(
        text.len() <= 64 && text.chars().all(is_allowed),
        field,
        "must be at most 64 letters, digits, '-', '_', '.' or '@'"
    );
    Ok(text.to_owned())
}

/// A person who can log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub name: String,
    pub password: SecretHash,
    pub created_at: UnixMillis,
    /// None if created before roles existed, see [`User::grants`].
    #[serde(default)]
    pub grants: Option<Vec<Grant>>,
}

impl User {
    /// Whether the user can log in by a password. One who was created for a one-time link has none yet.
    pub fn has_password(&self) -> bool {
        !self.password.hash.is_empty()
    }

    /// The permissions of the user. A user who was created before roles existed operates everywhere, as before.
    pub fn grants(&self) -> Vec<Grant> {
        match &self.grants {
            Some(grants) => grants.clone(),
            None => vec![Grant::everywhere(Role::Operator)],
        }
    }
}

/// A login session, which `bk_token` names. Stored under the hash of the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    pub token_sha256: [u8; 32],
    pub user: String,
    pub expires_at: UnixMillis,
    /// The address that it was begun from; empty where that is not known.
    pub from: String,
    /// The program that began it, as it names itself; empty where it does not.
    pub user_agent: String,
}

/// Lets an agent enrol. Stored with the hash of the token; `id` names it in the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinToken {
    pub id: String,
    pub token_sha256: [u8; 32],
    /// `NEVER` if it does not expire.
    pub expires_at: UnixMillis,
    /// If set, only this host may use it.
    pub host: Option<Host>,
    pub created_at: UnixMillis,
    /// How many agents may still enrol with it; None means any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_left: Option<u32>,
    /// Whether an agent that enrols with it replaces one that is connected or was recently.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

/// The authenticated caller of a request.
///
/// An app with a logged-in user has the rights that both have. A trusted app that names its user has the rights of the app, and
/// so has an app without a user, whose `user` is empty; a user without an app has the rights of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub app: String,
    pub user: String,
    pub app_rights: Arc<Rights>,
    pub user_rights: Arc<Rights>,
    pub from: Option<IpAddr>,
    pub request_id: String,
}

impl Caller {
    /// Muster itself, for work without a request.
    pub fn system() -> Self {
        Self {
            app: "muster".into(),
            user: "system".into(),
            app_rights: all_rights(),
            user_rights: all_rights(),
            from: None,
            request_id: String::new(),
        }
    }

    /// The same caller, limited to these grants.
    #[must_use]
    pub fn with_grants(self, grants: &[Grant]) -> Self {
        Self {
            app_rights: Arc::new(Rights::from_grants(grants)),
            ..self
        }
    }

    pub fn may<'a>(&self, action: Permission, area: impl Into<AccessArea<'a>>) -> bool {
        match area.into() {
            // App and user may have the permission in different namespaces, and in none together.
            AccessArea::Anything => self.app_rights.may_somewhere(action, &self.user_rights),
            area => self.app_rights.may(action, area) && self.user_rights.may(action, area),
        }
    }

    /// The same for one process, of which `label` gives the value of each label. Also grants by labels count here.
    pub fn may_process<V: AsRef<str>>(
        &self,
        action: Permission,
        namespace: &Namespace,
        label: impl Fn(&str) -> Option<V>,
    ) -> bool {
        self.app_rights.may_process(action, namespace, &label)
            && self.user_rights.may_process(action, namespace, &label)
    }

    /// The namespaces that it may see as a whole; None means all.
    pub fn visible_namespaces(&self) -> Option<Vec<Namespace>> {
        self.visible_processes().namespaces()
    }

    /// The processes that it may see.
    pub fn visible_processes(&self) -> ProcessScope {
        self.app_rights.seen_by_both(&self.user_rights)
    }
}

/// Unlimited rights: for Muster itself, and for the absent one of app and user.
pub fn all_rights() -> Arc<Rights> {
    static ALL: LazyLock<Arc<Rights>> = LazyLock::new(|| Arc::new(Rights::ALL));
    ALL.clone()
}

/// One line of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub at: UnixMillis,
    pub app: String,
    pub user: String,
    pub from: String,
    pub request_id: String,
    /// The action: `register`, `operate`, `app.create`, …
    pub action: String,
    /// The object of the action.
    pub object: String,
    /// Count and result.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(name: &str) -> Namespace {
        Namespace::parse(name).unwrap()
    }

    fn viewer_of(name: &str) -> Arc<Rights> {
        let grant = Grant::new(Role::Viewer, vec![ns(name)], Vec::new()).unwrap();
        Arc::new(Rights::from_grants(&[grant]))
    }

    #[test]
    fn an_app_with_a_user_has_the_rights_of_both() {
        let caller = Caller {
            app_rights: viewer_of("web"),
            user_rights: viewer_of("web"),
            ..Caller::system()
        };
        assert!(caller.may(Permission::View, &ns("web")));
        assert!(caller.may(Permission::View, AccessArea::Anything));
        let apart = Caller {
            user_rights: viewer_of("db"),
            ..caller
        };
        assert!(!apart.may(Permission::View, &ns("web")));
        assert!(!apart.may(Permission::View, &ns("db")));
        assert!(!apart.may(Permission::View, AccessArea::Anything));
        assert_eq!(apart.visible_namespaces(), Some(Vec::new()));
        let grants = |operated: &str| {
            let operator = Grant::new(Role::Operator, vec![ns(operated)], Vec::new()).unwrap();
            Arc::new(Rights::from_grants(&[
                Grant::everywhere(Role::Viewer),
                operator,
            ]))
        };
        let apart = Caller {
            app_rights: grants("web"),
            user_rights: grants("db"),
            ..apart
        };
        assert!(apart.may(Permission::View, AccessArea::Anything));
        assert!(!apart.may(Permission::Operate, AccessArea::Anything));
    }

    /// Reads rows that were stored before roles existed.
    #[test]
    fn apps_and_users_older_than_roles_keep_their_rights() {
        let secret = r#"{"scheme":"sha256","salt":[],"hash":[]}"#;
        let app = |namespaces: &str, trusted: bool| {
            let text = format!(
                r#"{{"code":"a","secret":{secret},"namespaces":{namespaces},"trusted":{trusted},"rate_limit":0,"created_at":1}}"#
            );
            let app: App = serde_json::from_str(&text).unwrap();
            grant::describe_grants(&app.grants())
        };
        assert_eq!(app("null", true), "admin of everything");
        assert_eq!(app("null", false), "operator of everything");
        assert_eq!(app(r#"["web"]"#, true), "operator of namespace web");
        assert_eq!(app("[]", false), "operator of nothing");
        let user = format!(r#"{{"name":"ada","password":{secret},"created_at":1}}"#);
        let user: User = serde_json::from_str(&user).unwrap();
        assert_eq!(
            grant::describe_grants(&user.grants()),
            "operator of everything"
        );
    }
}
