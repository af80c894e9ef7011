//! The table of endpoints: method and path to verb. The OpenAPI document is made from it, too.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::Method;

use super::refusal::Refusal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    ProcessStatus,
    FlushProcess,
    SyncProcessStatus,
    CreateJob,
    JobStatus,
    ConfigTemplateList,
    AccessOverview,
    ExpressionMatch,
}

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub method: Method,
    /// As documented; lookups ignore the trailing slash.
    pub path: String,
    pub name: &'static str,
    pub verb: Verb,
}

/// Both prefixes mean the same.
const PREFIXES: [&str; 2] = ["/api/c/compapi/v2/gsekit/", "/v2/gsekit/"];

const VERBS: [(Method, &str, Verb); 8] = [
    (
        Method::POST,
        "api/process/process_status",
        Verb::ProcessStatus,
    ),
    (
        Method::POST,
        "api/process/flush_process",
        Verb::FlushProcess,
    ),
    (
        Method::POST,
        "api/process/sync_process_status",
        Verb::SyncProcessStatus,
    ),
    (Method::POST, "api/job/create_job", Verb::CreateJob),
    (Method::POST, "api/job/job_status", Verb::JobStatus),
    (
        Method::GET,
        "api/config_template/config_template_list",
        Verb::ConfigTemplateList,
    ),
    (
        Method::GET,
        "api/meta/access_overview",
        Verb::AccessOverview,
    ),
    (
        Method::POST,
        "api/meta/expression_match",
        Verb::ExpressionMatch,
    ),
];

/// By path without the trailing slash.
static TABLE: LazyLock<BTreeMap<String, Endpoint>> = LazyLock::new(|| {
    let all = PREFIXES.into_iter().flat_map(|prefix| {
        VERBS.into_iter().map(move |(method, path, verb)| Endpoint {
            method,
            path: format!("{prefix}{path}/"),
            name: path.rsplit('/').next().unwrap_or(path),
            verb,
        })
    });
    all.map(|endpoint| (endpoint.path.trim_end_matches('/').to_owned(), endpoint))
        .collect()
});

pub(crate) fn all() -> impl Iterator<Item = &'static Endpoint> {
    TABLE.values()
}

pub(crate) fn find(method: &Method, path: &str) -> Result<&'static Endpoint, Refusal> {
    let path = single_slashes(path);
    let Some(endpoint) = TABLE.get(path.trim_end_matches('/')) else {
        return Err(Refusal::no_such_endpoint(&path));
    };
    match endpoint.method == *method {
        true => Ok(endpoint),
        false => Err(Refusal::wrong_method(
            method,
            &path,
            endpoint.method.as_str(),
        )),
    }
}

/// Whether the response to this path needs the envelope.
pub(crate) fn is_dialect(path: &str) -> bool {
    let path = single_slashes(path);
    PREFIXES
        .into_iter()
        .any(|prefix| path.starts_with(prefix) || *path == *prefix.trim_end_matches('/'))
}

/// Merges slashes: the document's path begins with two, and behind a gateway they are in the middle.
fn single_slashes(path: &str) -> Cow<'_, str> {
    if !path.contains("//") {
        return path.into();
    }
    let mut single = String::with_capacity(path.len());
    for character in path.chars() {
        if character != '/' || !single.ends_with('/') {
            single.push(character);
        }
    }
    single.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_found_with_and_without_slashes() {
        assert_eq!(all().count(), PREFIXES.len() * VERBS.len());
        for endpoint in all() {
            let bare = endpoint.path.trim_end_matches('/');
            for path in [
                bare.to_owned(),
                format!("{bare}/"),
                format!("/{bare}"),
                bare.replace("/v2/", "//v2/"),
            ] {
                assert_eq!(find(&endpoint.method, &path).unwrap().name, endpoint.name);
                assert!(is_dialect(&path), "{path}");
            }
        }
    }

    #[test]
    fn a_wrong_method_says_which_is_right() {
        let refusal = find(&Method::GET, "//v2/gsekit/api/job/create_job/").unwrap_err();
        assert_eq!(
            refusal.message,
            "GET /v2/gsekit/api/job/create_job/: use POST"
        );
        assert!(find(&Method::POST, "/v2/gsekit/api/nothing/").is_err());
        assert!(!is_dialect("/v2/gse/x") && !is_dialect("/v2/gsekits/x"));
    }
}
