//! Logging in and out.
//!
//! A password is slow to check on purpose, so only a few are checked at a time, and `attempts` limits the rate.

use std::net::IpAddr;
use std::time::Duration;

use model::access::{Audit, Caller, Login, User};
use model::change::Changes;
use model::{Invalid, UnixMillis};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Access, Credentials};
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

/// The longest name of a program that is kept, in characters.
const MAX_USER_AGENT: usize = 256;

/// Where a login is begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginOrigin {
    address: Option<IpAddr>,
    user_agent: String,
}

impl LoginOrigin {
    /// The program's name for itself is cut, and loses its control characters.
    pub fn new(address: Option<IpAddr>, user_agent: &str) -> Self {
        let printable = user_agent.chars().filter(|c| !c.is_control());
        Self {
            address,
            user_agent: printable.take(MAX_USER_AGENT).collect(),
        }
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }
}

impl From<Option<IpAddr>> for LoginOrigin {
    fn from(address: Option<IpAddr>) -> Self {
        Self::new(address, "")
    }
}

impl Access {
    /// Returns a `bk_token` and when it expires.
    pub async fn login(
        &self,
        name: &str,
        password: &str,
        from: impl Into<LoginOrigin>,
    ) -> Result<(String, UnixMillis), ControlError> {
        let from = from.into();
        let tried = self.try_password(name, password, from.address, "login");
        if !tried.await? {
            let fault = CredentialFault::Password;
            return Err(ControlError::Unauthenticated(fault));
        }
        self.begin_login(name, None, &from).await
    }

    /// Checks a password at a limited rate. Failures go into the audit trail, as `what`.
    pub(super) async fn try_password(
        &self,
        name: &str,
        password: &str,
        from: Option<IpAddr>,
        what: &str,
    ) -> Result<bool, ControlError> {
        let allowed = self.attempts.begin(name, from, Instant::now());
        if let Err(wait) = allowed {
            let why = "too many failed logins";
            let action = format!("{what}.refused");
            self.note_refusal(person(name, from), &action, name, why.to_owned());
            return Err(ControlError::TooManyTries {
                retry_after_ms: wait.as_millis() as u64,
            });
        }
        let turn = tokio::time::timeout(PATIENCE, CHECKING.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            let message = "too many logins at a time: try again".to_owned();
            return Err(ControlError::Busy(message));
        };
        let is_right = self.is_password_of(name, password).await;
        match is_right {
            true => self.attempts.succeeded(name, from),
            false => {
                let action = format!("{what}.failed");
                let why = CredentialFault::Password.to_string();
                self.note_refusal(person(name, from), &action, name, why);
            }
        }
        Ok(is_right)
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
        from: &LoginOrigin,
    ) -> Result<(String, UnixMillis), ControlError> {
        let (token, at) = (secrets::new_secret(), self.core.now());
        let expires_at = at.plus_millis(LOGIN_MS);
        let login = Login {
            token_sha256: secrets::sha256(&token),
            user: name.to_owned(),
            expires_at,
            from: from.address.map(|ip| ip.to_string()).unwrap_or_default(),
            user_agent: from.user_agent.clone(),
        };
        let caller = person(name, from.address);
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

/// A login that has not ended, without its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginView {
    /// Names the login. The token cannot be derived from it.
    pub id: String,
    pub created_at: UnixMillis,
    pub expires_at: UnixMillis,
    /// The address that it was begun from; empty where that is not known.
    pub from: String,
    /// The program that began it, as it names itself.
    pub user_agent: String,
    /// Whether the caller uses it.
    pub is_current: bool,
}

/// How many hexadecimal digits name a login.
const ID_DIGITS: usize = 16;

fn login_id(login: &Login) -> String {
    // Hashed again: the hash of a token is what the store looks logins up by.
    let hash = secrets::sha256(&secrets::hex(&login.token_sha256));
    secrets::hex(&hash)[..ID_DIGITS].to_owned()
}

impl Access {
    /// The login that a request carries.
    fn own_login(&self, credentials: &Credentials) -> Result<Login, ControlError> {
        let token = credentials.token.as_deref().unwrap_or_default();
        let accounts = self.core.accounts();
        let login = accounts.login(token, self.core.now());
        login
            .map(|(_, login)| login.clone())
            .ok_or(ControlError::Unauthenticated(CredentialFault::NoLogin))
    }

    /// The logins of the caller's user, the newest first. Needs a login, and no role.
    pub fn own_logins(&self, credentials: &Credentials) -> Result<Vec<LoginView>, ControlError> {
        let current = self.own_login(credentials)?;
        let now = self.core.now();
        let accounts = self.core.accounts();
        let logins = accounts.logins.values();
        let own = logins.filter(|login| login.user == current.user && login.expires_at > now);
        let mut own: Vec<LoginView> = own
            .map(|login| LoginView {
                id: login_id(login),
                created_at: login.expires_at.plus_millis(-LOGIN_MS),
                expires_at: login.expires_at,
                from: login.from.clone(),
                user_agent: login.user_agent.clone(),
                is_current: login.token_sha256 == current.token_sha256,
            })
            .collect();
        own.sort_by(|a, b| (b.expires_at, &a.id).cmp(&(a.expires_at, &b.id)));
        Ok(own)
    }

    /// Ends a login of the caller's user.
    pub async fn end_own_login(
        &self,
        caller: &Caller,
        credentials: &Credentials,
        id: &str,
    ) -> Result<(), ControlError> {
        let user = self.own_login(credentials)?.user;
        let (caller, id, at) = (caller.clone(), id.to_owned(), self.core.now());
        self.core
            .commit(move |world| {
                let mut logins = world.accounts.logins.values();
                let login = logins.find(|login| login.user == user && login_id(login) == id);
                let Some(login) = login else {
                    let message = format!("you have no login {id:?}");
                    return Err(ControlError::NotFound(message));
                };
                let audit = Audit::new(&caller, at, "login.end", user.clone(), id.clone());
                let changes = Changes {
                    logins_gone: vec![login.token_sha256],
                    audit: vec![audit],
                    ..Default::default()
                };
                Ok((changes, ()))
            })
            .await
    }

    /// Changes the password of the caller's user, and ends all other logins of the user. A user without a password gives no old
    /// one.
    pub async fn change_own_password(
        &self,
        caller: &Caller,
        credentials: &Credentials,
        old: Option<&str>,
        new: &str,
    ) -> Result<(), ControlError> {
        let current = self.own_login(credentials)?;
        super::users::check_password("new", new)?;
        let has_password = {
            let accounts = self.core.accounts();
            let user = accounts.users.get(&current.user);
            user.is_some_and(User::has_password)
        };
        match (has_password, old) {
            (false, None) => {}
            (false, Some(_)) => {
                let rule = "must be left out: there is no password yet";
                return Err(Invalid::new("old", rule).into());
            }
            (true, None) => return Err(Invalid::required("old").into()),
            (true, Some(old)) => {
                let tried = self.try_password(&current.user, old, caller.from, "password");
                if !tried.await? {
                    return Err(Invalid::new("old", "is not the password").into());
                }
                if old == new {
                    return Err(Invalid::new("new", "must be another password").into());
                }
            }
        }
        let hash = secrets::hash_password_elsewhere(new).await;
        let (caller, at) = (caller.clone(), self.core.now());
        self.core
            .commit(move |world| {
                let Some(user) = world.accounts.users.get(&current.user) else {
                    return Err(super::users::no_such_user(&current.user));
                };
                let others = world.accounts.logins.values().filter(|login| {
                    login.user == current.user && login.token_sha256 != current.token_sha256
                });
                let others: Vec<[u8; 32]> = others.map(|login| login.token_sha256).collect();
                let detail = format!("{} other logins ended", others.len());
                let object = current.user.clone();
                let changes = Changes {
                    users: vec![User {
                        password: hash.clone(),
                        ..user.clone()
                    }],
                    logins_gone: others,
                    audit: vec![Audit::new(&caller, at, "user.password", object, detail)],
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
