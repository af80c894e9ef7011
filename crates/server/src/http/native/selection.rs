//! Checks which processes a body selects: by ids and names, or by an expression.

use std::net::IpAddr;

use api::{ExpressionBody, ScopeBody};
use model::Invalid;
use model::expression::{Expression, ExpressionError, ExpressionPart};
use model::scope::{Scope, Selection, bounded, distinct};
use model::topology::{BkProcessId, ModuleId, ServiceId, SetEnv, SetId};

use super::ApiError;
use crate::http::json::Scalar;

pub(crate) fn parse_expression(body: &ExpressionBody) -> Result<Expression, ApiError> {
    match body {
        ExpressionBody::Joined(text) => Expression::parse_dotted(text)
            .map_err(|error| ApiError::expression("expression", &error)),
        ExpressionBody::Parts(parts) => {
            let parts = [
                &parts.set,
                &parts.module,
                &parts.service,
                &parts.process,
                &parts.id,
            ];
            let texts = parts.map(Scalar::to_text);
            Expression::parse_parts(texts.each_ref().map(|text| Some(&**text)))
                .map_err(|error| ApiError::expression(part_field(&error), &error))
        }
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

/// Either the scope or the expression, with the environment.
pub(crate) fn selection(
    scope: Option<ScopeBody>,
    expression: Option<&ExpressionBody>,
    env: &Scalar,
) -> Result<Selection, ApiError> {
    let env = parse_env(&env.to_text())?;
    match (scope, expression) {
        (None, Some(expression)) => Ok(Selection::Expression {
            env,
            expression: Box::new(parse_expression(expression)?),
        }),
        (Some(scope), None) => Ok(Selection::Scope(parse_scope(scope, env)?)),
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

fn parse_scope(scope: ScopeBody, env: Option<SetEnv>) -> Result<Scope, Invalid> {
    Ok(Scope {
        env,
        sets: ids("scope.sets", scope.sets, SetId)?,
        modules: ids("scope.modules", scope.modules, ModuleId)?,
        services: ids("scope.services", scope.services, ServiceId)?,
        names: bounded("scope.names", scope.names)?.map(distinct),
        processes: ids("scope.ids", scope.ids, BkProcessId)?,
    })
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

pub(crate) fn parse_ip(text: &str) -> Result<IpAddr, Invalid> {
    let ip = text.parse::<IpAddr>();
    ip.map(|ip| ip.to_canonical())
        .map_err(|_| Invalid::new("ip", format!("must be an IP address, not {text:?}")))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::http::json;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Body {
        expression: Option<ExpressionBody>,
    }

    fn read(body: &str) -> Result<Expression, ApiError> {
        let body: Body = json::read(body.as_bytes())?;
        parse_expression(&body.expression.unwrap())
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
            assert_eq!(parse_env(env.as_str()).unwrap(), Some(env));
            assert_eq!(parse_env(&env.number().to_string()).unwrap(), Some(env));
        }
        assert_eq!(parse_env("4").unwrap_err().field, "env");
    }
}
