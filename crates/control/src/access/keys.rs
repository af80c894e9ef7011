//! Keys: the first app, without which nobody could call, and join tokens, without which no agent could join.

use std::time::Duration;

use model::access::{App, Audit, Caller, Grant, JoinToken, Role, parse_handle};
use model::change::Changes;
use model::{Host, UnixMillis};

use crate::{Control, ControlError, secrets};

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

/// What a join token is made for.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewJoinToken {
    /// When set, good for this host alone.
    pub host: Option<Host>,
    /// How long it is good; none for ever.
    pub lives: Option<Duration>,
    /// How many agents may join with it; none for any number.
    pub uses: Option<u32>,
    /// Whether an agent that joins with it takes the place of one that is connected, or was lately.
    pub replace: bool,
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
                    grants: match existing {
                        Some(app) => app.grants.clone(),
                        None => Some(vec![Grant::everywhere(Role::Admin)]),
                    },
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
        Ok(self.access().join_tokens.values().cloned().collect())
    }

    /// Answers the token's record and its secret, which is shown this once.
    pub async fn create_join_token(
        &self,
        caller: &Caller,
        new: NewJoinToken,
    ) -> Result<(JoinToken, String), ControlError> {
        self.check_admin(caller)?;
        let at = self.now();
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
        self.commit(move |_| {
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
}
