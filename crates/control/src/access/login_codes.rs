//! One-time codes: who has one may log in once as its user, without a password. Links to the console carry them.
//!
//! A code is stored as a login that expires soon, under its hash. It is no token: [`is_code`] keeps the two apart.

use std::time::Duration;

use model::UnixMillis;
use model::access::{Audit, Caller, Grant, Login, Role, SecretHash, User};
use model::change::Changes;

use super::Access;
use super::logins::{LoginOrigin, person};
use crate::{ControlError, CredentialFault, secrets};

/// How long a code is valid.
const CODE_LIFE: Duration = Duration::from_secs(15 * 60);
/// Tokens are hexadecimal, so none begins like this.
const CODE_PREFIX: &str = "once-";
/// The administrator who is created, without a password, when there are no users.
const FIRST_USER: &str = "admin";

/// A code that logs a user in once.
#[derive(Clone)]
pub struct LoginCode {
    pub user: String,
    pub code: String,
    pub expires_at: UnixMillis,
}

/// The code stays out of logs.
impl std::fmt::Debug for LoginCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginCode")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

pub(super) fn is_code(token: &str) -> bool {
    token.starts_with(CODE_PREFIX)
}

impl Access {
    /// Makes a code for this user, or for the caller. A user makes one for themselves, an administrator for anyone. An app that
    /// has no user, or names one that does not exist, gets one for the first administrator, who is created if there are no users.
    pub async fn create_login_code(
        &self,
        caller: &Caller,
        user: Option<&str>,
    ) -> Result<LoginCode, ControlError> {
        let user = match user {
            Some(user) => user,
            None if self.core.accounts().users.contains_key(&caller.user) => &caller.user,
            None => FIRST_USER,
        };
        // A user without an app is logged in; a trusted app only names its user.
        if !(caller.app.is_empty() && caller.user == user) {
            self.check_admin(caller)?;
        }
        self.make_code(caller, user).await
    }

    /// A code for the first administrator; None if that user was deleted, or is no administrator any more.
    pub async fn first_login_code(&self) -> Result<Option<LoginCode>, ControlError> {
        let is_there = {
            let accounts = self.core.accounts();
            let is_admin = |user: &User| user.grants().contains(&Grant::everywhere(Role::Admin));
            accounts.users.is_empty() || accounts.users.get(FIRST_USER).is_some_and(is_admin)
        };
        match is_there {
            true => self
                .make_code(&Caller::system(), FIRST_USER)
                .await
                .map(Some),
            false => Ok(None),
        }
    }

    async fn make_code(&self, caller: &Caller, user: &str) -> Result<LoginCode, ControlError> {
        let at = self.core.now();
        let code = LoginCode {
            user: user.to_owned(),
            code: format!("{CODE_PREFIX}{}", secrets::new_secret()),
            expires_at: at.plus_millis(CODE_LIFE.as_millis() as i64),
        };
        let login = Login {
            token_sha256: secrets::sha256(&code.code),
            user: code.user.clone(),
            expires_at: code.expires_at,
            from: String::new(),
            user_agent: String::new(),
        };
        let caller = caller.clone();
        let core = &self.core;
        core.commit(move |world| {
            let audit = |what| Audit::new(&caller, at, what, login.user.clone(), String::new());
            let mut changes = Changes {
                logins: vec![login.clone()],
                audit: vec![audit("login_code.create")],
                ..Default::default()
            };
            if !world.accounts.users.contains_key(&login.user) {
                if login.user != FIRST_USER || !world.accounts.users.is_empty() {
                    return Err(super::users::no_such_user(&login.user));
                }
                changes.users.push(first_user(at));
                changes.audit.insert(0, audit("user.create"));
            }
            Ok((changes, ()))
        })
        .await?;
        Ok(code)
    }

    /// Exchanges a code for a login: a `bk_token` and when it expires. The code is used up.
    pub async fn login_with_code(
        &self,
        code: &str,
        from: impl Into<LoginOrigin>,
    ) -> Result<(String, UnixMillis), ControlError> {
        let from = from.into();
        let user = {
            let accounts = self.core.accounts();
            let login = is_code(code)
                .then(|| accounts.session(code, self.core.now()))
                .flatten();
            login.map(|(user, _)| user.name.clone())
        };
        let Some(user) = user else {
            let fault = CredentialFault::Code;
            self.note_refusal(
                person("", from.address()),
                "login.failed",
                "",
                fault.to_string(),
            );
            return Err(ControlError::Unauthenticated(fault));
        };
        self.begin_login(&user, Some(code), &from).await
    }
}

fn first_user(at: UnixMillis) -> User {
    User {
        name: FIRST_USER.to_owned(),
        password: SecretHash::none(),
        created_at: at,
        grants: Some(vec![Grant::everywhere(Role::Admin)]),
    }
}
