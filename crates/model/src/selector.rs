//! Selectors of processes on any host: patterns of names, and tests of labels.
//!
//! A name is written `NAMESPACE/NAME`, each a [`Pattern`] as in expressions: `app/*`, `[web,db]/api-?`. A label selector is a
//! list of tests, separated by commas, all of which must hold:
//!
//! | written | holds where |
//! |---|---|
//! | `tier=front`, `tier==front` | the label has this value |
//! | `tier!=front` | it has another value, or is missing |
//! | `tier` | it is there, with any value |
//! | `!tier` | it is missing |
//! | `\` | the next character stands for itself: `note=a\,b` |

use std::fmt;
use std::str::FromStr;

use crate::expression::Pattern;
use crate::{FullName, Host, Invalid};

/// How many tests one selector may have.
pub const MAX_LABEL_TESTS: usize = 64;

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

/// Tests of labels, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<LabelTest>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct LabelTest {
    key: String,
    wanted: LabelWanted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LabelWanted {
    Is(String),
    IsNot(String),
    Present,
    Absent,
}

impl LabelSelector {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let tests: Vec<LabelTest> = split(text)?
            .into_iter()
            .map(|test| test.parse(text))
            .collect::<Result<_, _>>()?;
        ensure!(
            tests.len() <= MAX_LABEL_TESTS,
            "label",
            "must be at most {MAX_LABEL_TESTS} tests"
        );
        Ok(Self(tests))
    }

    /// The tests of both.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether labels of which `value` gives the value of each key pass every test.
    pub fn matches<V: AsRef<str>>(&self, value: impl Fn(&str) -> Option<V>) -> bool {
        self.0.iter().all(|test| {
            let value = value(&test.key);
            let value = value.as_ref().map(AsRef::as_ref);
            match &test.wanted {
                LabelWanted::Is(wanted) => value == Some(wanted),
                LabelWanted::IsNot(unwanted) => value != Some(unwanted),
                LabelWanted::Present => value.is_some(),
                LabelWanted::Absent => value.is_none(),
            }
        })
    }
}

impl FromStr for LabelSelector {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

/// One test as written: each character, and whether it was escaped.
#[derive(Debug, Default)]
struct WrittenTest(Vec<(char, bool)>);

fn split(text: &str) -> Result<Vec<WrittenTest>, Invalid> {
    let mut tests = vec![WrittenTest::default()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let read = match character {
            ',' => {
                tests.push(WrittenTest::default());
                continue;
            }
            '\\' => {
                let next = characters.next();
                (next.ok_or_else(|| wrong(text, "ends with a \\"))?, true)
            }
            other => (other, false),
        };
        if let Some(test) = tests.last_mut() {
            test.0.push(read);
        }
    }
    Ok(tests)
}

fn wrong(text: &str, why: &str) -> Invalid {
    Invalid::new(
        "label",
        format!("must be tests such as tier=front,zone!=b,canary,!old: {text:?} {why}"),
    )
}

impl WrittenTest {
    fn parse(self, whole: &str) -> Result<LabelTest, Invalid> {
        let plain = |wanted: char| move |(c, escaped): &(char, bool)| *c == wanted && !escaped;
        let text = |part: &[(char, bool)]| -> String {
            let part: String = part.iter().map(|(c, _)| *c).collect();
            part.trim().to_owned()
        };
        let (key, wanted) = match self.0.iter().position(plain('=')) {
            Some(at) => {
                let is_not = at > 0 && plain('!')(&self.0[at - 1]);
                let key = &self.0[..at - usize::from(is_not)];
                let mut value = &self.0[at + 1..];
                if !is_not && value.first().is_some_and(plain('=')) {
                    value = &value[1..];
                }
                let wanted = match is_not {
                    true => LabelWanted::IsNot(text(value)),
                    false => LabelWanted::Is(text(value)),
                };
                (text(key), wanted)
            }
            None => match self.0.iter().position(|(c, _)| *c != ' ') {
                Some(at) if plain('!')(&self.0[at]) => {
                    (text(&self.0[at + 1..]), LabelWanted::Absent)
                }
                _ => (text(&self.0), LabelWanted::Present),
            },
        };
        match key.is_empty() {
            true => Err(wrong(whole, "has a test without a label")),
            false => Ok(LabelTest { key, wanted }),
        }
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

    #[test]
    fn every_test_of_labels_must_hold() {
        let labels = [("tier", "front"), ("note", "a,b=c"), ("empty", "")];
        let matches = |selector: &str| {
            let value = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
            LabelSelector::parse(selector).unwrap().matches(value)
        };
        for (selector, wanted) in [
            ("tier=front", true),
            ("tier==front", true),
            ("tier=back", false),
            ("tier!=front", false),
            ("tier!=back", true),
            ("zone!=a", true),
            ("tier", true),
            ("zone", false),
            ("!zone", true),
            (" ! tier", false),
            ("tier = front , !zone", true),
            ("tier=front,zone", false),
            (r"note=a\,b\=c", true),
            (r"note=a\,b=c", true),
            ("empty=", true),
            ("tier=", false),
        ] {
            assert_eq!(matches(selector), wanted, "{selector}");
        }
        let both = LabelSelector::parse("tier").unwrap();
        let both = both.and(LabelSelector::parse("zone").unwrap());
        assert!(!both.matches(|key| (key == "tier").then_some("x")));
    }

    #[test]
    fn a_wrong_selector_says_what_is_wrong() {
        for (selector, why) in [
            ("", "a test without a label"),
            ("=x", "a test without a label"),
            ("a,,b", "a test without a label"),
            ("!", "a test without a label"),
            ("!=x", "a test without a label"),
            ("a\\", "ends with a \\"),
            (&vec!["a"; 65].join(","), "at most 64 tests"),
        ] {
            let error = LabelSelector::parse(selector).unwrap_err();
            assert_eq!(error.field, "label");
            assert!(error.rule.contains(why), "{selector}: {error}");
        }
    }
}
