//! Apps, users and their grants.

use std::borrow::Cow;

use model::{UnixMillis, lenient};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

responses! {
    pub struct AppList {
        pub apps: Vec<AppRow>,
    }

    pub struct AppRow {
        pub code: String,
        /// What it may do.
        pub grants: Vec<GrantRow>,
        /// Namespaces that it may see; null for all.
        pub namespaces: Option<Vec<String>>,
        /// May name its user instead of a login.
        pub trusted: bool,
        /// Requests per second; 0 for no limit.
        pub rate_limit: u32,
        /// May manage apps, users, tokens, webhooks and hosts.
        pub admin: bool,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
    }
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppBody {
    #[schema(required)]
    pub code: Option<String>,
    /// Made by the server if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// What it may do. If not given, it is an operator of `namespaces`, or of everything; and an admin if it is also
    /// trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<GrantBody>>,
    /// Namespaces that it operates; not together with `grants`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
    /// May name its user with `bk_username` instead of a login.
    pub trusted: Option<bool>,
    /// Requests per second; 0 for no limit.
    #[serde(default, deserialize_with = "lenient::int")]
    pub rate_limit: Option<i64>,
}

responses! {
    /// Shown this once.
    pub struct CreatedApp {
        pub code: String,
        pub secret: String,
    }

    pub struct UserList {
        pub users: Vec<UserRow>,
    }

    pub struct UserRow {
        pub name: String,
        /// What they may do.
        pub grants: Vec<GrantRow>,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
    }
}

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserBody {
    #[schema(required)]
    pub name: Option<String>,
    #[schema(required)]
    pub password: Option<String>,
    /// What they may do; a viewer of everything if not given.
    pub grants: Option<Vec<GrantBody>>,
}

/// Without the password.
impl std::fmt::Debug for UserBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserBody")
            .field("name", &self.name)
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}

responses! {
    pub struct CreatedUser {
        pub name: String,
    }

    pub struct GrantList {
        pub grants: Vec<GrantRow>,
    }

    /// A role, and where it counts.
    pub struct GrantRow {
        /// `viewer`, `operator` or `admin`.
        pub role: Cow<'static, str>,
        /// Whether it counts everywhere; then nothing is named.
        pub everything: bool,
        pub namespaces: Vec<String>,
        pub businesses: Vec<u32>,
        /// Only for processes that pass; null for all.
        pub label: Option<String>,
    }
}

/// Names neither namespaces nor businesses: everything.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantBody {
    /// `viewer`, `operator` or `admin`; an admin is one of everything.
    #[schema(required)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub namespaces: Option<Vec<String>>,
    pub businesses: Option<Vec<i64>>,
    /// Only processes with these labels, as in the list of processes; one test must want a label to be there. The grant covers
    /// what is done with a registered process, not what could change its labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}
