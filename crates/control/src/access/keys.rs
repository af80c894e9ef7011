//! The first app, without which no caller could authenticate, and join tokens, without which no agent could join.

use std::time::Duration;

use model::access::{App, Audit, Caller, Grant, JoinToken, Role, parse_handle};
use model::change::Changes;
use model::{Host, UnixMillis};

use super::Access;
use crate::{ControlError, secrets};

/// The code of the first app, unless the configuration names one.
const FIRST_APP: &str = "muster";

/// What the first start created, or was configured with. A secret is here only while it is known.
#[derive(Clone, Default)]
pub struct FirstKeys {
    pub app_code: Option<String>,
    pub app_secret: Option<String>,
    pub join_token: Option<String>,
    /// Whether that app may name its user.
    pub is_app_trusted: Option<bool>,
}

impl std::fmt::Debug for FirstKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstKeys")
            .field("app_code", &self.app_code)
            .finish_non_exhaustive()
    }
}

/// What a new join token allows.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewJoinToken {
    /// When set, valid for this host alone.
    pub host: Option<Host>,
    /// How long it is valid; None for ever.
    pub lives: Option<Duration>,
    /// How many agents may join with it; None for any number.
    pub uses: Option<u32>,
    /// Whether an agent that joins with it replaces one that is, or lately was, connected.
    pub replace: bool,
}

impl Access {
    /// Creates the first app and the first join token where there are none; configured values win over stored ones.
    pub async fn ensure_first_keys(&self, fixed: FirstKeys) -> Result<FirstKeys, ControlError> {
        let caller = Caller::system();
        let code = parse_handle(
            "MUSTER_APP_CODE",
            fixed.app_code.as_deref().unwrap_or(FIRST_APP),
        )?;
        let at = self.core.now();
        let (made_secret, made_token) = (secrets::new_secret(), secrets::new_secret());
        let core = &self.core;
        core.commit(move |world| {
            let mut changes = Changes::default();
            let mut keys = FirstKeys {
                app_code: Some(code.clone()),
                ..fixed.clone()
            };
            let existing = world.accounts.apps.get(&code);
            keys.is_app_trusted = existing.map(|app| app.trusted);
            let secret = match (&fixed.app_secret, existing) {
                (Some(secret), Some(app)) if secrets::verify(&app.secret, secret) => None,
                (Some(secret), _) => Some(secret.clone()),
                (None, None) if world.accounts.apps.is_empty() || fixed.app_code.is_some() => {
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
                    grants: match existing {
                        Some(app) => app.grants.clone(),
                        None => Some(vec![Grant::everywhere(Role::Admin)]),
                    },
                });
                keys.app_secret = Some(secret);
                keys.is_app_trusted = Some(existing.is_none_or(|app| app.trusted));
            }
            let known = |token: &str| {
                let hash = secrets::sha256(token);
                world
                    .accounts
                    .join_tokens
                    .values()
                    .any(|known| known.token_sha256 == hash)
            };
            let token = match &fixed.join_token {
                Some(token) => (!known(token)).then(|| token.clone()),
                None => world
                    .accounts
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
                    uses_left: None,
                    replace: false,
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

    pub fn join_tokens(&self, caller: &Caller) -> Result<Vec<JoinToken>, ControlError> {
        self.check_admin(caller)?;
        Ok(self.core.accounts().join_tokens.values().cloned().collect())
    }

    /// Returns the token's record and its secret, which is never shown again.
    pub async fn create_join_token(
        &self,
        caller: &Caller,
        new: NewJoinToken,
    ) -> Result<(JoinToken, String), ControlError> {
        self.check_admin(caller)?;
        let at = self.core.now();
        let secret = secrets::new_secret();
        let token = JoinToken {
            id: secrets::hex(&secrets::random::<4>()),
            token_sha256: secrets::sha256(&secret),
            expires_at: new.lives.map_or(UnixMillis::NEVER, |lives| {
                at.plus_millis(lives.as_millis() as i64)
            }),
            host: new.host,
            created_at: at,
            uses_left: new.uses,
            replace: new.replace,
        };
        let (caller, row) = (caller.clone(), token.clone());
        let core = &self.core;
        core.commit(move |_| {
            let host = row.host.map(|host| format!("for {host}"));
            let replaces = row.replace.then(|| "replaces agents".to_owned());
            let detail: Vec<String> = host.into_iter().chain(replaces).collect();
            let detail = detail.join(", ");
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
        self.check_admin(caller)?;
        let (caller, id, at) = (caller.clone(), id.to_owned(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            if !world.accounts.join_tokens.contains_key(&id) {
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
}
