//! A regular expression for lines of output. CLI, server and agent parse it by the same rules, so that a pattern that was
//! accepted once is accepted everywhere. Matching takes time linear in the line.

use std::fmt;
use std::str::FromStr;

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::Invalid;

/// The longest pattern, in bytes.
pub const MAX_PATTERN: usize = 1024;
/// The most memory that a compiled pattern may take, in bytes.
const MAX_COMPILED: usize = 1024 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LinePattern(Regex);

impl LinePattern {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Err(Invalid::required("grep"));
        }
        ensure!(
            text.len() <= MAX_PATTERN,
            "grep",
            "must be at most {MAX_PATTERN} bytes"
        );
        let compiled = RegexBuilder::new(text)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build();
        match compiled {
            Ok(regex) => Ok(Self(regex)),
            Err(regex::Error::CompiledTooBig(_)) => {
                let rule = "needs too much memory: repeat less in it";
                Err(Invalid::new("grep", rule))
            }
            Err(error) => {
                let rule = format!("is no regular expression: {}", last_line(&error));
                Err(Invalid::new("grep", rule))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether a line without its newline matches anywhere.
    pub fn matches(&self, line: &[u8]) -> bool {
        self.0.is_match(line)
    }
}

/// The reason alone: the lines before it repeat the pattern.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

impl PartialEq for LinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for LinePattern {}

impl fmt::Display for LinePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LinePattern {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

impl TryFrom<String> for LinePattern {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<LinePattern> for String {
    fn from(pattern: LinePattern) -> Self {
        pattern.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_anywhere_in_a_line_of_any_bytes() {
        let pattern = LinePattern::parse("(?i)error|fatal$").unwrap();
        assert!(pattern.matches(b"an \xff ERROR here"));
        assert!(pattern.matches(b"it was fatal"));
        assert!(!pattern.matches(b"fatal? no"));
        assert!(LinePattern::parse(r"\d{2}").unwrap().matches(b"a 12"));
    }

    #[test]
    fn a_bad_pattern_is_refused_with_its_reason() {
        for (text, rule) in [
            ("", "is required"),
            ("(", "is no regular expression: unclosed group"),
            ("a**b{2", "is no regular expression: "),
            (r"(a)\1", "is no regular expression: "),
            ("(?:a{1000}){1000}", "needs too much memory"),
            (&"x".repeat(2000), "must be at most 1024 bytes"),
        ] {
            let invalid = LinePattern::parse(text).unwrap_err();
            assert_eq!(invalid.field, "grep");
            assert!(invalid.rule.starts_with(rule), "{text:?}: {invalid}");
        }
    }

    #[test]
    fn reading_json_checks_the_pattern() {
        let read: LinePattern = serde_json::from_str("\"a.b\"").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"a.b\"");
        assert!(serde_json::from_str::<LinePattern>("\"[\"").is_err());
    }
}
