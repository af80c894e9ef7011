//! expression_match: the candidates that an expression matches, and its shell patterns.

use std::collections::HashSet;

use model::Invalid;
use model::expression::Pattern;
use model::scope::bounded;
use serde::Serialize;

use super::refusal::Refusal;
use super::request::RawRequest;
use super::success;
use crate::http::json::Scalar;

/// How many shell patterns one response may have.
const MAX_STYLES: usize = 10_000;

#[derive(Serialize)]
struct Matched<'a> {
    exps_with_unix_shell_style: Vec<String>,
    /// In the order of the candidates, each once.
    filter_results: Vec<&'a str>,
}

/// The expression matches a candidate as a whole: a dot is a plain character.
pub(crate) fn expression_match(request: RawRequest) -> Result<Vec<u8>, Refusal> {
    if request.expression == Scalar::Absent {
        return Err(Invalid::required("expression").into());
    }
    let candidates = request.candidates;
    let candidates = candidates.ok_or_else(|| Invalid::required("candidates"))?;
    let candidates = bounded("candidates", Some(candidates))?.unwrap_or_default();
    let pattern = Pattern::parse(&request.expression.to_text())?;
    let styles = pattern.to_shell_patterns(MAX_STYLES)?;
    let mut matcher = pattern.matcher();
    let mut seen = HashSet::new();
    let results = candidates
        .iter()
        .map(String::as_str)
        .filter(|name| matcher.matches(name))
        .filter(|name| seen.insert(*name));
    Ok(success(Matched {
        exps_with_unix_shell_style: styles,
        filter_results: results.collect(),
    }))
}
