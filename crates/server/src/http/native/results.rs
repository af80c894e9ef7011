//! Which results of a task or a job: the filters that their lists, groups of failures, hosts and retries share.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::str::FromStr;

use api::{FailureGroupView, FailureGroups};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use control::{AlikeReason, BlockReason, FailureGroup};
use model::{Host, Invalid};

use super::request::QueryParams;

/// How many words a search may have: each is searched in every result.
const MAX_WORDS: usize = 20;

/// Why a result cannot be repeated, by the word of the action.
pub(crate) fn retry_blocked<'a>(
    reason: Option<BlockReason>,
) -> BTreeMap<Cow<'a, str>, Cow<'a, str>> {
    let reason = reason.map(|reason| ("retry".into(), reason.as_str().into()));
    reason.into_iter().collect()
}

/// Every part that is set must match.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResultFilter {
    codes: Option<Vec<i32>>,
    /// Only failures have one.
    reason: Option<AlikeReason>,
    hosts: Option<HashSet<String>>,
    /// In lower case.
    words: Vec<String>,
}

/// What a filter needs to know of a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultBrief<'a> {
    pub(crate) code: i32,
    pub(crate) has_failed: bool,
    /// In the words of the native API.
    pub(crate) reason: &'a str,
    /// `cloud:ip`, or what the caller wrote where that names no host.
    pub(crate) host: &'a str,
    /// The names of the process.
    pub(crate) names: [&'a str; 2],
}

impl ResultFilter {
    /// The parameters `code`, `reason`, `host` and `q`.
    pub(crate) fn of_query(params: &QueryParams) -> Result<Self, Invalid> {
        let words = params.text("q").unwrap_or_default();
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        if words.len() > MAX_WORDS {
            let rule = format!("must be at most {MAX_WORDS} words");
            return Err(Invalid::new("q", rule));
        }
        let hosts = params
            .hosts()?
            .map(|hosts| hosts.iter().map(Host::to_string).collect());
        Ok(Self {
            codes: params.list("code", parse_code)?,
            reason: params.text("reason").map(AlikeReason::new),
            hosts,
            words,
        })
    }

    /// The fields `codes`, `reason` and `hosts` of a retry.
    pub(crate) fn of_body(
        codes: Option<Vec<i32>>,
        reason: Option<&str>,
        hosts: Option<&[String]>,
    ) -> Result<Self, Invalid> {
        let hosts = hosts.map(|hosts| {
            let hosts = hosts.iter().enumerate().map(|(n, text)| {
                let host = Host::from_str(text);
                host.map(|host| host.to_string())
                    .map_err(|invalid| Invalid::new(format!("hosts[{n}]"), invalid.rule))
            });
            hosts.collect::<Result<HashSet<String>, Invalid>>()
        });
        let empty = |field| Invalid::new(field, "must not be empty: leave it out for all");
        if codes.as_ref().is_some_and(Vec::is_empty) {
            return Err(empty("codes"));
        }
        let hosts = hosts.transpose()?;
        if hosts.as_ref().is_some_and(HashSet::is_empty) {
            return Err(empty("hosts"));
        }
        if reason.is_some_and(|reason| reason.trim().is_empty()) {
            return Err(empty("reason"));
        }
        Ok(Self {
            codes,
            reason: reason.map(AlikeReason::new),
            hosts,
            words: Vec::new(),
        })
    }

    /// Whether every result matches.
    pub(crate) fn is_all(&self) -> bool {
        self.codes.is_none()
            && self.reason.is_none()
            && self.hosts.is_none()
            && self.words.is_empty()
    }

    pub(crate) fn matches(&self, result: &ResultBrief<'_>) -> bool {
        let is_said = |word: &String| {
            let texts = [result.reason, result.host, result.names[0], result.names[1]];
            texts.iter().any(|text| text.to_lowercase().contains(word))
        };
        self.codes
            .as_ref()
            .is_none_or(|codes| codes.contains(&result.code))
            && (self.hosts.as_ref()).is_none_or(|hosts| hosts.contains(result.host))
            && (self.reason.as_ref())
                .is_none_or(|reason| result.has_failed && reason.matches(result.reason))
            && self.words.iter().all(is_said)
    }
}

fn parse_code(text: &str) -> Result<i32, Invalid> {
    text.parse()
        .map_err(|_| Invalid::new("code", format!("must be a whole number, not {text:?}")))
}

pub(crate) fn groups(groups: Vec<FailureGroup>) -> FailureGroups {
    let groups = groups.into_iter().map(|group| FailureGroupView {
        code: group.code.0,
        reason: group.reason,
        count: group.count,
        hosts: group.hosts,
    });
    FailureGroups {
        groups: groups.collect(),
    }
}

/// One address a line, each once, as requests take it.
pub(crate) fn host_lines<'a>(hosts: impl IntoIterator<Item = &'a str>) -> Response {
    let (mut text, mut seen) = (String::new(), HashSet::new());
    for host in hosts {
        if seen.insert(host) {
            // A bare IPv6 address would be read as a cloud area and an address.
            let address = host.strip_prefix("0:").filter(|ip| !ip.contains(':'));
            text.push_str(address.unwrap_or(host));
            text.push('\n');
        }
    }
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: ResultBrief<'_> = ResultBrief {
        code: 117,
        has_failed: true,
        reason: "agent on 10.0.0.1 is not connected",
        host: "0:10.0.0.1",
        names: ["web/Nginx", ""],
    };

    #[test]
    fn every_part_of_a_filter_must_match() {
        let matches = |filter: ResultFilter| filter.matches(&RESULT);
        let words = |text: &str| ResultFilter {
            words: text.split(' ').map(str::to_owned).collect(),
            ..ResultFilter::default()
        };
        assert!(matches(ResultFilter::default()));
        assert!(matches(words("nginx agent 10.0")));
        assert!(!matches(words("nginx gone")));
        let body = |codes: &[i32], reason: Option<&str>, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            let hosts = (!hosts.is_empty()).then_some(hosts);
            let codes = (!codes.is_empty()).then(|| codes.to_vec());
            ResultFilter::of_body(codes, reason, hosts.as_deref()).unwrap()
        };
        assert!(matches(body(
            &[117],
            Some("agent on … is not connected"),
            &["10.0.0.1"]
        )));
        assert!(!matches(body(&[118], None, &[])));
        assert!(!matches(body(&[], Some("agent is not connected"), &[])));
        assert!(!matches(body(&[], None, &["10.0.0.2"])));
        let ok = ResultBrief {
            has_failed: false,
            ..RESULT
        };
        assert!(!body(&[], Some(RESULT.reason), &[]).matches(&ok));
    }

    #[test]
    fn an_empty_filter_in_a_body_is_refused() {
        let refused = |codes, reason, hosts: Option<Vec<String>>| {
            let filter = ResultFilter::of_body(codes, reason, hosts.as_deref());
            filter.unwrap_err().field.to_string()
        };
        assert_eq!(refused(Some(vec![]), None, None), "codes");
        assert_eq!(refused(None, Some(" "), None), "reason");
        assert_eq!(refused(None, None, Some(vec![])), "hosts");
        assert_eq!(refused(None, None, Some(vec!["x".into()])), "hosts[0]");
    }
}
