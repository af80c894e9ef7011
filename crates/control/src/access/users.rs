//! Creates and deletes users.

use model::Invalid;
use model::access::grant::describe_grants;
use model::access::{Audit, Caller, Grant, User, parse_handle};
use model::change::Changes;

use super::Access;
use super::grants::check_number;
use super::logins::MAX_PASSWORD;
use crate::{ControlError, secrets};

/// The fewest characters of a password.
const MIN_PASSWORD: usize = 8;

impl Access {
    pub fn users(&self, caller: &Caller) -> Result<Vec<User>, ControlError> {
        self.check_admin(caller)?;
        Ok(self.core.accounts().users.values().cloned().collect())
    }

    pub async fn create_user(
        &self,
        caller: &Caller,
        name: &str,
        password: &str,
        grants: Vec<Grant>,
    ) -> Result<(), ControlError> {
        self.check_admin(caller)?;
        let name = parse_handle("name", name)?;
        check_number(&grants)?;
        check_password("password", password)?;
        let hash = secrets::hash_password_elsewhere(password).await;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            if world.accounts.users.contains_key(&name) {
                return Err(ControlError::Conflict(format!(
                    "user {name:?} exists already"
                )));
            }
            let user = User {
                name: name.clone(),
                password: hash.clone(),
                created_at: at,
                grants: Some(grants.clone()),
            };
            let detail = describe_grants(&grants);
            let changes = Changes {
                users: vec![user],
                audit: vec![Audit::new(&caller, at, "user.create", name.clone(), detail)],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }

    /// Also ends the user's logins.
    pub async fn delete_user(&self, caller: &Caller, name: &str) -> Result<(), ControlError> {
        self.check_admin(caller)?;
        let (caller, name, at) = (caller.clone(), name.to_owned(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            if !world.accounts.users.contains_key(&name) {
                return Err(no_such_user(&name));
            }
            let logins = world
                .accounts
                .logins
                .values()
                .filter(|login| login.user == name);
            let audit = Audit::new(&caller, at, "user.delete", name.clone(), String::new());
            let changes = Changes {
                users_gone: vec![name.clone()],
                logins_gone: logins.map(|login| login.token_sha256).collect(),
                audit: vec![audit],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }
}

/// Refuses a password that is too short or too long.
pub(super) fn check_password(field: &str, password: &str) -> Result<(), Invalid> {
    if password.chars().count() < MIN_PASSWORD {
        let rule = format!("must be at least {MIN_PASSWORD} characters");
        return Err(Invalid::new(field, rule));
    }
    if password.len() > MAX_PASSWORD {
        let rule = format!("must be at most {MAX_PASSWORD} bytes");
        return Err(Invalid::new(field, rule));
    }
    Ok(())
}

pub(super) fn no_such_user(name: &str) -> ControlError {
    ControlError::NotFound(format!("user {name:?} does not exist"))
}
