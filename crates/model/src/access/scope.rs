//! The processes that a permission covers: all of some namespaces, and those whose labels pass in others.

use std::collections::BTreeSet;

use super::AccessArea;
use super::grant::GrantReach;
use crate::Namespace;
use crate::selector::LabelSelector;
use crate::topology::namespace_of;

/// Namespaces, by name or all.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NamespaceSet {
    All,
    Some(BTreeSet<Namespace>),
}

impl NamespaceSet {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Some(namespaces) if namespaces.is_empty())
    }

    fn contains(&self, namespace: &Namespace) -> bool {
        match self {
            Self::All => true,
            Self::Some(namespaces) => namespaces.contains(namespace),
        }
    }

    fn within(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, set) | (set, Self::All) => set.clone(),
            (Self::Some(one), Self::Some(other)) => {
                Self::Some(one.intersection(other).cloned().collect())
            }
        }
    }

    fn to_list(&self) -> Option<Vec<Namespace>> {
        match self {
            Self::All => None,
            Self::Some(namespaces) => Some(namespaces.iter().cloned().collect()),
        }
    }
}

/// Some processes of some namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LabelledPart {
    namespaces: NamespaceSet,
    labels: LabelSelector,
}

/// Processes: all of some namespaces, and those with labels of others.
///
/// An area is covered only as a whole. Where labels decide, no area is: each process is asked for by [`Self::includes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessScope {
    whole: NamespaceSet,
    labelled: Vec<LabelledPart>,
}

impl ProcessScope {
    pub const ALL: Self = Self {
        whole: NamespaceSet::All,
        labelled: Vec::new(),
    };
    pub const NONE: Self = Self {
        whole: NamespaceSet::Some(BTreeSet::new()),
        labelled: Vec::new(),
    };

    /// All processes of these namespaces.
    pub fn of_namespaces(namespaces: impl IntoIterator<Item = Namespace>) -> Self {
        Self {
            whole: NamespaceSet::Some(namespaces.into_iter().collect()),
            labelled: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, reach: &GrantReach) {
        match reach {
            GrantReach::Everything => *self = Self::ALL,
            GrantReach::Within {
                namespaces,
                businesses,
            } => {
                let named = namespaces.iter().cloned();
                let named = named.chain(businesses.iter().copied().map(namespace_of));
                if let NamespaceSet::Some(whole) = &mut self.whole {
                    whole.extend(named);
                }
            }
            GrantReach::Matching {
                namespaces,
                businesses,
                labels,
            } => {
                let named = namespaces.iter().cloned();
                let named = named.chain(businesses.iter().copied().map(namespace_of));
                let named: BTreeSet<Namespace> = named.collect();
                let namespaces = match named.is_empty() {
                    true => NamespaceSet::All,
                    false => NamespaceSet::Some(named),
                };
                let labels = labels.clone();
                self.push(LabelledPart { namespaces, labels });
            }
        }
    }

    fn push(&mut self, part: LabelledPart) {
        let is_new = self.whole != NamespaceSet::All && !part.namespaces.is_empty();
        if is_new && !self.labelled.contains(&part) {
            self.labelled.push(part);
        }
    }

    /// What both cover.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        let mut both = Self {
            whole: self.whole.within(&other.whole),
            labelled: Vec::new(),
        };
        for (part, whole) in (self.labelled.iter().map(|part| (part, &other.whole)))
            .chain(other.labelled.iter().map(|part| (part, &self.whole)))
        {
            both.push(LabelledPart {
                namespaces: part.namespaces.within(whole),
                labels: part.labels.clone(),
            });
        }
        for one in &self.labelled {
            for other in &other.labelled {
                both.push(LabelledPart {
                    namespaces: one.namespaces.within(&other.namespaces),
                    labels: one.labels.clone().and(other.labels.clone()),
                });
            }
        }
        both
    }

    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.labelled.is_empty()
    }

    pub fn is_all(&self) -> bool {
        self.whole == NamespaceSet::All
    }

    /// The namespaces that it covers as a whole; None for all.
    pub fn namespaces(&self) -> Option<Vec<Namespace>> {
        self.whole.to_list()
    }

    /// The labels that decide, each with its namespaces; None for all.
    pub fn labelled(&self) -> impl Iterator<Item = (Option<Vec<Namespace>>, &LabelSelector)> {
        let parts = self.labelled.iter();
        parts.map(|part| (part.namespaces.to_list(), &part.labels))
    }

    pub(super) fn covers(&self, area: AccessArea<'_>) -> bool {
        match area {
            AccessArea::Namespace(namespace) => self.whole.contains(namespace),
            AccessArea::Business(business) => self.whole.contains(&namespace_of(business)),
            AccessArea::Everything => self.is_all(),
            AccessArea::Anything => !self.is_empty(),
        }
    }

    /// Whether it covers a process of the namespace, if it has the right labels.
    pub fn touches(&self, namespace: &Namespace) -> bool {
        let mut labelled = self.labelled.iter();
        self.whole.contains(namespace) || labelled.any(|part| part.namespaces.contains(namespace))
    }

    /// Whether it covers this process, of which `label` gives the value of each label.
    pub fn includes<V: AsRef<str>>(
        &self,
        namespace: &Namespace,
        label: impl Fn(&str) -> Option<V>,
    ) -> bool {
        let mut labelled = self.labelled.iter();
        self.whole.contains(namespace)
            || labelled
                .any(|part| part.namespaces.contains(namespace) && part.labels.matches(&label))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::{Grant, Role};
    use crate::topology::BusinessId;

    fn grant() -> impl Strategy<Value = Grant> {
        let namespaces = prop::collection::vec("[ab]", 0..3);
        let businesses = prop::collection::vec(1_u32..3, 0..2);
        let labels = prop::option::of("[xy]=[12]|x in \\(1,2\\)");
        (namespaces, businesses, labels).prop_map(|(namespaces, businesses, labels)| {
            let parse = |name: &String| Namespace::parse(name).unwrap();
            let namespaces = namespaces.iter().map(parse).collect();
            let businesses = businesses.into_iter().map(BusinessId).collect();
            let grant = Grant::new(Role::Viewer, namespaces, businesses).unwrap();
            match labels {
                None => grant,
                Some(labels) => grant.with_labels(labels.parse().unwrap()).unwrap(),
            }
        })
    }

    fn scope(grants: &[Grant]) -> ProcessScope {
        let mut scope = ProcessScope::NONE;
        for grant in grants {
            scope.add(&grant.reach);
        }
        scope
    }

    proptest! {
        /// A process is in the intersection of two scopes exactly if it is in both.
        #[test]
        fn what_both_cover_is_what_each_covers(
            one in prop::collection::vec(grant(), 0..4),
            other in prop::collection::vec(grant(), 0..4),
        ) {
            let (one, other) = (scope(&one), scope(&other));
            let both = one.within(&other);
            for namespace in ["a", "b", "c", "GSEKIT_BIZ_1"] {
                let namespace = Namespace::parse(namespace).unwrap();
                for (x, y) in [(None, None), (Some("1"), None), (Some("2"), Some("1")), (None, Some("2"))] {
                    let label = |key: &str| if key == "x" { x } else { y };
                    let expected = one.includes(&namespace, label) && other.includes(&namespace, label);
                    prop_assert_eq!(both.includes(&namespace, label), expected);
                    prop_assert!(!expected || (!both.is_empty() && both.touches(&namespace)));
                }
                let whole = AccessArea::Namespace(&namespace);
                prop_assert_eq!(both.covers(whole), one.covers(whole) && other.covers(whole));
            }
        }
    }
}
