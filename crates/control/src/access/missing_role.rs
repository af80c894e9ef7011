//! The role that a refused caller lacks: the app, the user or both, and where.

use std::fmt;

use model::Namespace;
use model::access::{AccessArea, Caller, Permission, Role};
use model::topology::BusinessId;

/// Why [`super::Access::check`] refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRole {
    /// The app, if it lacks the role.
    pub app: Option<String>,
    /// The user, if they lack the role.
    pub user: Option<String>,
    pub permission: Permission,
    pub area: MissingArea,
}

/// Where the role is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingArea {
    Namespace(Namespace),
    Business(BusinessId),
    Everything,
    /// Everywhere: the role is granted in no namespace.
    Anything,
    /// App and user have the role, but in no namespace that both have.
    Common,
}

impl MissingArea {
    pub fn as_area(&self) -> AccessArea<'_> {
        match self {
            Self::Namespace(namespace) => namespace.into(),
            Self::Business(business) => (*business).into(),
            Self::Everything => AccessArea::Everything,
            Self::Anything | Self::Common => AccessArea::Anything,
        }
    }
}

impl MissingRole {
    pub(super) fn of(caller: &Caller, permission: Permission, area: AccessArea<'_>) -> Self {
        let name = |has_role: bool, name: &str| (!has_role).then(|| name.to_owned());
        let app = name(caller.app_rights.may(permission, area), &caller.app);
        let user = name(caller.user_rights.may(permission, area), &caller.user);
        let (app, user, area) = match area {
            AccessArea::Anything if app.is_none() && user.is_none() => (
                Some(caller.app.clone()),
                Some(caller.user.clone()),
                MissingArea::Common,
            ),
            AccessArea::Anything => (app, user, MissingArea::Anything),
            AccessArea::Everything => (app, user, MissingArea::Everything),
            AccessArea::Business(business) => (app, user, MissingArea::Business(business)),
            AccessArea::Namespace(name) => (app, user, MissingArea::Namespace(name.clone())),
        };
        Self {
            app,
            user,
            permission,
            area,
        }
    }

    /// The role that has the permission.
    pub fn role(&self) -> Role {
        match self.permission {
            Permission::View => Role::Viewer,
            Permission::Operate => Role::Operator,
            Permission::Manage => Role::Admin,
        }
    }

    /// Whether the app lacks the role; a user with another app could have it.
    pub fn is_of_app(&self) -> bool {
        self.app.is_some() && self.area != MissingArea::Common
    }
}

/// `user alice lacks role operator in namespace web`
impl fmt::Display for MissingRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let app = self.app.iter().map(|app| format!("app {app}"));
        let user = self.user.iter().map(|user| format!("user {user}"));
        let who: Vec<String> = app.chain(user).collect();
        let is_one = who.len() == 1;
        let who = who.join(" and ");
        let lacks = if is_one { "lacks" } else { "lack" };
        let role = self.role().as_str();
        match &self.area {
            MissingArea::Common => {
                write!(
                    f,
                    "{who} have role {role} in different namespaces, and in none together"
                )
            }
            MissingArea::Anything if self.permission == Permission::View => {
                write!(f, "{who} {} no role", if is_one { "has" } else { "have" })
            }
            MissingArea::Anything => write!(f, "{who} {lacks} role {role} in every namespace"),
            MissingArea::Everything if self.permission == Permission::Manage => {
                write!(f, "{who} {lacks} role {role}")
            }
            MissingArea::Everything => write!(f, "{who} {lacks} role {role} of everything"),
            MissingArea::Namespace(namespace) => {
                write!(f, "{who} {lacks} role {role} in namespace {namespace}")
            }
            MissingArea::Business(business) => {
                write!(f, "{who} {lacks} role {role} in business {business}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::access::{Grant, Rights};

    use super::*;

    fn rights(role: Option<Role>, namespace: &str) -> Arc<Rights> {
        let namespace = Namespace::parse(namespace).unwrap();
        let grants: Vec<Grant> = role
            .map(|role| Grant::new(role, vec![namespace], Vec::new()).unwrap())
            .into_iter()
            .collect();
        Arc::new(Rights::from_grants(&grants))
    }

    fn said(
        (app, app_ns): (Option<Role>, &str),
        (user, user_ns): (Option<Role>, &str),
        permission: Permission,
        area: AccessArea<'_>,
    ) -> String {
        let caller = Caller {
            app: "ops".into(),
            user: "alice".into(),
            app_rights: rights(app, app_ns),
            user_rights: rights(user, user_ns),
            ..Caller::system()
        };
        assert!(!caller.may(permission, area));
        MissingRole::of(&caller, permission, area).to_string()
    }

    #[test]
    fn the_one_that_lacks_the_role_is_named_with_role_and_place() {
        let web = Namespace::parse("web").unwrap();
        let (operator, viewer) = (Some(Role::Operator), Some(Role::Viewer));
        let operate = |app, user| said(app, user, Permission::Operate, (&web).into());
        assert_eq!(
            operate((operator, "web"), (viewer, "web")),
            "user alice lacks role operator in namespace web"
        );
        assert_eq!(
            operate((operator, "db"), (operator, "web")),
            "app ops lacks role operator in namespace web"
        );
        assert_eq!(
            operate((None, "db"), (viewer, "web")),
            "app ops and user alice lack role operator in namespace web"
        );
        let at = |permission, area| said((operator, "web"), (viewer, "db"), permission, area);
        assert_eq!(
            at(Permission::View, AccessArea::Anything),
            "app ops and user alice have role viewer in different namespaces, and in none together"
        );
        assert_eq!(
            at(Permission::Operate, AccessArea::Anything),
            "user alice lacks role operator in every namespace"
        );
        assert_eq!(
            at(Permission::Manage, AccessArea::Everything),
            "app ops and user alice lack role admin"
        );
        assert_eq!(
            at(Permission::Operate, BusinessId(2).into()),
            "app ops and user alice lack role operator in business 2"
        );
        assert_eq!(
            said(
                (operator, "web"),
                (None, "db"),
                Permission::View,
                AccessArea::Anything
            ),
            "user alice has no role"
        );
    }
}
