//! Who calls: checking credentials, and keeping apps, users, logins and join tokens.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use locks::{Mutex, ReadGuard, WriteGuard};
use model::UnixMillis;
use model::access::{
    AccessArea, App, Audit, Caller, JoinToken, Login, Permission, Rights, SecretHash, User,
    all_rights,
};
use model::change::Changes;
use model::webhook::Webhook;
use tokio::time::Instant;

use attempts::Attempts;
use refusals::{Refusals, short};

use crate::rate_limit::RateLimit;
use crate::{Control, ControlError, Lacks, secrets};

mod apps;
mod attempts;
mod grants;
mod keys;
mod logins;
mod refusals;
mod trail;
mod users;

pub use grants::{Revoked, Subject};
pub use keys::{FirstKeys, NewJoinToken};
pub use trail::{AuditFilter, AuditLines};

/// What the caller presented, before anybody checked it.
#[derive(Clone, Default)]
pub struct Credentials {
    pub app_code: Option<String>,
    pub app_secret: Option<String>,
    /// A login session.
    pub token: Option<String>,
    pub username: Option<String>,
}

/// Secrets stay out of logs.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("app_code", &self.app_code)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// Everybody who may call, and everybody who is called, in memory.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) apps: BTreeMap<String, App>,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) logins: HashMap<[u8; 32], Login>,
    pub(crate) join_tokens: BTreeMap<String, JoinToken>,
    pub(crate) webhooks: BTreeMap<String, Webhook>,
    rates: Mutex<HashMap<String, Instant>>,
    attempts: Attempts,
    refusals: Refusals,
}

impl Access {
    pub(crate) fn apply(&mut self, changes: &Changes) {
        self.apps.extend(
            changes
                .apps
                .iter()
                .map(|app| (app.code.clone(), app.clone())),
        );
        changes
            .apps_gone
            .iter()
            .for_each(|code| drop(self.apps.remove(code)));
        self.users.extend(
            changes
                .users
                .iter()
                .map(|user| (user.name.clone(), user.clone())),
        );
        changes
            .users_gone
            .iter()
            .for_each(|name| drop(self.users.remove(name)));
        self.logins.extend(
            changes
                .logins
                .iter()
                .map(|login| (login.token_sha256, login.clone())),
        );
        changes
            .logins_gone
            .iter()
            .for_each(|token| drop(self.logins.remove(token)));
        self.join_tokens.extend(
            changes
                .join_tokens
                .iter()
                .map(|token| (token.id.clone(), token.clone())),
        );
        changes
            .join_tokens_gone
            .iter()
            .for_each(|id| drop(self.join_tokens.remove(id)));
        self.webhooks.extend(
            changes
                .webhooks
                .iter()
                .map(|webhook| (webhook.id.clone(), webhook.clone())),
        );
        changes
            .webhooks_gone
            .iter()
            .for_each(|id| drop(self.webhooks.remove(id)));
    }

    /// The user who is logged in with this token.
    fn login(&self, token: &str, at: UnixMillis) -> Option<&User> {
        let login = self.logins.get(&secrets::sha256(token))?;
        self.users
            .get(&login.user)
            .filter(|_| login.expires_at > at)
    }

    /// Takes one request out of the app's allowance.
    fn spend(&self, app: &App) -> Result<(), ControlError> {
        if app.rate_limit == 0 {
            return Ok(());
        }
        // One second's worth at once.
        let limit = RateLimit::per_second(app.rate_limit, app.rate_limit);
        let mut buckets = self.rates.lock();
        let full_at = limit
            .spend(buckets.get(&app.code).copied(), Instant::now())
            .map_err(|wait| ControlError::TooFast {
                app: app.code.clone(),
                limit: app.rate_limit,
                retry_after_ms: wait.as_nanos().div_ceil(1_000_000) as u64,
            })?;
        buckets.insert(app.code.clone(), full_at);
        Ok(())
    }
}

impl Control {
    pub(crate) fn access(&self) -> ReadGuard<'_, Access> {
        self.0.access.read()
    }

    pub(crate) fn access_mut(&self) -> WriteGuard<'_, Access> {
        self.0.access.write()
    }

    /// Checks the app's secret and rate, and that its user is logged in or may be named by this app.
    ///
    /// A login alone, without an app, is a person at the native API or the console.
    pub fn authenticate(
        &self,
        credentials: &Credentials,
        from: Option<IpAddr>,
        request_id: &str,
    ) -> Result<Caller, ControlError> {
        let access = self.access();
        let known = self.recognise(&access, credentials, Counted::Yes);
        let known = known.map(|known| Caller {
            from,
            request_id: request_id.to_owned(),
            ..known
        });
        if let Err(ControlError::Unauthenticated { lacks, message }) = &known
            && *lacks != Lacks::Credentials
        {
            let claims = Caller {
                app: short(credentials.app_code.as_deref().unwrap_or_default()),
                user: short(credentials.username.as_deref().unwrap_or_default()),
                from,
                request_id: request_id.to_owned(),
                ..Caller::system()
            };
            let line = Audit::new(
                &claims,
                self.now(),
                "refused",
                "credentials",
                short(message),
            );
            self.note_refused_line(&access.refusals, line);
        }
        known
    }

    /// Whether whoever began something that lasts may still go on with it, and what they may do now.
    ///
    /// Costs nothing of the app's allowance.
    pub fn still(&self, credentials: &Credentials) -> Option<Caller> {
        let access = self.access();
        self.recognise(&access, credentials, Counted::No).ok()
    }

    fn recognise(
        &self,
        access: &Access,
        credentials: &Credentials,
        counted: Counted,
    ) -> Result<Caller, ControlError> {
        let lacks = |lacks, message: String| Err(ControlError::Unauthenticated { lacks, message });
        let no_login = || {
            lacks(
                Lacks::User,
                "bk_token: is no login, or has expired".to_owned(),
            )
        };
        let login = credentials
            .token
            .as_deref()
            .filter(|token| !token.is_empty());
        let login = login.map(|token| access.login(token, self.now()));
        let Some(code) = credentials
            .app_code
            .as_deref()
            .filter(|code| !code.is_empty())
        else {
            return match login {
                Some(Some(user)) => Ok(Caller {
                    app: String::new(),
                    user: user.name.clone(),
                    user_rights: Arc::new(Rights::from_grants(&user.grants())),
                    ..Caller::system()
                }),
                Some(None) => no_login(),
                None => lacks(Lacks::Credentials, "bk_app_code: is required".to_owned()),
            };
        };
        let secret = credentials.app_secret.as_deref().unwrap_or_default();
        if secret.is_empty() {
            return lacks(Lacks::Credentials, "bk_app_secret: is required".to_owned());
        }
        let app = access.apps.get(code);
        // An unknown app takes as long as a wrong secret, and is answered alike.
        let right = secrets::verify(app.map_or(nobody(), |app| &app.secret), secret);
        let Some(app) = app.filter(|_| right) else {
            return lacks(
                Lacks::App,
                format!("app {code:?} is unknown or its bk_app_secret is wrong"),
            );
        };
        match counted {
            Counted::Yes => access.spend(app)?,
            Counted::No => {}
        }
        let username = credentials
            .username
            .as_deref()
            .filter(|name| !name.is_empty());
        let (user, user_rights) = match (login, username) {
            (Some(Some(user)), _) => {
                let rights = Arc::new(Rights::from_grants(&user.grants()));
                (user.name.clone(), rights)
            }
            (Some(None), None) => return no_login(),
            (_, Some(name)) if app.trusted => {
                let name = model::access::parse_handle("bk_username", name)?;
                (name, all_rights())
            }
            (_, Some(_)) => {
                let message =
                    format!("bk_username: app {code:?} may not name a user; it needs a bk_token");
                return lacks(Lacks::User, message);
            }
            (None, None) => {
                return lacks(
                    Lacks::User,
                    "one of bk_token and bk_username is required".to_owned(),
                );
            }
        };
        Ok(Caller {
            app: app.code.clone(),
            user,
            app_rights: Arc::new(Rights::from_grants(&app.grants())),
            user_rights,
            ..Caller::system()
        })
    }

    /// The one place where it is decided whether a caller may. A refusal is noted in the audit trail.
    pub fn check<'a>(
        &self,
        caller: &Caller,
        action: Permission,
        area: impl Into<AccessArea<'a>>,
    ) -> Result<(), ControlError> {
        let area = area.into();
        if caller.may(action, area) {
            return Ok(());
        }
        let what = match action {
            Permission::View => format!("see {area}"),
            Permission::Operate => format!("operate {area}"),
            Permission::Manage => "manage apps, users, tokens, webhooks and hosts".to_owned(),
        };
        let role = match action {
            Permission::View => "viewer",
            Permission::Operate => "operator",
            Permission::Manage => "admin",
        };
        let refused = |who: &str, name: &str| {
            format!("{who} {name:?} may not {what}: that takes the role of {role} there")
        };
        let by_app = !caller.app_rights.may(action, area);
        let message = match by_app {
            true => refused("app", &caller.app),
            false => refused("user", &caller.user),
        };
        self.note_refusal(
            caller.clone(),
            "refused",
            &area.to_string(),
            message.clone(),
        );
        Err(match by_app {
            true => ControlError::Forbidden(message),
            false => ControlError::ForbiddenToUser(message),
        })
    }

    /// What only an admin may.
    pub fn check_admin(&self, caller: &Caller) -> Result<(), ControlError> {
        self.check(caller, Permission::Manage, AccessArea::Everything)
    }
}

/// Whether a request costs something of its app's allowance.
#[derive(Clone, Copy)]
enum Counted {
    Yes,
    No,
}

/// A hash that no secret has: what an unknown app is compared with.
fn nobody() -> &'static SecretHash {
    static NOBODY: OnceLock<SecretHash> = OnceLock::new();
    NOBODY.get_or_init(|| secrets::hash_secret(&secrets::new_secret()))
}
