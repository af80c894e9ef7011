//! Apps, users, logins and join tokens: making them, taking them away, and the first ones.

use std::net::IpAddr;
use std::time::Duration;

use model::access::{App, Audit, Caller, JoinToken, Login, User, parse_handle};
use model::change::Changes;
use model::{Host, Invalid, Namespace, UnixMillis};

use crate::{Control, ControlError, Lacks, secrets};

/// How long a login lasts.
const LOGIN_MS: i64 = 24 * 3600 * 1000;
/// The fewest characters of a password.
const MIN_PASSWORD: usize = 8;
/// The code of the first app, unless it is given.
const FIRST_APP: &str = "muster";

/// What the first start made, or was told. Secrets are here only when they are known.
#[derive(Clone, Default)]
pub struct FirstKeys {
    pub app_code: Option<String>,
    pub app_secret: Option<String>,
    pub join_token: Option<String>,
}

impl std::fmt::Debug for FirstKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstKeys")
            .field("app_code", &self.app_code)
            .finish_non_exhaustive()
    }
}

impl Control {
    /// Makes the first app and the first join token where there are none; fixed values win over what is stored.
    pub async fn ensure_first_keys(&self, fixed: FirstKeys) -> Result<FirstKeys, ControlError> {
        let caller = Caller::system();
        let code = parse_handle(
            "MUSTER_APP_CODE",
            fixed.app_code.as_deref().unwrap_or(FIRST_APP),
        )?;
        let at = self.now();
        let (made_secret, made_token) = (secrets::new_secret(), secrets::new_secret());
        self.commit(move |world| {
            let mut changes = Changes::default();
            let mut keys = FirstKeys {
                app_code: Some(code.clone()),
                ..fixed.clone()
            };
            let existing = world.access.apps.get(&code);
            let secret = match (&fixed.app_secret, existing) {
                (Some(secret), Some(app)) if secrets::verify(&app.secret, secret) => None,
                (Some(secret), _) => Some(secret.clone()),
                (None, None) if world.access.apps.is_empty() || fixed.app_code.is_some() => {
                    Some(made_secret.clone())
                }
                (None, _) => None,
            };
            if let Some(secret) = secret {
                changes.apps.push(App {
                    code: code.clone(),
                    secret: secrets::hash_secret(&secret),
                    namespaces: existing.and_then(|app| app.namespaces.clone()),
                    trusted: existing.is_none_or(|app| app.trusted),
                    rate_limit: existing.map_or(0, |app| app.rate_limit),
                    created_at: existing.map_or(at, |app| app.created_at),
                });
                keys.app_secret = Some(secret);
            }
            let known = |token: &str| {
                let hash = secrets::sha256(token);
                world
                    .access
                    .join_tokens
                    .values()
                    .any(|known| known.token_sha256 == hash)
            };
            let token = match &fixed.join_token {
                Some(token) => (!known(token)).then(|| token.clone()),
                None => world
                    .access
                    .join_tokens
                    .is_empty()
                    .then(|| made_token.clone()),
            };
            if let Some(token) = token {
                changes.join_tokens.push(JoinToken {
                    id: format!("first-{}", &secrets::hex(&secrets::sha256(&token))[..8]),
                    token_sha256: secrets::sha256(&token),
                    expires_at: UnixMillis::NEVER,
                    host: None,
                    created_at: at,
                });
                keys.join_token = Some(token);
            }
            if !changes.is_empty() {
                changes.audit.push(Audit::new(
                    &caller,
                    at,
                    "first_keys",
                    code.clone(),
                    String::new(),
                ));
            }
            Ok((changes, keys))
        })
        .await
    }

    pub fn apps(&self, caller: &Caller) -> Result<Vec<App>, ControlError> {
        check_admin(caller)?;
        Ok(self.access().apps.values().cloned().collect())
    }

    /// Answers the secret, which is shown this once. `secret` None: one is made.
    pub async fn create_app(
        &self,
        caller: &Caller,
        code: &str,
        secret: Option<String>,
        namespaces: Option<Vec<Namespace>>,
        trusted: bool,
        rate_limit: u32,
    ) -> Result<String, ControlError> {
        check_admin(caller)?;
        let code = parse_handle("code", code)?;
        if namespaces.as_ref().is_some_and(Vec::is_empty) {
            return Err(Invalid::new(
                "namespaces",
                "must name at least one, or be left out for all",
            )
            .into());
        }
        let secret = secret.unwrap_or_else(secrets::new_secret);
        if secret.len() < MIN_PASSWORD {
            return Err(
                Invalid::new("secret", format!("must be at least {MIN_PASSWORD} bytes")).into(),
            );
        }
        let hash = secrets::hash_secret(&secret);
        let (caller, at) = (caller.clone(), self.now());
        self.commit(move |world| {
            if world.access.apps.contains_key(&code) {
                return Err(ControlError::Conflict(format!(
                    "app {code:?} exists already"
                )));
            }
            let app = App {
                code: code.clone(),
                secret: hash.clone(),
                namespaces: namespaces.clone(),
                trusted,
                rate_limit,
                created_at: at,
            };
            let audit = vec![Audit::new(
                &caller,
                at,
                "app.create",
                code.clone(),
                String::new(),
            )];
            Ok((
                Changes {
                    apps: vec![app],
                    audit,
                    ..Default::default()
                },
                (),
            ))
        })
        .await?;
        Ok(secret)
    }

    pub async fn delete_app(&self, caller: &Caller, code: &str) -> Result<(), ControlError> {
        check_admin(caller)?;
        let (caller, code, at) = (caller.clone(), code.to_owned(), self.now());
        self.commit(move |world| {
            if !world.access.apps.contains_key(&code) {
                return Err(ControlError::NotFound(format!(
                    "app {code:?} does not exist"
                )));
            }
            if caller.app == code {
                return Err(ControlError::Conflict(format!(
                    "app {code:?} cannot delete itself"
                )));
            }
            let audit = vec![Audit::new(
                &caller,
                at,
                "app.delete",
                code.clone(),
                String::new(),
            )];
            Ok((
                Changes {
                    apps_gone: vec![code.clone()],
                    audit,
                    ..Default::default()
                },
                (),
            ))
        })
        .await
    }

    pub fn users(&self, caller: &Caller) -> Result<Vec<User>, ControlError> {
        check_admin(caller)?;
        Ok(self.access().users.values().cloned().collect())
    }

    pub async fn create_user(
        &self,
        caller: &Caller,
        name: &str,
        password: &str,
    ) -> Result<(), ControlError> {
        check_admin(caller)?;
        let name = parse_handle("name", name)?;
        if password.chars().count() < MIN_PASSWORD {
            let rule = format!("must be at least {MIN_PASSWORD} characters");
            return Err(Invalid::new("password", rule).into());
        }
        let password = password.to_owned();
        let hashing = tokio::task::spawn_blocking(move || secrets::hash_password(&password));
        let hash = hashing.await.expect("hashing does not panic");
        let (caller, at) = (caller.clone(), self.now());
        self.commit(move |world| {
            if world.access.users.contains_key(&name) {
                return Err(ControlError::Conflict(format!(
                    "user {name:?} exists already"
                )));
            }
            let user = User {
                name: name.clone(),
                password: hash.clone(),
                created_at: at,
            };
            let audit = vec![Audit::new(
                &caller,
                at,
                "user.create",
                name.clone(),
                String::new(),
            )];
            Ok((
                Changes {
                    users: vec![user],
                    audit,
                    ..Default::default()
                },
                (),
            ))
        })
        .await
    }

    /// Also ends the user's logins.
    pub async fn delete_user(&self, caller: &Caller, name: &str) -> Result<(), ControlError> {
        check_admin(caller)?;
        let (caller, name, at) = (caller.clone(), name.to_owned(), self.now());
        self.commit(move |world| {
            if !world.access.users.contains_key(&name) {
                return Err(ControlError::NotFound(format!(
                    "user {name:?} does not exist"
                )));
            }
            let logins = world
                .access
                .logins
                .values()
                .filter(|login| login.user == name);
            let changes = Changes {
                users_gone: vec![name.clone()],
                logins_gone: logins.map(|login| login.token_sha256).collect(),
                audit: vec![Audit::new(
                    &caller,
                    at,
                    "user.delete",
                    name.clone(),
                    String::new(),
                )],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }

    pub fn join_tokens(&self, caller: &Caller) -> Result<Vec<JoinToken>, ControlError> {
        check_admin(caller)?;
        Ok(self.access().join_tokens.values().cloned().collect())
    }

    /// Answers the token's record and its secret, which is shown this once.
    pub async fn create_join_token(
        &self,
        caller: &Caller,
        host: Option<Host>,
        lives: Option<Duration>,
    ) -> Result<(JoinToken, String), ControlError> {
        check_admin(caller)?;
        let at = self.now();
        let secret = secrets::new_secret();
        let token = JoinToken {
            id: secrets::hex(&secrets::random::<4>()),
            token_sha256: secrets::sha256(&secret),
            expires_at: lives.map_or(UnixMillis::NEVER, |lives| {
                at.plus_millis(lives.as_millis() as i64)
            }),
            host,
            created_at: at,
        };
        let (caller, row) = (caller.clone(), token.clone());
        self.commit(move |_| {
            let detail = row
                .host
                .map(|host| format!("for {host}"))
                .unwrap_or_default();
            let audit = vec![Audit::new(
                &caller,
                at,
                "token.create",
                row.id.clone(),
                detail,
            )];
            Ok((
                Changes {
                    join_tokens: vec![row.clone()],
                    audit,
                    ..Default::default()
                },
                (),
            ))
        })
        .await?;
        Ok((token, secret))
    }

    pub async fn delete_join_token(&self, caller: &Caller, id: &str) -> Result<(), ControlError> {
        check_admin(caller)?;
        let (caller, id, at) = (caller.clone(), id.to_owned(), self.now());
        self.commit(move |world| {
            if !world.access.join_tokens.contains_key(&id) {
                return Err(ControlError::NotFound(format!(
                    "token {id:?} does not exist"
                )));
            }
            let audit = vec![Audit::new(
                &caller,
                at,
                "token.delete",
                id.clone(),
                String::new(),
            )];
            Ok((
                Changes {
                    join_tokens_gone: vec![id.clone()],
                    audit,
                    ..Default::default()
                },
                (),
            ))
        })
        .await
    }

    /// Answers a `bk_token` and when it ends.
    pub async fn login(
        &self,
        name: &str,
        password: &str,
        from: Option<IpAddr>,
    ) -> Result<(String, UnixMillis), ControlError> {
        let hash = self
            .access()
            .users
            .get(name)
            .map(|user| user.password.clone());
        let known = hash.is_some();
        let password = password.to_owned();
        // An unknown user costs as much as a wrong password.
        let checking = tokio::task::spawn_blocking(move || match hash {
            Some(hash) => secrets::verify(&hash, &password),
            None => {
                secrets::hash_password(&password);
                false
            }
        });
        let right = checking.await.expect("checking does not panic");
        if !(known && right) {
            let message = "the user is unknown or the password is wrong".to_owned();
            return Err(ControlError::Unauthenticated {
                lacks: Lacks::User,
                message,
            });
        }
        let (token, at) = (secrets::new_secret(), self.now());
        let expires_at = at.plus_millis(LOGIN_MS);
        let login = Login {
            token_sha256: secrets::sha256(&token),
            user: name.to_owned(),
            expires_at,
        };
        let caller = person(name, from);
        self.commit(move |world| {
            let expired = world
                .access
                .logins
                .values()
                .filter(|login| login.expires_at <= at);
            let changes = Changes {
                logins: vec![login.clone()],
                logins_gone: expired.map(|login| login.token_sha256).collect(),
                audit: vec![Audit::new(
                    &caller,
                    at,
                    "login",
                    caller.user.clone(),
                    String::new(),
                )],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await?;
        Ok((token, expires_at))
    }

    /// Ends a login; one that is over already is fine.
    pub async fn logout(&self, token: &str, from: Option<IpAddr>) -> Result<(), ControlError> {
        let (hash, at) = (secrets::sha256(token), self.now());
        self.commit(move |world| {
            let Some(login) = world.access.logins.get(&hash) else {
                return Ok((Changes::default(), ()));
            };
            let caller = person(&login.user, from);
            let changes = Changes {
                logins_gone: vec![hash],
                audit: vec![Audit::new(
                    &caller,
                    at,
                    "logout",
                    login.user.clone(),
                    String::new(),
                )],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }

    pub async fn audit(
        &self,
        caller: &Caller,
        page: store::AuditPage,
    ) -> Result<Vec<(u64, Audit)>, ControlError> {
        check_admin(caller)?;
        Ok(self.0.store.audit(&page).await?)
    }
}

/// Somebody without an app.
fn person(user: &str, from: Option<IpAddr>) -> Caller {
    Caller {
        app: String::new(),
        user: user.to_owned(),
        from,
        ..Caller::system()
    }
}

pub(crate) fn check_admin(caller: &Caller) -> Result<(), ControlError> {
    match caller.admin {
        true => Ok(()),
        false => Err(ControlError::Forbidden(format!(
            "app {:?} may not manage access: that takes a trusted app with every namespace",
            caller.app
        ))),
    }
}
