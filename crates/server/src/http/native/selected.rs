//! Which processes a body selects: by ids and names, or by an expression.

use std::net::IpAddr;

use model::Invalid;
use model::expression::{Expression, ExpressionError, ExpressionPart};
use model::scope::{Scope, Selection, bounded, distinct};
use model::topology::{BkProcessId, ModuleId, ServiceId, SetEnv, SetId};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use utoipa::ToSchema;

use super::ApiError;
use crate::http::json::Scalar;

/// By ids and exact names; what is absent or empty does not restrict.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScopeBody {
    sets: Option<Vec<u32>>,
    modules: Option<Vec<u32>>,
    services: Option<Vec<u32>>,
    /// Aliases.
    names: Option<Vec<String>>,
    /// Ids of processes.
    ids: Option<Vec<u32>>,
}

/// An expression: `"set.module.service.process.id"`, or an object of its parts.
#[derive(Debug)]
pub(crate) enum ExpressionBody {
    Joined(String),
    Parts(Box<PartsBody>),
}

/// The parts of an expression; what is absent or blank is `*`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PartsBody {
    set: Scalar,
    module: Scalar,
    service: Scalar,
    process: Scalar,
    id: Scalar,
}

impl<'de> Deserialize<'de> for ExpressionBody {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyVisitor;

        impl<'de> Visitor<'de> for BodyVisitor {
            type Value = ExpressionBody;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

impl ExpressionBody {
    pub(crate) fn read(&self) -> Result<Expression, ApiError> {
        match self {
            Self::Joined(text) => Expression::parse_dotted(text)
                .map_err(|error| ApiError::expression("expression", &error)),
            Self::Parts(parts) => {
                let texts = parts.texts();
                Expression::parse_parts(texts.each_ref().map(|text| Some(&**text)))
                    .map_err(|error| ApiError::expression(part_field(&error), &error))
            }
        }
    }
}

impl PartsBody {
    fn texts(&self) -> [std::borrow::Cow<'_, str>; 5] {
        [
            &self.set,
            &self.module,
            &self.service,
            &self.process,
            &self.id,
        ]
        .map(Scalar::to_text)
    }
}

fn part_field(error: &ExpressionError) -> String {
    match error.part {
        Some(part) => format!("expression.{}", part_word(part)),
        None => "expression".to_owned(),
    }
}

pub(crate) fn part_word(part: ExpressionPart) -> &'static str {
    match part {
        ExpressionPart::Set => "set",
        ExpressionPart::Module => "module",
        ExpressionPart::Service => "service",
        ExpressionPart::Process => "process",
        ExpressionPart::Id => "id",
    }
}

/// One of the two, with the environment that it is for.
pub(crate) fn selection(
    scope: Option<ScopeBody>,
    expression: Option<&ExpressionBody>,
    env: &Scalar,
) -> Result<Selection, ApiError> {
    let env = parse_env(&env.to_text())?;
    match (scope, expression) {
        (None, Some(expression)) => Ok(Selection::Expression {
            env,
            expression: Box::new(expression.read()?),
        }),
        (Some(scope), None) => Ok(Selection::Scope(scope.read(env)?)),
        (Some(_), Some(_)) => {
            let rule = "stands alone: leave out expression, or scope";
            Err(Invalid::new("scope", rule).into())
        }
        (None, None) => {
            let rule = "is required, or expression in its place";
            Err(Invalid::new("scope", rule).into())
        }
    }
}

impl ScopeBody {
    fn read(self, env: Option<SetEnv>) -> Result<Scope, Invalid> {
        Ok(Scope {
            env,
            sets: ids("scope.sets", self.sets, SetId)?,
            modules: ids("scope.modules", self.modules, ModuleId)?,
            services: ids("scope.services", self.services, ServiceId)?,
            names: bounded("scope.names", self.names)?.map(distinct),
            processes: ids("scope.ids", self.ids, BkProcessId)?,
        })
    }
}

fn ids<T>(
    field: &str,
    list: Option<Vec<u32>>,
    make: impl Fn(u32) -> T,
) -> Result<Option<Vec<T>>, Invalid> {
    let list = bounded(field, list)?.map(distinct);
    Ok(list.map(|list| list.into_iter().map(make).collect()))
}

/// `test`, `experience`, `formal` or their numbers; nothing, 0 and `all` are all of them.
pub(crate) fn parse_env(text: &str) -> Result<Option<SetEnv>, Invalid> {
    match text {
        "" | "0" | "all" => Ok(None),
        "1" | "test" => Ok(Some(SetEnv::Test)),
        "2" | "experience" => Ok(Some(SetEnv::Experience)),
        "3" | "formal" => Ok(Some(SetEnv::Formal)),
        other => Err(Invalid::new(
            "env",
            format!("must be test (1), experience (2), formal (3) or all (0), not {other:?}"),
        )),
    }
}

pub(crate) fn env_word(env: SetEnv) -> &'static str {
    match env {
        SetEnv::Test => "test",
        SetEnv::Experience => "experience",
        SetEnv::Formal => "formal",
    }
}

pub(crate) fn parse_ip(text: &str) -> Result<IpAddr, Invalid> {
    let ip = text.parse::<IpAddr>();
    ip.map(|ip| ip.to_canonical())
        .map_err(|_| Invalid::new("ip", format!("must be an IP address, not {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Body {
        expression: Option<ExpressionBody>,
    }

    fn read(body: &str) -> Result<Expression, ApiError> {
        let body: Body = json::read(body.as_bytes())?;
        body.expression.unwrap().read()
    }

    #[test]
    fn an_expression_is_joined_or_in_parts() {
        let joined = read(r#"{"expression":"zone[1-3].login..*.46"}"#).unwrap();
        let parts = read(r#"{"expression":{"set":"zone[1-3]","module":"login","id":46}}"#);
        assert_eq!(joined, parts.unwrap());
        assert!(read(r#"{"expression":["a"]}"#).is_err());
        assert!(read(r#"{"expression":{"sets":"a"}}"#).is_err());
    }

    #[test]
    fn environments_have_names_and_numbers() {
        assert_eq!(parse_env("").unwrap(), None);
        for env in SetEnv::ALL {
            assert_eq!(parse_env(env_word(env)).unwrap(), Some(env));
            assert_eq!(parse_env(&env.number().to_string()).unwrap(), Some(env));
        }
        assert_eq!(parse_env("4").unwrap_err().field, "env");
    }
}
