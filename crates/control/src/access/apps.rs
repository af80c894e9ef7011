//! Creates and deletes apps.

use model::Invalid;
use model::access::grant::describe_grants;
use model::access::{App, Audit, Caller, Grant, parse_handle};
use model::change::Changes;

use super::Access;
use super::grants::check_number;
use crate::{ControlError, secrets};

/// The fewest bytes of a secret that the caller chooses.
const MIN_SECRET: usize = 8;

impl Access {
    pub fn apps(&self, caller: &Caller) -> Result<Vec<App>, ControlError> {
        self.check_admin(caller)?;
        Ok(self.core.accounts().apps.values().cloned().collect())
    }

    /// Returns the secret, which is never shown again. Without `secret` one is generated.
    pub async fn create_app(
        &self,
        caller: &Caller,
        code: &str,
        secret: Option<String>,
        grants: Vec<Grant>,
        trusted: bool,
        rate_limit: u32,
    ) -> Result<String, ControlError> {
        self.check_admin(caller)?;
        let code = parse_handle("code", code)?;
        check_number(&grants)?;
        let secret = secret.unwrap_or_else(secrets::new_secret);
        if secret.len() < MIN_SECRET {
            return Err(
                Invalid::new("secret", format!("must be at least {MIN_SECRET} bytes")).into(),
            );
        }
        let hash = secrets::hash_secret(&secret);
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            if world.accounts.apps.contains_key(&code) {
                return Err(ControlError::Conflict(format!(
                    "app {code:?} exists already"
                )));
            }
            let app = App {
                code: code.clone(),
                secret: hash.clone(),
                namespaces: None,
                trusted,
                rate_limit,
                created_at: at,
                grants: Some(grants.clone()),
            };
            let named = match trusted {
                true => "; may name its users",
                false => "",
            };
            let detail = format!("{}{named}", describe_grants(&grants));
            let changes = Changes {
                apps: vec![app],
                audit: vec![Audit::new(&caller, at, "app.create", code.clone(), detail)],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await?;
        Ok(secret)
    }

    pub async fn delete_app(&self, caller: &Caller, code: &str) -> Result<(), ControlError> {
        self.check_admin(caller)?;
        let (caller, code, at) = (caller.clone(), code.to_owned(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            if !world.accounts.apps.contains_key(&code) {
                return Err(no_such_app(&code));
            }
            if caller.app == code {
                return Err(ControlError::Conflict(format!(
                    "app {code:?} cannot delete itself"
                )));
            }
            let audit = Audit::new(&caller, at, "app.delete", code.clone(), String::new());
            let changes = Changes {
                apps_gone: vec![code.clone()],
                audit: vec![audit],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }
}

pub(super) fn no_such_app(code: &str) -> ControlError {
    ControlError::NotFound(format!("app {code:?} does not exist"))
}
