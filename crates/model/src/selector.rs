//! Selectors of processes on any host: patterns of names, and tests of labels ([`LabelSelector`]).
//!
//! A name is written `NAMESPACE/NAME`, each a [`Pattern`] as in expressions: `app/*`, `[web,db]/api-?`.

mod labels;

use std::fmt;
use std::str::FromStr;

use crate::expression::Pattern;
use crate::{FullName, Host, Invalid};

pub use labels::{LabelSelector, LabelTest, LabelWanted, MAX_LABEL_TESTS, MAX_LABEL_VALUES};

/// Matches full names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    pub namespace: Pattern,
    pub name: Pattern,
}

impl NamePattern {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let both = text
            .split_once('/')
            .map(|(namespace, name)| (namespace.trim(), name.trim()))
            .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
            .filter(|(_, name)| !name.contains('/'));
        let Some((namespace, name)) = both else {
            let rule =
                format!("must be NAMESPACE/NAME, each with or without wildcards, not {text:?}");
            return Err(Invalid::new("process", rule));
        };
        let pattern = |part: &str| {
            Pattern::parse(part)
                .map_err(|error| Invalid::new("process", format!("{error}, in {part:?}")))
        };
        Ok(Self {
            namespace: pattern(namespace)?,
            name: pattern(name)?,
        })
    }

    /// The pattern that matches only this name.
    pub fn exactly(name: &FullName) -> Self {
        Self {
            namespace: Pattern::exactly(name.namespace.as_str()),
            name: Pattern::exactly(name.name.as_str()),
        }
    }

    pub fn matches(&self, name: &FullName) -> bool {
        self.namespace.matches(name.namespace.as_str()) && self.name.matches(name.name.as_str())
    }

    /// The only name that can match, if there are no wildcards.
    pub fn literal(&self) -> Option<FullName> {
        let (namespace, name) = self.namespace.literal().zip(self.name.literal())?;
        FullName::parse_registered(namespace, name).ok()
    }
}

/// One process on one host, written `NAMESPACE/NAME@CLOUD:IP`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProcessOnHost {
    pub name: FullName,
    pub host: Host,
}

impl FromStr for ProcessOnHost {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rule = || format!("must be NAMESPACE/NAME@CLOUD:IP, not {text:?}");
        let invalid = || Invalid::new("process", rule());
        // A name may hold an @, and a host does not.
        let (name, host) = text.trim().rsplit_once('@').ok_or_else(invalid)?;
        let (namespace, name) = name.split_once('/').ok_or_else(invalid)?;
        Ok(Self {
            name: FullName::parse_registered(namespace, name).map_err(|_| invalid())?,
            host: host.parse().map_err(|_| invalid())?,
        })
    }
}

impl fmt::Display for ProcessOnHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.host)
    }
}

impl FromStr for NamePattern {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace.as_str(), self.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_on_a_host_is_written_with_an_at_sign() {
        for text in ["web/nginx@0:10.0.0.1", "a b/c@d@3:fe80::1"] {
            let read: ProcessOnHost = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        let short: ProcessOnHost = "web/nginx@10.0.0.1".parse().unwrap();
        assert_eq!(short.host.to_string(), "0:10.0.0.1");
        for text in [
            "",
            "web/nginx",
            "nginx@10.0.0.1",
            "web/nginx@host",
            "web/@10.0.0.1",
        ] {
            assert!(text.parse::<ProcessOnHost>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_pattern_has_two_parts() {
        let matches = |pattern: &str, name: &str| {
            NamePattern::parse(pattern)
                .unwrap()
                .matches(&name.parse().unwrap())
        };
        assert!(matches("app/*", "app/api"));
        assert!(!matches("app/*", "apps/api"));
        assert!(matches("*/api", "web/api"));
        assert!(matches("[web,db]/a-?", "db/a-1"));
        assert!(matches(r"web/a\*b", "web/a*b"));
        assert!(!matches(r"web/a\*b", "web/axb"));
        let exact = NamePattern::parse("web/nginx").unwrap();
        assert_eq!(exact.literal(), Some("web/nginx".parse().unwrap()));
        assert_eq!(NamePattern::exactly(&"web/nginx".parse().unwrap()), exact);
        assert_eq!(NamePattern::parse("web/*").unwrap().literal(), None);
        for wrong in ["web", "web/", "/x", "a/b/c", "", "a/[b"] {
            let error = NamePattern::parse(wrong).unwrap_err();
            assert_eq!(error.field, "process", "{wrong}");
        }
    }
}
