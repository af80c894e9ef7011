//! Grants roles to users and apps, and revokes them. Both take effect with the next request.

use model::access::grant::{GrantReach, MAX_GRANTS, describe_grants};
use model::access::{App, Audit, Caller, Grant, Rights, Role, User};
use model::change::Changes;
use model::selector::LabelSelector;
use model::topology::BusinessId;
use model::{Invalid, Namespace};

use super::apps::no_such_app;
use super::users::no_such_user;
use super::{Access, Accounts};
use crate::ControlError;

/// Who receives a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    App(String),
    User(String),
}

/// Which grants to revoke: those of one role, or of all; whole, or only these namespaces and businesses of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevokedGrants {
    pub role: Option<Role>,
    pub namespaces: Vec<Namespace>,
    pub businesses: Vec<BusinessId>,
    /// Only grants by these labels.
    pub labels: Option<LabelSelector>,
}

/// A subject as it is stored.
enum Row {
    App(App),
    User(User),
}

impl Subject {
    fn row(&self, accounts: &Accounts) -> Result<Row, ControlError> {
        match self {
            Self::App(code) => {
                let app = accounts.apps.get(code).ok_or_else(|| no_such_app(code))?;
                Ok(Row::App(app.clone()))
            }
            Self::User(name) => {
                let user = accounts.users.get(name).ok_or_else(|| no_such_user(name))?;
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

impl Access {
    /// Adds a grant; returns all grants of the subject.
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

    /// Revokes grants, or some namespaces and businesses of them; returns the grants that are left.
    pub async fn revoke_grants(
        &self,
        caller: &Caller,
        subject: Subject,
        revoked: RevokedGrants,
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
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let row = subject.row(world.accounts)?;
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
                let message = "an admin cannot give up the role: another admin can take it";
                return Err(ControlError::Conflict(message.to_owned()));
            }
            Ok((row.changed(after.clone(), &caller, at), after))
        })
        .await
    }
}

/// The grants that are left.
fn without(grants: &[Grant], revoked: &RevokedGrants) -> Result<Vec<Grant>, ControlError> {
    let is_whole = revoked.namespaces.is_empty() && revoked.businesses.is_empty();
    let (mut left, mut found) = (Vec::new(), false);
    for grant in grants {
        let (_, _, labels) = grant.named();
        let is_other = revoked.role.is_some_and(|role| role != grant.role)
            || (revoked.labels.is_some() && revoked.labels.as_ref() != labels);
        if is_other {
            left.push(grant.clone());
            continue;
        }
        match &grant.reach {
            _ if is_whole => found = true,
            GrantReach::Everything => left.push(grant.clone()),
            GrantReach::Within {
                namespaces,
                businesses,
            }
            | GrantReach::Matching {
                namespaces,
                businesses,
                ..
            } => {
                let mut namespaces = namespaces.clone();
                let mut businesses = businesses.clone();
                let n_before = namespaces.len() + businesses.len();
                namespaces.retain(|namespace| !revoked.namespaces.contains(namespace));
                businesses.retain(|business| !revoked.businesses.contains(business));
                let n_left = namespaces.len() + businesses.len();
                found |= n_left < n_before;
                if n_left > 0 {
                    let reach = match labels.cloned() {
                        None => GrantReach::Within {
                            namespaces,
                            businesses,
                        },
                        Some(labels) => GrantReach::Matching {
                            namespaces,
                            businesses,
                            labels,
                        },
                    };
                    let role = grant.role;
                    left.push(Grant { role, reach });
                } else if n_before == 0 {
                    // By labels everywhere: it names nothing to take away.
                    left.push(grant.clone());
                }
            }
        }
    }
    match found {
        true => Ok(left),
        false => Err(ControlError::NotFound(format!(
            "there is no such grant to revoke; granted is: {}",
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

    fn left(revoked: RevokedGrants) -> Result<String, String> {
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
    fn a_grant_by_labels_keeps_its_labels_and_is_revoked_by_them() {
        let front: LabelSelector = "tier=front".parse().unwrap();
        let grant = |names: &[&str]| {
            let namespaces = names.iter().map(|name| ns(name)).collect();
            Grant::new(Role::Operator, namespaces, Vec::new()).unwrap()
        };
        let by_labels = |names: &[&str]| grant(names).with_labels(front.clone()).unwrap();
        let grants = [by_labels(&["web", "db"]), grant(&["web"]), by_labels(&[])];
        let left = |revoked| describe_grants(&without(&grants, &revoked).unwrap());
        let web = RevokedGrants {
            namespaces: vec![ns("web")],
            ..RevokedGrants::default()
        };
        assert_eq!(
            left(web.clone()),
            "operator of namespace db with the labels tier=front; operator of everything with the labels tier=front"
        );
        let labels = Some(front.clone());
        let by_front = RevokedGrants { labels, ..web };
        assert_eq!(
            left(by_front),
            "operator of namespace db with the labels tier=front; operator of namespace web; \
             operator of everything with the labels tier=front"
        );
        let labels = Some(front.clone());
        let all = RevokedGrants {
            labels,
            ..RevokedGrants::default()
        };
        assert_eq!(left(all), "operator of namespace web");
        let labels = Some("tier=back".parse().unwrap());
        let other = RevokedGrants {
            labels,
            ..RevokedGrants::default()
        };
        assert!(without(&grants, &other).is_err());
    }

    #[test]
    fn revoking_removes_a_role_or_an_area_and_nothing_else() {
        let role = |role| RevokedGrants {
            role: Some(role),
            ..Default::default()
        };
        assert_eq!(left(role(Role::Operator)).unwrap(), "viewer of everything");
        assert_eq!(left(RevokedGrants::default()).unwrap(), "nothing");
        let place = RevokedGrants {
            namespaces: vec![ns("db")],
            businesses: vec![BusinessId(2)],
            ..Default::default()
        };
        assert_eq!(
            left(place).unwrap(),
            "viewer of everything; operator of namespace web"
        );
        let all_places = RevokedGrants {
            namespaces: vec![ns("db"), ns("web")],
            businesses: vec![BusinessId(2)],
            ..Default::default()
        };
        assert_eq!(left(all_places).unwrap(), "viewer of everything");
        assert!(left(role(Role::Admin)).is_err());
        let elsewhere = RevokedGrants {
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
