//! Extracts path parameters, query and body of requests.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use model::selector::{LabelSelector, NamePattern};
use model::topology::{BusinessId, namespace_of};
use model::{FullName, Host, Invalid, Namespace};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ApiError;
use crate::http::{HttpState, body, json};

/// The largest page of any list.
pub(crate) const MAX_LIMIT: u64 = 1000;
/// The page of a list when the caller names no limit.
const DEFAULT_LIMIT: u64 = 100;

/// How many patterns of names one request may have: each costs time for every name.
const MAX_PATTERNS: usize = 100;

/// A JSON body. Its content type was checked before any handler, see [`is_json_or_empty`].
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<HttpState> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, ApiError> {
        let body = body::collect(request.into_body(), http).await?;
        Ok(Self(json::read(&body)?))
    }
}

/// Whether the request has no body, or one of type JSON. Browsers send other types across origins without a preflight.
pub(crate) fn is_json_or_empty(request: &Request) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|text| text.split(';').next());
    let is_json = essence.is_some_and(|text| text.trim().eq_ignore_ascii_case("application/json"));
    is_json || request.body().is_end_stream()
}

/// The parameters in the path.
#[derive(Debug)]
pub(crate) struct PathParams<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<HttpState> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, http).await {
            Ok(Path(segments)) => Ok(Self(segments)),
            Err(error) => Err(Invalid::new("path", error.body_text()).into()),
        }
    }
}

/// `/processes/{namespace}/{name}`
pub(crate) fn full_name((namespace, name): &(String, String)) -> Result<FullName, Invalid> {
    FullName::parse(namespace, name)
}

/// The parameters of the query, in order; or an object of a body with the same names.
#[derive(Debug)]
pub(crate) struct QueryParams(Vec<Param>);

#[derive(Debug)]
struct Param {
    name: String,
    value: String,
    /// An item of a JSON list: its commas do not separate values.
    is_item: bool,
}

impl FromRequestParts<HttpState> for QueryParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, ApiError> {
        match Query::<Vec<(String, String)>>::try_from_uri(&parts.uri) {
            Ok(Query(pairs)) => Ok(Self::of_pairs(pairs)),
            Err(error) => Err(Invalid::new("query", error.body_text()).into()),
        }
    }
}

const EMPTY: &str = "must not be empty: leave it out instead";
/// Parameters that have one value, also where they are given as a list.
const SINGLE: [&str; 4] = ["managed", "connected", "restart_needed", "expr"];

impl QueryParams {
    fn of_pairs(pairs: Vec<(String, String)>) -> Self {
        let params = pairs.into_iter().map(|(name, value)| Param {
            name,
            value,
            is_item: false,
        });
        Self(params.collect())
    }

    /// Reads an object of a body whose members are named as parameters. An unknown or empty member is refused: left out, it
    /// would widen what is selected.
    pub(crate) fn of_object(
        object: serde_json::Map<String, Value>,
        known: &[&str],
    ) -> Result<Self, Invalid> {
        let mut params = Vec::new();
        for (name, value) in object {
            if !known.contains(&name.as_str()) {
                let rule = format!("is unknown: must be one of {}", known.join(", "));
                return Err(Invalid::new(name, rule));
            }
            let (items, is_item) = match value {
                Value::Array(items) => (items, true),
                one => (vec![one], false),
            };
            if items.is_empty() {
                return Err(Invalid::new(name, EMPTY));
            }
            if items.len() > 1 && SINGLE.contains(&name.as_str()) {
                return Err(Invalid::new(name, "must be one value"));
            }
            for item in items {
                let value = match item {
                    Value::String(text) if text.split(',').all(|part| part.trim().is_empty()) => {
                        return Err(Invalid::new(name, EMPTY));
                    }
                    Value::String(text) => text,
                    Value::Number(number) => number.to_string(),
                    Value::Bool(flag) => flag.to_string(),
                    Value::Null | Value::Array(_) | Value::Object(_) => {
                        let rule = "must be a text, a number, true or false, or a list of them";
                        return Err(Invalid::new(name, rule));
                    }
                };
                params.push(Param {
                    name: name.clone(),
                    value,
                    is_item,
                });
            }
        }
        Ok(Self(params))
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Param> {
        self.0.iter().filter(move |param| param.name == name)
    }

    /// The value of a parameter; an empty one is none.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let value = self.named(name).next()?.value.trim();
        Some(value).filter(|value| !value.is_empty())
    }

    /// Every value of a parameter that may hold commas and is repeated.
    pub(crate) fn each(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.named(name).map(|param| param.value.trim());
        values.filter(|value| !value.is_empty())
    }

    /// Every value of a parameter that is repeated or separated by commas.
    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.named(name).flat_map(|param| {
            let n_values = if param.is_item { 1 } else { usize::MAX };
            param.value.splitn(n_values, ',')
        });
        values.map(str::trim).filter(|value| !value.is_empty())
    }

    /// All values, each checked; None when the parameter is not given.
    pub(crate) fn list<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<Option<Vec<T>>, Invalid> {
        let values = self
            .values(name)
            .map(|value| parse(value).map_err(|error| Invalid::new(name, error.rule)));
        let values: Vec<T> = values.collect::<Result<_, _>>()?;
        Ok((!values.is_empty()).then_some(values))
    }

    pub(crate) fn namespaces(&self) -> Result<Option<Vec<Namespace>>, Invalid> {
        self.list("namespace", Namespace::parse)
    }

    /// The namespaces of businesses.
    pub(crate) fn businesses(&self) -> Result<Option<Vec<Namespace>>, Invalid> {
        self.list("business", |text| match text.parse() {
            Ok(id) => Ok(namespace_of(BusinessId(id))),
            Err(_) => Err(Invalid::new(
                "business",
                format!("must be the id of a business, not {text:?}"),
            )),
        })
    }

    pub(crate) fn hosts(&self) -> Result<Option<Vec<Host>>, Invalid> {
        self.list("host", Host::from_str)
    }

    /// Patterns of full names.
    pub(crate) fn patterns(&self) -> Result<Option<Vec<NamePattern>>, Invalid> {
        let patterns: Vec<NamePattern> = self
            .each("process")
            .map(NamePattern::parse)
            .collect::<Result<_, _>>()?;
        match patterns.len() {
            0 => Ok(None),
            1..=MAX_PATTERNS => Ok(Some(patterns)),
            _ => {
                let rule = format!("must be given at most {MAX_PATTERNS} times");
                Err(Invalid::new("process", rule))
            }
        }
    }

    /// All tests of labels together.
    pub(crate) fn labels(&self) -> Result<Option<LabelSelector>, Invalid> {
        let mut selectors = self.each("label").map(LabelSelector::parse);
        let Some(first) = selectors.next() else {
            return Ok(None);
        };
        let all = selectors.try_fold(first?, |all, one| Ok(all.and(one?)))?;
        Ok(Some(all))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Invalid> {
        match self.text(name) {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(other) => Err(Invalid::new(
                name,
                format!("must be true or false, not {other:?}"),
            )),
        }
    }

    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Invalid> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            _ => {
                let rule = match *range.end() {
                    u64::MAX => format!("must be a whole number from {}", range.start()),
                    end => format!("must be a whole number from {} to {end}", range.start()),
                };
                Err(Invalid::new(name, rule))
            }
        }
    }

    /// (start, limit)
    pub(crate) fn page(&self) -> Result<(u64, usize), Invalid> {
        let start = self.number("start", 0..=u64::MAX)?.unwrap_or(0);
        Ok((start, self.limit()?))
    }

    pub(crate) fn limit(&self) -> Result<usize, Invalid> {
        let limit = self.number("limit", 1..=MAX_LIMIT)?;
        Ok(limit.unwrap_or(DEFAULT_LIMIT) as usize)
    }

    pub(crate) fn duration(&self, name: &str) -> Result<Option<Duration>, Invalid> {
        let text = self.text(name);
        text.map(|text| parse_duration(name, text)).transpose()
    }
}

/// `500ms`, `30s`, `2m`, `24h`, `7d`; a bare number is seconds.
pub(crate) fn parse_duration(field: &str, text: &str) -> Result<Duration, Invalid> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let millis: Option<u64> = match &text[digits.len()..] {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let millis = millis.and_then(|unit| digits.trim().parse::<u64>().ok()?.checked_mul(unit));
    millis.map(Duration::from_millis).ok_or_else(|| {
        Invalid::new(
            field,
            format!("must be a time such as 500ms, 30s, 2m, 24h or 7d, not {text:?}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> QueryParams {
        let uri = format!("/?{query}").parse().unwrap();
        QueryParams::of_pairs(Query::try_from_uri(&uri).unwrap().0)
    }

    #[test]
    fn durations_have_a_unit() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("2m", 120_000),
            ("45", 45_000),
            ("24h", 86_400_000),
        ] {
            assert_eq!(
                parse_duration("wait", text).unwrap(),
                Duration::from_millis(millis)
            );
        }
        for bad in [
            "",
            "s",
            "-1s",
            "1.5s",
            "3x",
            "99999999999999999999d",
            "18446744073709551615d",
        ] {
            assert_eq!(
                parse_duration("wait", bad).unwrap_err().field,
                "wait",
                "{bad}"
            );
        }
    }

    #[test]
    fn lists_are_repeated_or_separated_by_commas() {
        let names: Vec<String> = params("namespace=a,b&namespace=c&namespace=")
            .namespaces()
            .unwrap()
            .unwrap()
            .into_iter()
            .map(String::from)
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(params("").namespaces().unwrap(), None);
        assert_eq!(params("host=x").hosts().unwrap_err().field, "host");
    }

    #[test]
    fn each_bad_parameter_is_named() {
        let error = |query: &str| params(query).page().unwrap_err().to_string();
        assert_eq!(
            error("limit=0"),
            "limit: must be a whole number from 1 to 1000"
        );
        assert_eq!(
            error("limit=1001"),
            "limit: must be a whole number from 1 to 1000"
        );
        assert_eq!(error("start=-1"), "start: must be a whole number from 0");
        assert_eq!(
            params("managed=maybe").flag("managed").unwrap_err().field,
            "managed"
        );
        assert_eq!(params("start=5&limit=7").page().unwrap(), (5, 7));
    }
}
