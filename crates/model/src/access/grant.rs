//! Grants: roles of users and apps, each with the namespaces and businesses where it applies.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::selector::LabelSelector;
use crate::topology::BusinessId;
use crate::{Invalid, Namespace};

/// How many grants one user or app may have.
pub const MAX_GRANTS: usize = 256;
/// How many namespaces and businesses one grant may name.
pub const MAX_NAMED: usize = 256;

/// Each role includes the rights of the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sees processes and their states, but no logs and no files.
    Viewer,
    /// Registers, operates, releases; reads logs and files.
    Operator,
    /// Also manages apps, users, tokens, webhooks and hosts.
    Admin,
}

variant_names!(Role, as_str, {
    Viewer = "viewer",
    Operator = "operator",
    Admin = "admin",
});

impl Role {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| {
            let rule = format!("must be viewer, operator or admin, not {text:?}");
            Invalid::new("role", rule)
        })
    }
}

/// Where a grant applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantReach {
    Everything,
    Within {
        namespaces: Vec<Namespace>,
        businesses: Vec<BusinessId>,
    },
    /// The processes whose labels pass, of these namespaces and businesses, or of all if none is named. A variant of its own,
    /// so that a program that does not know labels cannot read the grant as a wider one.
    Matching {
        namespaces: Vec<Namespace>,
        businesses: Vec<BusinessId>,
        labels: LabelSelector,
    },
}

/// A role, and where it applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub role: Role,
    pub reach: GrantReach,
}

impl Grant {
    pub fn everywhere(role: Role) -> Self {
        Self {
            role,
            reach: GrantReach::Everything,
        }
    }

    /// Without namespaces and businesses it applies to everything.
    pub fn new(
        role: Role,
        mut namespaces: Vec<Namespace>,
        mut businesses: Vec<BusinessId>,
    ) -> Result<Self, Invalid> {
        namespaces.sort_unstable();
        namespaces.dedup();
        businesses.sort_unstable();
        businesses.dedup();
        let n_named = namespaces.len() + businesses.len();
        if n_named == 0 {
            return Ok(Self::everywhere(role));
        }
        ensure!(
            role != Role::Admin,
            "role",
            "admin is for everything: apps, users and hosts belong to no namespace"
        );
        ensure!(
            n_named <= MAX_NAMED,
            "namespaces",
            "must name at most {MAX_NAMED} namespaces and businesses"
        );
        Ok(Self {
            role,
            reach: GrantReach::Within {
                namespaces,
                businesses,
            },
        })
    }
}

impl Grant {
    /// The same, for processes with these labels only.
    ///
    /// One of the tests must want a label to be there: tests such as `env!=prod` hold for every process without labels, so a
    /// process that was registered without care would be covered.
    pub fn with_labels(self, labels: LabelSelector) -> Result<Self, Invalid> {
        ensure!(
            self.role != Role::Admin,
            "role",
            "admin is for everything: apps, users and hosts have no labels of processes"
        );
        ensure!(
            labels.wants_presence(),
            "label",
            "must have a test that holds only where a label is there, such as tier=front: {labels} holds for processes without \
             labels"
        );
        let (namespaces, businesses) = match self.reach {
            GrantReach::Everything => (Vec::new(), Vec::new()),
            GrantReach::Within {
                namespaces,
                businesses,
            }
            | GrantReach::Matching {
                namespaces,
                businesses,
                ..
            } => (namespaces, businesses),
        };
        Ok(Self {
            role: self.role,
            reach: GrantReach::Matching {
                namespaces,
                businesses,
                labels,
            },
        })
    }

    /// The namespaces, businesses and labels that it names.
    pub fn named(&self) -> (&[Namespace], &[BusinessId], Option<&LabelSelector>) {
        match &self.reach {
            GrantReach::Everything => (&[], &[], None),
            GrantReach::Within {
                namespaces,
                businesses,
            } => (namespaces, businesses, None),
            GrantReach::Matching {
                namespaces,
                businesses,
                labels,
            } => (namespaces, businesses, Some(labels)),
        }
    }
}

/// `operator of namespace gse, business 2`; `viewer of everything with the labels tier=front`.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of ", self.role.as_str())?;
        let (namespaces, businesses, labels) = self.named();
        let namespaces = namespaces.iter().map(|name| format!("namespace {name}"));
        let businesses = businesses.iter().map(|id| format!("business {id}"));
        let named: Vec<String> = namespaces.chain(businesses).collect();
        match (named.is_empty(), &self.reach) {
            (false, _) => f.write_str(&named.join(", "))?,
            (true, GrantReach::Within { .. }) => f.write_str("nothing")?,
            (true, GrantReach::Everything | GrantReach::Matching { .. }) => {
                f.write_str("everything")?;
            }
        }
        match labels {
            Some(labels) => write!(f, " with the labels {labels}"),
            None => Ok(()),
        }
    }
}

/// Describes several grants for people.
pub fn describe_grants(grants: &[Grant]) -> String {
    if grants.is_empty() {
        return "nothing".to_owned();
    }
    let each: Vec<String> = grants.iter().map(Grant::to_string).collect();
    each.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespaces(names: &[&str]) -> Vec<Namespace> {
        let parse = |name: &&str| Namespace::parse(name).unwrap();
        names.iter().map(parse).collect()
    }

    #[test]
    fn a_grant_lists_each_namespace_and_business_once() {
        let two = vec![BusinessId(2), BusinessId(2)];
        let grant = Grant::new(Role::Operator, namespaces(&["web", "db", "web"]), two).unwrap();
        assert_eq!(
            grant.to_string(),
            "operator of namespace db, namespace web, business 2"
        );
        let everything = Grant::new(Role::Viewer, Vec::new(), Vec::new()).unwrap();
        assert_eq!(everything.to_string(), "viewer of everything");
        assert_eq!(describe_grants(&[]), "nothing");
    }

    #[test]
    fn an_admin_grant_applies_to_everything() {
        assert!(Grant::new(Role::Admin, namespaces(&["web"]), Vec::new()).is_err());
        assert!(Grant::new(Role::Admin, Vec::new(), vec![BusinessId(2)]).is_err());
        assert!(Grant::new(Role::Admin, Vec::new(), Vec::new()).is_ok());
    }

    #[test]
    fn a_grant_by_labels_needs_a_label_that_is_there() {
        let labels = |text: &str| text.parse::<LabelSelector>().unwrap();
        let web = || Grant::new(Role::Operator, namespaces(&["web"]), Vec::new()).unwrap();
        let front = web().with_labels(labels("tier in (a,b),!old")).unwrap();
        assert_eq!(
            front.to_string(),
            "operator of namespace web with the labels tier in (a,b),!old"
        );
        let everywhere = Grant::everywhere(Role::Viewer).with_labels(labels("tier"));
        assert_eq!(
            everywhere.unwrap().to_string(),
            "viewer of everything with the labels tier"
        );
        for wide in ["env!=prod", "!env", "env notin (a,b),!old"] {
            assert_eq!(web().with_labels(labels(wide)).unwrap_err().field, "label");
        }
        let admin = Grant::everywhere(Role::Admin).with_labels(labels("a=b"));
        assert_eq!(admin.unwrap_err().field, "role");
        let text = serde_json::to_string(&front).unwrap();
        assert_eq!(
            text,
            r#"{"role":"operator","reach":{"matching":{"namespaces":["web"],"businesses":[],"labels":"tier in (a,b),!old"}}}"#
        );
        assert_eq!(serde_json::from_str::<Grant>(&text).unwrap(), front);
    }

    #[test]
    fn grants_round_trip_through_json() {
        let grants = [
            Grant::everywhere(Role::Admin),
            Grant::new(Role::Viewer, namespaces(&["web"]), vec![BusinessId(2)]).unwrap(),
        ];
        let text = serde_json::to_string(&grants).unwrap();
        assert_eq!(
            text,
            r#"[{"role":"admin","reach":"everything"},{"role":"viewer","reach":{"within":{"namespaces":["web"],"businesses":[2]}}}]"#
        );
        assert_eq!(serde_json::from_str::<[Grant; 2]>(&text).unwrap(), grants);
    }
}
