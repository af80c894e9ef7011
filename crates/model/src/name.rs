//! Namespaces, process names and labels.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::text::is_invisible;

/// The longest namespace or process name, in characters.
pub const MAX_NAME_CHARS: usize = 255;
/// How many labels one process may carry.
pub const MAX_LABELS: usize = 64;
/// The longest label key or value, in bytes.
pub const MAX_LABEL_LEN: usize = 1024;

/// Allows any text, inner blanks included, except what makes a key or a path ambiguous.
fn check(field: &str, text: &str) -> Result<(), Invalid> {
    if text.is_empty() {
        return Err(Invalid::required(field));
    }
    ensure!(
        text.chars().count() <= MAX_NAME_CHARS,
        field,
        "must be at most {MAX_NAME_CHARS} characters"
    );
    let is_ambiguous = |c: char| c.is_control() || matches!(c, ':' | '/');
    ensure!(
        !text.contains(is_ambiguous),
        field,
        "must not hold control characters, ':' or '/'"
    );
    ensure!(
        text.trim() == text,
        field,
        "must not begin or end with a blank"
    );
    Ok(())
}

/// Refuses invisible characters, so that names that look equal are equal, and the folder names `.` and `..`.
fn check_visible(field: &str, text: &str) -> Result<(), Invalid> {
    ensure!(
        !matches!(text, "." | ".."),
        field,
        "must not be '.' or '..'"
    );
    match text.chars().find(|c| is_invisible(*c)) {
        None => Ok(()),
        Some(c) => {
            let c = c.escape_unicode();
            let rule = format!("must not hold invisible characters such as {c}");
            Err(Invalid::new(field, rule))
        }
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            pub fn parse(text: &str) -> Result<Self, Invalid> {
                let name = Self::parse_registered(text)?;
                check_visible($field, text)?;
                Ok(name)
            }

            /// Parses a name that is already registered. Rules that were added later do not apply to it.
            pub fn parse_registered(text: &str) -> Result<Self, Invalid> {
                check($field, text).map(|()| Self(text.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        string_conversions!($type, $type::parse_registered, |name: $type| name
            .as_str()
            .to_owned());
    };
}

name_type!(
    /// Groups processes; also the unit of access control.
    Namespace, "namespace"
);
name_type!(
    /// The name of a process within its namespace.
    ProcessName, "name"
);

/// Names a process on any host. Written `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FullName {
    pub namespace: Namespace,
    pub name: ProcessName,
}

impl FullName {
    pub fn parse(namespace: &str, name: &str) -> Result<Self, Invalid> {
        Ok(Self {
            namespace: Namespace::parse(namespace)?,
            name: ProcessName::parse(name)?,
        })
    }

    /// Parses a name that is already registered, see [`Namespace::parse_registered`].
    pub fn parse_registered(namespace: &str, name: &str) -> Result<Self, Invalid> {
        Ok(Self {
            namespace: Namespace::parse_registered(namespace)?,
            name: ProcessName::parse_registered(name)?,
        })
    }
}

/// Splits `namespace/name`.
fn split(text: &str) -> Result<(&str, &str), Invalid> {
    text.split_once('/')
        .ok_or_else(|| Invalid::new("process", format!("must be NAMESPACE/NAME, not {text:?}")))
}

impl fmt::Display for FullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for FullName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (namespace, name) = split(text)?;
        Self::parse(namespace, name)
    }
}

string_conversions!(
    FullName,
    |text| split(text).and_then(|(namespace, name)| FullName::parse_registered(namespace, name)),
    |name: FullName| name.to_string()
);

/// Key-value pairs of a process. Callers may send any JSON scalar as a value; it is stored as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    pub fn parse(pairs: BTreeMap<String, String>) -> Result<Self, Invalid> {
        if pairs.len() > MAX_LABELS {
            return Err(Invalid::new(
                "labels",
                format!("must be at most {MAX_LABELS} pairs"),
            ));
        }
        for (key, value) in &pairs {
            if key.is_empty() || key.len() > MAX_LABEL_LEN || value.len() > MAX_LABEL_LEN {
                return Err(Invalid::new(
                    format!("labels.{}", key.chars().take(40).collect::<String>()),
                    format!(
                        "key and value must be at most {MAX_LABEL_LEN} bytes, the key not empty"
                    ),
                ));
            }
        }
        Ok(Self(pairs))
    }

    /// A copy with this pair set.
    pub fn with(&self, key: &str, value: &str) -> Self {
        let mut pairs = self.0.clone();
        pairs.insert(key.to_owned(), value.to_owned());
        Self(pairs)
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_parses_from_its_display() {
        let name: FullName = "gse/proc-test".parse().unwrap();
        assert_eq!(name.to_string(), "gse/proc-test");
        assert!("gse".parse::<FullName>().is_err());
        assert!("a/b/c".parse::<FullName>().is_err());
        assert!("业务/进程".parse::<FullName>().is_ok());
    }

    #[test]
    fn dots_and_invisible_characters_are_refused() {
        let dots = "must not be '.' or '..'";
        let invisible =
            |code: &str| format!("must not hold invisible characters such as \\u{{{code}}}");
        for (bad, rule) in [
            (".", dots.to_owned()),
            ("..", dots.to_owned()),
            ("web\u{200b}", invisible("200b")),
            ("a\u{200d}b", invisible("200d")),
            ("\u{feff}web", invisible("feff")),
            ("we\u{ad}b", invisible("ad")),
            ("a\u{202e}b", invisible("202e")),
            ("a\u{2066}b", invisible("2066")),
            ("a\u{61c}b", invisible("61c")),
            ("a\u{2060}b", invisible("2060")),
            ("a\u{3164}b", invisible("3164")),
            ("a\u{fe0f}", invisible("fe0f")),
            ("a\u{e0041}", invisible("e0041")),
        ] {
            let error = ProcessName::parse(bad).unwrap_err();
            assert_eq!(
                (error.field.as_str(), &error.rule),
                ("name", &rule),
                "{bad:?}"
            );
            assert_eq!(Namespace::parse(bad).unwrap_err().field, "namespace");
        }
        // Registered names are still read from the store, the journal and frames.
        let registered = FullName::parse_registered("gse", "a\u{200b}").unwrap();
        let json = serde_json::to_string(&registered).unwrap();
        assert_eq!(serde_json::from_str::<FullName>(&json).unwrap(), registered);
        assert!("gse/a\u{200b}".parse::<FullName>().is_err());
        // Line and paragraph separators are refused, too.
        assert!(ProcessName::parse("a\u{2028}b").is_err());
        for good in ["...", ".web", "web.1", "业务", "naïve", "हिन्दी"] {
            assert!(ProcessName::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn names_that_would_make_a_key_ambiguous_are_refused() {
        for bad in [
            "",
            " ",
            "a:b",
            "a/b",
            "a\nb",
            " a",
            "a ",
            "a\u{3000}",
            &"x".repeat(256),
        ] {
            assert_eq!(
                Namespace::parse(bad).unwrap_err().field,
                "namespace",
                "{bad:?}"
            );
        }
    }

    #[test]
    fn any_other_text_of_up_to_255_characters_is_a_name() {
        for good in [
            "two words",
            "a  b\u{3000}c",
            "a.b+c*?[x]%#&\\\"'",
            "业务 一",
            &"长".repeat(255),
        ] {
            assert_eq!(ProcessName::parse(good).unwrap().as_str(), good);
        }
    }
}
