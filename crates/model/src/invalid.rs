//! The error of every parser here: the field, and the rule that its value breaks.

use std::fmt;

use crate::reason::Reason;

const REQUIRED: &str = "is required";

/// A refused input: the field as the caller wrote it, and the broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub field: String,
    pub rule: String,
}

impl Invalid {
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            rule: rule.into(),
        }
    }

    /// The field is required and was absent, null or empty.
    pub fn required(field: impl Into<String>) -> Self {
        Self::new(field, REQUIRED)
    }

    /// As a code with parameters. Rules are sentences in English.
    pub fn reason(&self) -> Reason {
        match self.rule == REQUIRED {
            true => Reason::new("required").with("field", &self.field),
            false => Reason::new("invalid")
                .with("field", &self.field)
                .with("rule", &self.rule),
        }
    }

    /// Prefixes the field with the object that contains it.
    pub fn within(self, outer: &str) -> Self {
        let field = match self.field.is_empty() {
            true => outer.to_owned(),
            false => format!("{outer}.{}", self.field),
        };
        Self { field, ..self }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.is_empty() {
            true => f.write_str(&self.rule),
            false => write!(f, "{}: {}", self.field, self.rule),
        }
    }
}

impl std::error::Error for Invalid {}
