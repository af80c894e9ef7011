//! Reasons as codes with parameters, for programs and for languages other than English.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a sentence says: a code, and what differs from case to case. The sentence itself, in English, stands beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reason {
    pub code: Cow<'static, str>,
    pub params: BTreeMap<Cow<'static, str>, String>,
}

impl Reason {
    pub fn new(code: &'static str) -> Self {
        Self {
            code: Cow::Borrowed(code),
            params: BTreeMap::new(),
        }
    }

    /// The same reason with one more parameter.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.params.insert(Cow::Borrowed(name), value.to_string());
        self
    }
}
