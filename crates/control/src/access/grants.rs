//! Giving roles to users and apps, and taking them back. Both count from the next request on.

use model::access::grant::{GrantReach, MAX_GRANTS, describe_grants};
use model::access::{App, Audit, Caller, Grant, Rights, Role, User};
use model::change::Changes;
use model::topology::BusinessId;
use model::{Invalid, Namespace};

use super::Access;
use super::apps::no_such_app;
use super::users::no_such_user;
use crate::{Control, ControlError};

/// Who is given something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    App(String),
    User(String),
}

/// Which grants to take back: those of this role, or of all; as a whole, or these places of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revoked {
    pub role: Option<Role>,
    pub namespaces: Vec<Namespace>,
    pub businesses: Vec<BusinessId>,
}

/// A subject as it is stored.
enum Row {
    App(App),
    User(User),
}

impl Subject {
    fn row(&self, access: &Access) -> Result<Row, ControlError> {
        match self {
            Self::App(code) => {
                let app = access.apps.get(code).ok_or_else(|| no_such_app(code))?;
                Ok(Row::App(app.clone()))
            }
            Self::User(name) => {
                let user = access.users.get(name).ok_or_else(|| no_such_user(name))?;
                Ok(Row::User(user.clone()))
            }
        }
    }

    fn is(&self, caller: &Caller) -> bool {
        match self {
            Self::App(code) => *code == caller.app,
            Self::User(name) => caller.app.is_empty() && *name == caller.user,
        }
    }
}

impl Row {
    fn grants(&self) -> Vec<Grant> {
        match self {
            Self::App(app) => app.grants(),
            Self::User(user) => user.grants(),
        }
    }

    fn changed(self, grants: Vec<Grant>, caller: &Caller, at: model::UnixMillis) -> Changes {
        let detail = describe_grants(&grants);
        match self {
            Self::App(app) => Changes {
                audit: vec![Audit::new(caller, at, "app.grants", &*app.code, detail)],
                apps: vec![App {
                    grants: Some(grants),
                    namespaces: None,
                    ..app
                }],
                ..Default::default()
            },
            Self::User(user) => Changes {
                audit: vec![Audit::new(caller, at, "user.grants", &*user.name, detail)],
                users: vec![User {
                    grants: Some(grants),
                    ..user
                }],
                ..Default::default()
            },
        }
    }
}

impl Control {
    /// Adds a grant; answers all that the subject has then.
    pub async fn grant(
        &self,
        caller: &Caller,
        subject: Subject,
        grant: Grant,
    ) -> Result<Vec<Grant>, ControlError> {
        self.change_grants(caller, subject, move |mut grants| {
            if !grants.contains(&grant) {
                grants.push(grant.clone());
            }
            Ok(grants)
        })
        .await
    }

    /// Takes grants back, or places of them; answers what the subject has left.
    pub async fn revoke_grants(
        &self,
        caller: &Caller,
        subject: Subject,
        revoked: Revoked,
    ) -> Result<Vec<Grant>, ControlError> {
        self.change_grants(caller, subject, move |grants| without(&grants, &revoked))
            .await
    }

    async fn change_grants(
        &self,
        caller: &Caller,
        subject: Subject,
        change: impl Fn(Vec<Grant>) -> Result<Vec<Grant>, ControlError> + Send + 'static,
    ) -> Result<Vec<Grant>, ControlError> {
        self.check_admin(caller)?;
        let (caller, at) = (caller.clone(), self.now());
        self.commit(move |world| {
            let row = subject.row(world.access)?;
            let before = row.grants();
            let after = change(before.clone())?;
            check_number(&after)?;
            if before == after {
                return Ok((Changes::default(), after));
            }
            let manages = Rights::from_grants(&after).may(
                model::access::Permission::Manage,
                model::access::AccessArea::Anything,
            );
            if subject.is(&caller) && !manages {
                let message =
                    "nobody can take the role of admin from themselves: another admin can";
                return Err(ControlError::Conflict(message.to_owned()));
            }
            Ok((row.changed(after.clone(), &caller, at), after))
        })
        .await
    }
}

/// What is left of the grants.
fn without(grants: &[Grant], revoked: &Revoked) -> Result<Vec<Grant>, ControlError> {
    let is_whole = revoked.namespaces.is_empty() && revoked.businesses.is_empty();
    let (mut left, mut found) = (Vec::new(), false);
    for grant in grants {
        if revoked.role.is_some_and(|role| role != grant.role) {
            left.push(grant.clone());
            continue;
        }
        match &grant.reach {
            _ if is_whole => found = true,
            GrantReach::Everything => left.push(grant.clone()),
            GrantReach::Within {
                namespaces,
                businesses,
            } => {
                let mut namespaces = namespaces.clone();
                let mut businesses = businesses.clone();
                let n_before = namespaces.len() + businesses.len();
                namespaces.retain(|namespace| !revoked.namespaces.contains(namespace));
                businesses.retain(|business| !revoked.businesses.contains(business));
                let n_left = namespaces.len() + businesses.len();
                found |= n_left < n_before;
                if n_left > 0 {
                    left.push(Grant {
                        role: grant.role,
                        reach: GrantReach::Within {
                            namespaces,
                            businesses,
                        },
                    });
                }
            }
        }
    }
    match found {
        true => Ok(left),
        false => Err(ControlError::NotFound(format!(
            "there is no such grant to take back; there is: {}",
            describe_grants(grants)
        ))),
    }
}

pub(super) fn check_number(grants: &[Grant]) -> Result<(), ControlError> {
    match grants.len() <= MAX_GRANTS {
        true => Ok(()),
        false => {
            let rule = format!("must be at most {MAX_GRANTS}");
            Err(Invalid::new("grants", rule).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(name: &str) -> Namespace {
        Namespace::parse(name).unwrap()
    }

    fn left(revoked: Revoked) -> Result<String, String> {
        let grants = [
            Grant::everywhere(Role::Viewer),
            Grant::new(
                Role::Operator,
                vec![ns("web"), ns("db")],
                vec![BusinessId(2)],
            )
            .unwrap(),
        ];
        match without(&grants, &revoked) {
            Ok(left) => Ok(describe_grants(&left)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_role_or_a_place_is_taken_back_and_nothing_else() {
        let role = |role| Revoked {
            role: Some(role),
            ..Default::default()
        };
        assert_eq!(left(role(Role::Operator)).unwrap(), "viewer of everything");
        assert_eq!(left(Revoked::default()).unwrap(), "nothing");
        let place = Revoked {
            namespaces: vec![ns("db")],
            businesses: vec![BusinessId(2)],
            ..Default::default()
        };
        assert_eq!(
            left(place).unwrap(),
            "viewer of everything; operator of namespace web"
        );
        let all_places = Revoked {
            namespaces: vec![ns("db"), ns("web")],
            businesses: vec![BusinessId(2)],
            ..Default::default()
        };
        assert_eq!(left(all_places).unwrap(), "viewer of everything");
        assert!(left(role(Role::Admin)).is_err());
        let elsewhere = Revoked {
            namespaces: vec![ns("other")],
            ..Default::default()
        };
        assert!(
            left(elsewhere)
                .unwrap_err()
                .contains("viewer of everything")
        );
    }
}
