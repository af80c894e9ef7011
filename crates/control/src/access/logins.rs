//! Logging in and out.
//!
//! A password is slow to check on purpose, so only a few are checked at a time, and `attempts` limits the rate.

use std::net::IpAddr;
use std::time::Duration;

use model::UnixMillis;
use model::access::{Audit, Caller, Login};
use model::change::Changes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::Access;
use crate::{ControlError, CredentialFault, secrets};

/// How long a login lasts.
const LOGIN_MS: i64 = 24 * 3600 * 1000;
/// The longest password, in bytes. No user has a longer one.
pub(super) const MAX_PASSWORD: usize = 1024;
/// How many logins one user may have; a new one replaces the one that expires first.
const MAX_LOGINS: usize = 64;
/// How many passwords are checked at a time.
static CHECKING: Semaphore = Semaphore::const_new(2);
/// How long a login waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

impl Access {
    /// Returns a `bk_token` and when it expires.
    pub async fn login(
        &self,
        name: &str,
        password: &str,
        from: Option<IpAddr>,
    ) -> Result<(String, UnixMillis), ControlError> {
        let started = Instant::now();
        let allowed = self.attempts.begin(name, from, started);
        if let Err(wait) = allowed {
            let why = "too many failed logins";
            self.note_refusal(person(name, from), "login.refused", name, why.to_owned());
            return Err(ControlError::TooManyTries {
                retry_after_ms: wait.as_millis() as u64,
            });
        }
        let turn = tokio::time::timeout(PATIENCE, CHECKING.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            let message = "too many logins at a time: try again".to_owned();
            return Err(ControlError::Busy(message));
        };
        if !self.is_password_of(name, password).await {
            let fault = CredentialFault::Password;
            self.note_refusal(person(name, from), "login.failed", name, fault.to_string());
            return Err(ControlError::Unauthenticated(fault));
        }
        self.attempts.succeeded(name, from);
        self.begin_login(name, None, from).await
    }

    async fn is_password_of(&self, name: &str, password: &str) -> bool {
        let hash = {
            let accounts = self.core.accounts();
            accounts.users.get(name).map(|user| user.password.clone())
        };
        let hash = hash.filter(|_| password.len() <= MAX_PASSWORD);
        let password = match password.len() <= MAX_PASSWORD {
            true => password.to_owned(),
            false => String::new(),
        };
        // An unknown user costs as much as a wrong password.
        let checking = tokio::task::spawn_blocking(move || match hash {
            Some(hash) => secrets::verify(&hash, &password),
            None => {
                secrets::hash_password(&password);
                false
            }
        });
        checking.await.expect("checking does not panic")
    }

    /// Begins a login, and with it ends the one-time code that it was begun with.
    pub(super) async fn begin_login(
        &self,
        name: &str,
        code: Option<&str>,
        from: Option<IpAddr>,
    ) -> Result<(String, UnixMillis), ControlError> {
        let (token, at) = (secrets::new_secret(), self.core.now());
        let expires_at = at.plus_millis(LOGIN_MS);
        let login = Login {
            token_sha256: secrets::sha256(&token),
            user: name.to_owned(),
            expires_at,
        };
        let caller = person(name, from);
        let code = code.map(secrets::sha256);
        let core = &self.core;
        core.commit(move |world| {
            if !world.accounts.users.contains_key(&login.user) {
                return Err(super::users::no_such_user(&login.user));
            }
            // Of two browsers with one code, one gets a login.
            if code.is_some_and(|code| !world.accounts.logins.contains_key(&code)) {
                return Err(ControlError::Unauthenticated(CredentialFault::Code));
            }
            let logins = world.accounts.logins.values();
            let mut gone: Vec<[u8; 32]> = logins
                .clone()
                .filter(|login| login.expires_at <= at)
                .map(|login| login.token_sha256)
                .chain(code)
                .collect();
            let mut own: Vec<&Login> = logins
                .filter(|other| other.user == login.user && other.expires_at > at)
                .collect();
            if own.len() >= MAX_LOGINS {
                own.sort_unstable_by_key(|login| login.expires_at);
                let surplus = own.len() + 1 - MAX_LOGINS;
                gone.extend(own[..surplus].iter().map(|login| login.token_sha256));
            }
            let object = caller.user.clone();
            let changes = Changes {
                logins: vec![login.clone()],
                logins_gone: gone,
                audit: vec![Audit::new(&caller, at, "login", object, String::new())],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await?;
        Ok((token, expires_at))
    }

    /// Ends a login. Idempotent.
    pub async fn logout(&self, token: &str, from: Option<IpAddr>) -> Result<(), ControlError> {
        let (hash, at) = (secrets::sha256(token), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let Some(login) = world.accounts.logins.get(&hash) else {
                return Ok((Changes::default(), ()));
            };
            let caller = person(&login.user, from);
            let object = login.user.clone();
            let changes = Changes {
                logins_gone: vec![hash],
                audit: vec![Audit::new(&caller, at, "logout", object, String::new())],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }
}

/// A user without an app, for the audit trail.
pub(super) fn person(user: &str, from: Option<IpAddr>) -> Caller {
    Caller {
        app: String::new(),
        user: user.to_owned(),
        from,
        ..Caller::system()
    }
}
