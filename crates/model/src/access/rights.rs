//! Rights: the grants of an app or user, compiled for permission checks.
//!
//! All instances of a business are in one namespace, so rights refer to namespaces only.

use std::collections::BTreeSet;

use super::grant::{Grant, GrantReach, Role};
use crate::Namespace;
use crate::topology::{BusinessId, namespace_of};

/// What a request needs to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// See processes and their states.
    View,
    /// Change processes, read logs and files.
    Operate,
    /// Manage apps, users, tokens, webhooks and hosts.
    Manage,
}

impl Permission {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Operate => "operate",
            Self::Manage => "manage",
        }
    }
}

/// Where a request needs a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessArea<'a> {
    Namespace(&'a Namespace),
    Business(BusinessId),
    /// Objects that belong to no namespace, or to all.
    Everything,
    /// At least one namespace: for lists that are filtered by caller, and for objects that all callers share.
    Anything,
}

impl<'a> From<&'a Namespace> for AccessArea<'a> {
    fn from(namespace: &'a Namespace) -> Self {
        Self::Namespace(namespace)
    }
}

impl From<BusinessId> for AccessArea<'_> {
    fn from(business: BusinessId) -> Self {
        Self::Business(business)
    }
}

impl std::fmt::Display for AccessArea<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Namespace(namespace) => write!(f, "namespace {:?}", namespace.as_str()),
            Self::Business(business) => write!(f, "business {business}"),
            Self::Everything => f.write_str("everything"),
            Self::Anything => f.write_str("anything"),
        }
    }
}

/// The namespaces where a permission is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NamespaceSet {
    All,
    Some(BTreeSet<Namespace>),
}

impl NamespaceSet {
    const NONE: Self = Self::Some(BTreeSet::new());

    fn add(&mut self, reach: &GrantReach) {
        match (&mut *self, reach) {
            (Self::All, _) => {}
            (Self::Some(_), GrantReach::Everything) => *self = Self::All,
            (
                Self::Some(namespaces),
                GrantReach::Within {
                    namespaces: named,
                    businesses,
                },
            ) => {
                namespaces.extend(named.iter().cloned());
                namespaces.extend(businesses.iter().copied().map(namespace_of));
            }
        }
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::All, Self::Some(some)) | (Self::Some(some), Self::All) => !some.is_empty(),
            (Self::Some(some), Self::Some(others)) => !some.is_disjoint(others),
        }
    }

    fn covers(&self, area: AccessArea<'_>) -> bool {
        match (self, area) {
            (Self::All, _) => true,
            (Self::Some(allowed), AccessArea::Namespace(namespace)) => allowed.contains(namespace),
            (Self::Some(allowed), AccessArea::Business(business)) => {
                allowed.contains(&namespace_of(business))
            }
            (Self::Some(_), AccessArea::Everything) => false,
            (Self::Some(allowed), AccessArea::Anything) => !allowed.is_empty(),
        }
    }
}

/// The permissions of an app or user, each with its namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    view: NamespaceSet,
    operate: NamespaceSet,
    manage: bool,
}

impl Rights {
    /// Unlimited, see [`super::all_rights`].
    pub const ALL: Self = Self {
        view: NamespaceSet::All,
        operate: NamespaceSet::All,
        manage: true,
    };

    pub fn from_grants(grants: &[Grant]) -> Self {
        let mut rights = Self {
            view: NamespaceSet::NONE,
            operate: NamespaceSet::NONE,
            manage: false,
        };
        for grant in grants {
            rights.view.add(&grant.reach);
            if grant.role >= Role::Operator {
                rights.operate.add(&grant.reach);
            }
            rights.manage |= grant.role == Role::Admin && grant.reach == GrantReach::Everything;
        }
        rights
    }

    pub fn may(&self, action: Permission, area: AccessArea<'_>) -> bool {
        match action {
            Permission::View => self.view.covers(area),
            Permission::Operate => self.operate.covers(area),
            Permission::Manage => self.manage,
        }
    }

    /// Whether there is a namespace where both have the permission.
    pub(super) fn may_somewhere(&self, action: Permission, other: &Self) -> bool {
        match action {
            Permission::View => self.view.meets(&other.view),
            Permission::Operate => self.operate.meets(&other.operate),
            Permission::Manage => self.manage && other.manage,
        }
    }

    /// The namespaces that both may see; None means all.
    pub(super) fn visible_to_both(&self, other: &Self) -> Option<Vec<Namespace>> {
        match (&self.view, &other.view) {
            (NamespaceSet::All, NamespaceSet::All) => None,
            (NamespaceSet::All, NamespaceSet::Some(some))
            | (NamespaceSet::Some(some), NamespaceSet::All) => Some(some.iter().cloned().collect()),
            (NamespaceSet::Some(some), NamespaceSet::Some(others)) => {
                Some(some.intersection(others).cloned().collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(name: &str) -> Namespace {
        Namespace::parse(name).unwrap()
    }

    fn grant(role: Role, namespaces: &[&str], businesses: &[u32]) -> Grant {
        let namespaces = namespaces.iter().map(|name| ns(name)).collect();
        let businesses = businesses.iter().map(|id| BusinessId(*id)).collect();
        Grant::new(role, namespaces, businesses).unwrap()
    }

    #[test]
    fn grants_add_up_and_apply_only_where_they_say() {
        let rights = Rights::from_grants(&[
            grant(Role::Viewer, &["web"], &[]),
            grant(Role::Operator, &["db"], &[2]),
        ]);
        let (web, db, other) = (ns("web"), ns("db"), ns("other"));
        assert!(rights.may(Permission::View, (&web).into()));
        assert!(!rights.may(Permission::Operate, (&web).into()));
        assert!(rights.may(Permission::View, (&db).into()));
        assert!(rights.may(Permission::Operate, (&db).into()));
        assert!(rights.may(Permission::Operate, BusinessId(2).into()));
        assert!(rights.may(Permission::Operate, (&namespace_of(BusinessId(2))).into()));
        assert!(!rights.may(Permission::View, BusinessId(3).into()));
        assert!(!rights.may(Permission::View, (&other).into()));
        assert!(!rights.may(Permission::View, AccessArea::Everything));
        assert!(rights.may(Permission::Operate, AccessArea::Anything));
        assert!(!rights.may(Permission::Manage, AccessArea::Everything));
    }

    #[test]
    fn no_grants_means_no_permission() {
        let rights = Rights::from_grants(&[]);
        for action in [Permission::View, Permission::Operate, Permission::Manage] {
            for area in [
                AccessArea::Anything,
                AccessArea::Everything,
                BusinessId(2).into(),
            ] {
                assert!(!rights.may(action, area), "{action:?} {area}");
            }
        }
    }

    #[test]
    fn only_an_admin_manages_and_has_all_permissions() {
        let rights = Rights::from_grants(&[grant(Role::Admin, &[], &[])]);
        assert_eq!(rights, Rights::ALL);
        let operator = Rights::from_grants(&[grant(Role::Operator, &[], &[])]);
        assert!(operator.may(Permission::Operate, AccessArea::Everything));
        assert!(!operator.may(Permission::Manage, AccessArea::Everything));
    }

    #[test]
    fn namespaces_are_visible_if_both_may_see_them() {
        let web_and_db = Rights::from_grants(&[grant(Role::Viewer, &["web", "db"], &[])]);
        let db = Rights::from_grants(&[grant(Role::Operator, &["db", "x"], &[])]);
        assert_eq!(web_and_db.visible_to_both(&db), Some(vec![ns("db")]));
        assert_eq!(db.visible_to_both(&Rights::ALL).unwrap().len(), 2);
        assert_eq!(Rights::ALL.visible_to_both(&Rights::ALL), None);
    }
}
