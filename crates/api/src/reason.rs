//! Reasons as codes with parameters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::Reason;

responses! {
    /// What a sentence says, for programs and for other languages: a code, and what differs from case to case. The sentence
    /// itself, in English, stands beside it.
    #[derive(Clone, PartialEq, Eq)]
    pub struct ReasonView<'a> {
        pub code: Cow<'a, str>,
        /// As the code needs.
        #[schema(value_type = BTreeMap<String, String>)]
        pub params: BTreeMap<Cow<'a, str>, String>,
    }
}

impl From<Reason> for ReasonView<'_> {
    fn from(reason: Reason) -> Self {
        Self {
            code: reason.code,
            params: reason.params,
        }
    }
}
