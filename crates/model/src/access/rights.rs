//! Rights: the grants of an app or user, compiled for permission checks.
//!
//! All instances of a business are in one namespace, so rights refer to namespaces only.

use super::grant::{Grant, GrantReach, Role};
use super::scope::ProcessScope;
use crate::Namespace;
use crate::topology::BusinessId;

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

/// The permissions of an app or user, each with its namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    view: ProcessScope,
    operate: ProcessScope,
    manage: bool,
}

impl Rights {
    /// Unlimited, see [`super::all_rights`].
    pub const ALL: Self = Self {
        view: ProcessScope::ALL,
        operate: ProcessScope::ALL,
        manage: true,
    };

    pub fn from_grants(grants: &[Grant]) -> Self {
        let mut rights = Self {
            view: ProcessScope::NONE,
            operate: ProcessScope::NONE,
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

    /// Whether the permission covers one process, of which `label` gives the value of each label.
    pub fn may_process<V: AsRef<str>>(
        &self,
        action: Permission,
        namespace: &Namespace,
        label: impl Fn(&str) -> Option<V>,
    ) -> bool {
        self.scope(action)
            .is_some_and(|scope| scope.includes(namespace, label))
    }

    /// Where the permission is granted; None for [`Permission::Manage`], which is not about processes.
    fn scope(&self, action: Permission) -> Option<&ProcessScope> {
        match action {
            Permission::View => Some(&self.view),
            Permission::Operate => Some(&self.operate),
            Permission::Manage => None,
        }
    }

    /// Whether both may have the permission somewhere.
    pub(super) fn may_somewhere(&self, action: Permission, other: &Self) -> bool {
        match self.scope(action).zip(other.scope(action)) {
            Some((one, other)) => !one.within(other).is_empty(),
            None => self.manage && other.manage,
        }
    }

    /// The processes that both may see.
    pub(super) fn seen_by_both(&self, other: &Self) -> ProcessScope {
        self.view.within(&other.view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::namespace_of;

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
        let seen = |one: &Rights, other: &Rights| one.seen_by_both(other).namespaces();
        assert_eq!(seen(&web_and_db, &db), Some(vec![ns("db")]));
        assert_eq!(seen(&db, &Rights::ALL).unwrap().len(), 2);
        assert_eq!(seen(&Rights::ALL, &Rights::ALL), None);
    }
    /// A grant by labels is about processes and covers no area: a caller that may register in an area chooses the labels there.
    #[test]
    fn a_grant_by_labels_covers_processes_and_no_area() {
        let by_labels = |namespaces: &[&str]| {
            let grant = grant(Role::Operator, namespaces, &[]);
            grant.with_labels("tier=front".parse().unwrap()).unwrap()
        };
        let front = |key: &str| (key == "tier").then_some("front");
        let back = |key: &str| (key == "tier").then_some("back");
        let none = |_: &str| None::<&str>;
        let (web, db) = (ns("web"), ns("db"));
        let in_web = Rights::from_grants(&[by_labels(&["web"])]);
        let anywhere = Rights::from_grants(&[by_labels(&[])]);
        for action in [Permission::View, Permission::Operate] {
            for area in [(&web).into(), BusinessId(2).into(), AccessArea::Everything] {
                assert!(!in_web.may(action, area) && !anywhere.may(action, area));
            }
            assert!(in_web.may(action, AccessArea::Anything));
            assert!(in_web.may_process(action, &web, front));
            assert!(!in_web.may_process(action, &db, front));
            assert!(anywhere.may_process(action, &db, front));
            for labels in [&back as &dyn Fn(&str) -> Option<&'static str>, &none] {
                assert!(!anywhere.may_process(action, &web, labels));
            }
        }
        assert!(!anywhere.may_process(Permission::Manage, &web, front));
        assert_eq!(
            anywhere.seen_by_both(&Rights::ALL).namespaces(),
            Some(vec![])
        );
        let whole = Rights::from_grants(&[by_labels(&[]), grant(Role::Viewer, &["web"], &[])]);
        assert!(whole.may_process(Permission::View, &web, back));
        assert!(!whole.may_process(Permission::Operate, &web, back));
    }
}
