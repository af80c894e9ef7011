//! Authenticates callers, checks their permissions, and keeps apps, users, logins and join tokens.
//!
//! Every request goes through [`Access::authenticate`]; every part calls [`Access::check`] before it acts.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use fleet::{Filter, Row};
use locks::Mutex;
use model::access::{
    AccessArea, App, Audit, Caller, JoinToken, Login, Permission, Rights, SecretHash, User,
    all_rights,
};
use model::change::Changes;
use model::webhook::Webhook;
use model::{Namespace, UnixMillis};
use tokio::time::Instant;

use attempts::Attempts;
use refusals::{Refusals, short};

use crate::core::Core;
use crate::rate_limit::RateLimit;
use crate::{ControlError, CredentialFault, secrets};

mod apps;
mod attempts;
mod grants;
mod identity;
mod keys;
mod login_codes;
mod logins;
mod missing_role;
mod refusals;
mod trail;
mod users;

pub use grants::{RevokedGrants, Subject};
pub use identity::{Identity, IdentityLogin, IdentityUser};
pub use keys::{FirstKeys, NewJoinToken};
pub use login_codes::LoginCode;
pub use logins::{LoginOrigin, LoginView};
pub use missing_role::{MissingArea, MissingRole};
pub use trail::{AuditFilter, AuditLines};

/// What the caller presented, unchecked.
#[derive(Clone, Default)]
pub struct Credentials {
    pub app_code: Option<String>,
    pub app_secret: Option<String>,
    /// A login session.
    pub token: Option<String>,
    pub username: Option<String>,
    /// Whether an app may call without a user. The GSE dialects require one.
    pub app_alone: bool,
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

/// Authentication, permissions, and the accounts that they are about.
#[derive(Debug)]
pub struct Access {
    core: Arc<Core>,
    rates: Mutex<HashMap<String, Instant>>,
    attempts: Attempts,
    refusals: Arc<Refusals>,
}

/// The stored apps, users, logins, join tokens and webhooks, in memory.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    pub(crate) apps: BTreeMap<String, App>,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) logins: BTreeMap<[u8; 32], Login>,
    pub(crate) join_tokens: BTreeMap<String, JoinToken>,
    pub(crate) webhooks: BTreeMap<String, Webhook>,
}

impl Accounts {
    pub(crate) fn apply(&mut self, changes: &Changes) {
        fold(&mut self.apps, &changes.apps, &changes.apps_gone, |app| {
            app.code.clone()
        });
        fold(
            &mut self.users,
            &changes.users,
            &changes.users_gone,
            |user| user.name.clone(),
        );
        fold(
            &mut self.logins,
            &changes.logins,
            &changes.logins_gone,
            |login| login.token_sha256,
        );
        fold(
            &mut self.join_tokens,
            &changes.join_tokens,
            &changes.join_tokens_gone,
            |token| token.id.clone(),
        );
        fold(
            &mut self.webhooks,
            &changes.webhooks,
            &changes.webhooks_gone,
            |webhook| webhook.id.clone(),
        );
    }

    /// The user of this login and the login, unless it has expired.
    fn login(&self, token: &str, at: UnixMillis) -> Option<(&User, &Login)> {
        (!login_codes::is_code(token)).then(|| self.session(token, at))?
    }

    /// The same for a one-time code, too.
    fn session(&self, token: &str, at: UnixMillis) -> Option<(&User, &Login)> {
        let login = self.logins.get(&secrets::sha256(token))?;
        let user = self.users.get(&login.user)?;
        (login.expires_at > at).then_some((user, login))
    }
}

fn fold<K: Ord, V: Clone>(map: &mut BTreeMap<K, V>, rows: &[V], gone: &[K], key: fn(&V) -> K) {
    map.extend(rows.iter().map(|row| (key(row), row.clone())));
    for key in gone {
        map.remove(key);
    }
}

impl Access {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: core.clone(),
            rates: Mutex::default(),
            attempts: Attempts::default(),
            refusals: Arc::default(),
        }
    }

    /// Checks the app's secret and rate, and that its user is logged in or may be named by this app.
    ///
    /// A login without an app, or an app without a user, comes from the native API or the console.
    pub fn authenticate(
        &self,
        credentials: &Credentials,
        from: Option<IpAddr>,
        request_id: &str,
    ) -> Result<Caller, ControlError> {
        let known = self.recognise(&self.core.accounts(), credentials, Counted::Yes);
        let known = known.map(|known| Caller {
            from,
            request_id: request_id.to_owned(),
            ..known
        });
        if let Err(ControlError::Unauthenticated(fault)) = &known
            && !fault.is_absence()
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
                self.core.now(),
                "refused",
                "credentials",
                short(&fault.to_string()),
            );
            self.add_refusal(line);
        }
        known
    }

    /// Authenticates the caller of a stream again, with the permissions that it has now. None ends the stream.
    ///
    /// Does not count against the app's rate limit.
    pub fn reauthenticate(&self, credentials: &Credentials) -> Option<Caller> {
        let accounts = self.core.accounts();
        self.recognise(&accounts, credentials, Counted::No).ok()
    }

    fn recognise(
        &self,
        accounts: &Accounts,
        credentials: &Credentials,
        counted: Counted,
    ) -> Result<Caller, ControlError> {
        let fault = |fault| Err(ControlError::Unauthenticated(fault));
        let login = credentials
            .token
            .as_deref()
            .filter(|token| !token.is_empty());
        let login = login.map(|token| accounts.login(token, self.core.now()));
        let Some(code) = credentials
            .app_code
            .as_deref()
            .filter(|code| !code.is_empty())
        else {
            return match login {
                Some(Some((user, _))) => Ok(Caller {
                    app: String::new(),
                    user: user.name.clone(),
                    user_rights: Arc::new(Rights::from_grants(&user.grants())),
                    ..Caller::system()
                }),
                Some(None) => fault(CredentialFault::Login),
                None => fault(CredentialFault::NoApp),
            };
        };
        let secret = credentials.app_secret.as_deref().unwrap_or_default();
        if secret.is_empty() {
            return fault(CredentialFault::NoSecret);
        }
        let app = accounts.apps.get(code);
        // An unknown app takes as long as a wrong secret and gets the same answer, so that app codes cannot be probed.
        let right = secrets::verify(app.map_or(unknown_app_hash(), |app| &app.secret), secret);
        let Some(app) = app.filter(|_| right) else {
            return fault(CredentialFault::App(code.to_owned()));
        };
        match counted {
            Counted::Yes => self.spend(app)?,
            Counted::No => {}
        }
        let username = credentials
            .username
            .as_deref()
            .filter(|name| !name.is_empty());
        let (user, user_rights) = match (login, username) {
            (Some(Some((user, _))), _) => {
                let rights = Arc::new(Rights::from_grants(&user.grants()));
                (user.name.clone(), rights)
            }
            (Some(None), None) => return fault(CredentialFault::Login),
            (_, Some(name)) if app.trusted => {
                let name = model::access::parse_handle("bk_username", name)?;
                (name, all_rights())
            }
            (_, Some(_)) => return fault(CredentialFault::NotTrusted(app.code.clone())),
            (None, None) if credentials.app_alone => (String::new(), all_rights()),
            (None, None) => return fault(CredentialFault::NoUser),
        };
        Ok(Caller {
            app: app.code.clone(),
            user,
            app_rights: Arc::new(Rights::from_grants(&app.grants())),
            user_rights,
            ..Caller::system()
        })
    }

    /// Counts one request against the app's rate limit.
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

    /// Decides whether a caller may do something: the only place that does. Refusals go into the audit trail.
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
        let missing = MissingRole::of(caller, action, area);
        self.note_refusal(
            caller.clone(),
            "refused",
            &area.to_string(),
            missing.to_string(),
        );
        Err(match missing.is_of_app() {
            true => ControlError::Forbidden(missing),
            false => ControlError::ForbiddenToUser(missing),
        })
    }

    /// The namespaces to list: those that the caller asks for, which it must be allowed to see, or all that it may see. None
    /// stands for every namespace.
    pub fn visible(
        &self,
        caller: &Caller,
        asked: Option<Vec<Namespace>>,
    ) -> Result<Option<Vec<Namespace>>, ControlError> {
        let Some(asked) = asked else {
            return Ok(caller.visible_namespaces());
        };
        for namespace in &asked {
            self.check(caller, Permission::View, namespace)?;
        }
        Ok(Some(asked))
    }

    /// The same for one registered process, which also a grant by labels may cover.
    pub(crate) fn check_process(
        &self,
        caller: &Caller,
        action: Permission,
        row: &Row<'_>,
    ) -> Result<(), ControlError> {
        match may_with(caller, action, row) {
            true => Ok(()),
            false => self.check(caller, action, &row.name().namespace),
        }
    }

    /// Refuses a namespace of which the caller may see nothing, whatever the labels of its processes are.
    pub fn check_touched(
        &self,
        caller: &Caller,
        namespaces: Option<&[Namespace]>,
    ) -> Result<(), ControlError> {
        let scope = caller.visible_processes();
        let mut asked = namespaces.into_iter().flatten();
        match asked.find(|namespace| !scope.touches(namespace)) {
            Some(hidden) => self.check(caller, Permission::View, hidden),
            None => Ok(()),
        }
    }

    /// Narrows a filter to what the caller may see. Naming a namespace of which it may see nothing is refused.
    pub(crate) fn narrow(&self, caller: &Caller, filter: Filter) -> Result<Filter, ControlError> {
        let scope = caller.visible_processes();
        if scope.labelled().next().is_none() {
            return Ok(Filter {
                namespaces: self.visible(caller, filter.namespaces)?,
                ..filter
            });
        }
        self.check_touched(caller, filter.namespaces.as_deref())?;
        Ok(Filter {
            visible: Some(scope),
            ..filter
        })
    }

    /// Refuses everyone but admins.
    pub fn check_admin(&self, caller: &Caller) -> Result<(), ControlError> {
        self.check(caller, Permission::Manage, AccessArea::Everything)
    }
}

/// Whether a caller may do something with one registered process: by its namespace, or by its labels.
pub(crate) fn may_with(caller: &Caller, action: Permission, row: &Row<'_>) -> bool {
    let namespace = &row.name().namespace;
    caller.may(action, namespace) || caller.may_process(action, namespace, |key| row.label(key))
}

/// Whether a request counts against its app's rate limit.
#[derive(Clone, Copy)]
enum Counted {
    Yes,
    No,
}

/// The hash of a random secret, which the secret of an unknown app is compared with.
fn unknown_app_hash() -> &'static SecretHash {
    static HASH: OnceLock<SecretHash> = OnceLock::new();
    HASH.get_or_init(|| secrets::hash_secret(&secrets::new_secret()))
}
