//! Logging in, and who the caller is.

use model::UnixMillis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::GrantRow;

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_debug_implementations, reason = "it holds a password")]
pub struct LoginBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// A one-time code, in place of `username` and `password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginCodeBody {
    /// Who can log in with it: the caller if not given; for an app, if its user does not exist, the first administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct LoginCodeCreated {
    pub user: String,
    /// Logs this user in once.
    pub code: String,
    /// Where the console takes the code: append it to the address of the server.
    pub path: String,
    #[schema(value_type = i64)]
    pub expires_at: UnixMillis,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[expect(missing_debug_implementations, reason = "it holds a token")]
pub struct LoggedIn {
    pub bk_token: String,
    #[schema(value_type = i64)]
    pub expires_at: UnixMillis,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_debug_implementations, reason = "it holds passwords")]
pub struct PasswordBody {
    /// The password that counts until now; left out by a user who has none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// 8 characters or more.
    #[schema(required)]
    pub new: Option<String>,
}

responses! {
    /// The logins of one user that have not ended.
    pub struct LoginList {
        /// The newest first.
        pub logins: Vec<LoginView>,
    }

    pub struct LoginView {
        /// Names the login; it is not its token.
        pub id: String,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
        #[schema(value_type = i64)]
        pub expires_at: UnixMillis,
        /// The address that it was begun from; empty where that is not known.
        pub from: String,
        /// The program that began it, as it names itself; empty where it does not.
        pub user_agent: String,
        /// Whether the request was made with this login.
        pub current: bool,
    }

    /// The caller: an app, a user, or both.
    pub struct WhoAmI {
        pub app: Option<WhoAmIApp>,
        pub user: Option<WhoAmIUser>,
    }

    pub struct WhoAmIApp {
        pub code: String,
        /// May name its user instead of a login.
        pub trusted: bool,
        /// Requests per second; 0 for no limit.
        pub rate_limit: u32,
        /// What it may do.
        pub grants: Vec<GrantRow>,
    }

    pub struct WhoAmIUser {
        pub name: String,
        /// Whether the user is logged in; otherwise a trusted app names the user.
        pub logged_in: bool,
        /// What they may do; null where a trusted app names the user, because only the roles of the app count then.
        pub grants: Option<Vec<GrantRow>>,
        /// Whether they can log in by a password; null without a login.
        pub has_password: Option<bool>,
        /// When the login ends; null without one.
        #[schema(value_type = Option<i64>)]
        pub expires_at: Option<UnixMillis>,
    }
}
