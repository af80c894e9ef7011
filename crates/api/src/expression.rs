//! What a request selects of a business: by ids and names, or by an expression; and what an expression means.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use model::expression::Meaning;
use model::lenient;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Scalar;
use crate::schemas::ExpressionSchema;

/// By ids and exact names; what is absent or empty does not restrict.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeBody {
    pub sets: Option<Vec<u32>>,
    pub modules: Option<Vec<u32>>,
    pub services: Option<Vec<u32>>,
    /// Aliases.
    pub names: Option<Vec<String>>,
    /// Ids of processes.
    pub ids: Option<Vec<u32>>,
}

/// An expression: `"set.module.service.process.id"`, or an object of its parts.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ExpressionBody {
    Joined(String),
    Parts(Box<PartsBody>),
}

/// The parts of an expression; what is absent or blank is `*`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartsBody {
    pub set: Scalar,
    pub module: Scalar,
    pub service: Scalar,
    pub process: Scalar,
    pub id: Scalar,
}

impl<'de> Deserialize<'de> for ExpressionBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyVisitor;

        impl<'de> Visitor<'de> for BodyVisitor {
            type Value = ExpressionBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"set.module.service.process.id\" or an object of these parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<ExpressionBody, E> {
                Ok(ExpressionBody::Joined(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ExpressionBody, A::Error> {
                PartsBody::deserialize(MapAccessDeserializer::new(map))
                    .map(|parts| ExpressionBody::Parts(Box::new(parts)))
            }
        }

        deserializer.deserialize_any(BodyVisitor)
    }
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainBody {
    #[serde(default, deserialize_with = "lenient::int")]
    #[schema(value_type = u32, required)]
    pub business: Option<i64>,
    /// test, experience or formal; all if not given.
    #[serde(default, skip_serializing_if = "Scalar::is_absent")]
    #[schema(value_type = Option<String>)]
    pub env: Scalar,
    #[schema(value_type = ExpressionSchema)]
    pub expression: Option<ExpressionBody>,
}

responses! {
    pub struct Explained {
        /// The joined form.
        pub expression: String,
        /// How many processes it selects.
        pub count: u64,
        pub parts: Vec<PartExplained>,
        /// The first of them, by id.
        pub matches: Vec<ExpressionMatch>,
    }

    pub struct PartExplained {
        /// `set`, `module`, `service`, `process` or `id`.
        pub part: Cow<'static, str>,
        pub text: String,
        /// What it means, in words.
        pub words: String,
        /// The same for programs, and for other languages.
        pub meaning: MeaningView,
        /// How many processes are left after this part and those before it.
        pub count: u64,
    }

    /// What a pattern means: a code, what differs from case to case, and what it is made of.
    pub struct MeaningView {
        /// Of a whole part: `any`, `empty` (the empty name), `exactly`, `begins_with`, `ends_with`, `contains`, `one_of`,
        /// `sequence`; or `all_processes`, `no_process`, `first`, `last`, `all_but_first`, `all_but_last`, `nth`, `range`,
        /// `between`. Of items: `text`, `any_run`, `any_one`, `none_of`, `characters`, `choice`, `nothing`, `letters`,
        /// `numbers`, `padded_numbers` (with or without leading zeros), `atoms`, `more` (items that are not shown).
        pub code: Cow<'static, str>,
        /// As the code needs: `text`, `from`, `to`, `count`, `at`, `start`, `end`.
        #[schema(value_type = BTreeMap<String, String>)]
        pub params: BTreeMap<Cow<'static, str>, String>,
        #[schema(no_recursion)]
        pub items: Vec<MeaningView>,
    }

    #[schema(as = Match)]
    pub struct ExpressionMatch {
        pub id: u32,
        pub expression: String,
    }
}

impl From<&Meaning> for MeaningView {
    fn from(meaning: &Meaning) -> Self {
        let reason = meaning.reason();
        Self {
            code: reason.code,
            params: reason.params,
            items: meaning.items().iter().map(Self::from).collect(),
        }
    }
}
