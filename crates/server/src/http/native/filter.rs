//! The filter of processes: the same parameters for lists, facets and searches, and as an object in bodies that act.

use std::str::FromStr;

use api::{FacetList, FacetValueView, FacetView};
use fleet::{Facet, Filter};
use model::topology::{BusinessId, SetEnv};
use model::{Flag, Host, Invalid, ProcessName, ProcessState};
use utoipa::IntoParams;

use super::request::QueryParams;

/// How many words one search may have: each costs time for every name and host.
const MAX_WORDS: usize = 10;
/// How many values of a facet are shown if the caller does not say, and at most.
const DEFAULT_TOP: u64 = 50;
const MAX_TOP: u64 = 1000;

/// Every parameter that filters processes.
pub(crate) const PROCESS_FILTER: [&str; 15] = [
    "namespace",
    "name",
    "host",
    "process",
    "label",
    "state",
    "wanted",
    "managed",
    "connected",
    "restart_needed",
    "business",
    "env",
    "cloud",
    "version",
    "q",
];

/// For the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "read by the OpenAPI document only")]
pub(crate) struct ProcessFilterParams {
    /// One or more, repeated or separated by commas, as all lists here
    namespace: Option<String>,
    /// Names of processes, in any namespace
    name: Option<String>,
    /// One or more of CLOUD:IP or IP
    host: Option<String>,
    /// NAMESPACE/NAME, each with or without the wildcards of expressions: app/*, [web,db]/api-?; repeated for several, of which
    /// one must match
    process: Option<String>,
    /// Tests of labels that must all hold, separated by commas: tier=front, tier!=front, tier in (a,b), tier notin (a,b), tier
    /// (it is there), !tier (it is not); \ before a character that stands for itself. A label that a process does not have is
    /// its host's
    label: Option<String>,
    /// One or more of running, ready, starting, unhealthy, backoff, failed, stopped, completed, scheduled and unknown
    state: Option<String>,
    /// What is wanted: running or stopped
    wanted: Option<String>,
    /// Whether the agent keeps it as wanted
    managed: Option<bool>,
    /// Whether its host's agent is connected
    connected: Option<bool>,
    /// Whether its run began with an older spec, whose changes take effect only at the next start
    restart_needed: Option<bool>,
    /// Ids of businesses
    business: Option<String>,
    /// Environments of businesses: test, experience, formal
    env: Option<String>,
    /// Ids of cloud areas
    cloud: Option<String>,
    /// Versions of agents
    version: Option<String>,
    /// Words, separated by blanks; each must be part of NAMESPACE/NAME, the host's address or name, or the value of a label.
    /// Upper and lower case are the same
    q: Option<String>,
}

/// Reads the filter of processes.
pub(crate) fn process_filter(params: &QueryParams) -> Result<Filter, Invalid> {
    Ok(Filter {
        visible: None,
        namespaces: params.namespaces()?,
        names: params.list("name", ProcessName::parse_registered)?,
        hosts: params.list("host", Host::from_str)?,
        states: params.list("state", ProcessState::parse)?,
        wanted: params.list("wanted", parse_wanted)?,
        managed: params.flag("managed")?,
        connected: params.flag("connected")?,
        restart_needed: params.flag("restart_needed")?,
        processes: params.patterns()?,
        labels: params.labels()?,
        businesses: params.list("business", |text| parse_id(text).map(BusinessId))?,
        envs: params.list("env", parse_env)?,
        clouds: params.list("cloud", parse_id)?,
        versions: params.list("version", |text| Ok(text.to_owned()))?,
        words: words(params, "q")?,
    })
}

/// The words of a search.
pub(crate) fn words(params: &QueryParams, name: &str) -> Result<Vec<String>, Invalid> {
    let words = params.each(name).flat_map(str::split_whitespace);
    let words: Vec<String> = words.map(str::to_owned).collect();
    match words.len() > MAX_WORDS {
        true => {
            let rule = format!("must be at most {MAX_WORDS} words");
            Err(Invalid::new(name, rule))
        }
        false => Ok(words),
    }
}

fn parse_wanted(text: &str) -> Result<Flag, Invalid> {
    let known = [Flag::Running, Flag::Stopped];
    let found = known.into_iter().find(|flag| flag.as_str() == text);
    let rule = || format!("must be running or stopped, not {text:?}");
    found.ok_or_else(|| Invalid::new("wanted", rule()))
}

fn parse_env(text: &str) -> Result<SetEnv, Invalid> {
    let found = SetEnv::ALL.into_iter().find(|env| env.as_str() == text);
    let rule = || format!("must be test, experience or formal, not {text:?}");
    found.ok_or_else(|| Invalid::new("env", rule()))
}

pub(crate) fn parse_id(text: &str) -> Result<u32, Invalid> {
    let rule = || {
        let max = u32::MAX;
        format!("must be a whole number from 0 to {max}, not {text:?}")
    };
    text.parse().map_err(|_| Invalid::new("id", rule()))
}

/// The keys of `by`, of which there must be at least one, each once.
pub(crate) fn facet_keys<K: Copy + PartialEq>(
    params: &QueryParams,
    all: &[K],
    word: impl Fn(K) -> &'static str,
) -> Result<Vec<K>, Invalid> {
    let known = || {
        all.iter()
            .map(|key| word(*key))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let keys = params.list("by", |text| {
        let found = all.iter().find(|key| word(**key) == text);
        let rule = || format!("must be some of {}, not {text:?}", known());
        found.copied().ok_or_else(|| Invalid::new("by", rule()))
    })?;
    let mut distinct: Vec<K> = Vec::new();
    for key in keys.unwrap_or_default() {
        if !distinct.contains(&key) {
            distinct.push(key);
        }
    }
    match distinct.is_empty() {
        true => {
            let rule = format!("is required: some of {}", known());
            Err(Invalid::new("by", rule))
        }
        false => Ok(distinct),
    }
}

/// How many values of each facet to show.
pub(crate) fn top(params: &QueryParams) -> Result<usize, Invalid> {
    let top = params.number("top", 1..=MAX_TOP)?;
    Ok(top.unwrap_or(DEFAULT_TOP) as usize)
}

pub(crate) fn facet_list<'a>(
    (count, facets): (u64, Vec<Facet>),
    keys: impl Iterator<Item = &'a str>,
) -> FacetList {
    let facets = keys.zip(facets).map(|(by, facet)| FacetView {
        by: by.to_owned(),
        values: facet
            .values
            .into_iter()
            .map(|value| FacetValueView {
                value: value.value,
                name: value.name,
                count: value.count,
            })
            .collect(),
        more: facet.more,
    });
    FacetList {
        count,
        facets: facets.collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(filter: Value) -> Result<Filter, String> {
        let Value::Object(object) = filter else {
            panic!("no object");
        };
        let params = QueryParams::of_object(object, &PROCESS_FILTER);
        let filter = params.and_then(|params| process_filter(&params));
        filter.map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn an_object_means_what_the_parameters_mean() {
        let filter = read(json!({
            "namespace": ["web", "a,b"], "state": "running,failed", "managed": true, "connected": "false",
            "business": 2, "cloud": [0, "7"], "env": ["formal"], "q": "nginx 10.0", "wanted": "stopped",
            "process": "web/*", "label": "tier=front,!old", "version": "1.2", "host": "10.0.0.1", "name": "x",
            "restart_needed": false,
        }));
        let filter = filter.unwrap();
        let namespaces = filter.namespaces.unwrap();
        assert_eq!(namespaces[1].as_str(), "a,b", "an item of a list is whole");
        assert_eq!(
            filter.states.unwrap(),
            [ProcessState::Running, ProcessState::Failed]
        );
        assert_eq!(
            (filter.managed, filter.connected),
            (Some(true), Some(false))
        );
        assert_eq!(filter.businesses.unwrap(), [BusinessId(2)]);
        assert_eq!(filter.clouds.unwrap(), [0, 7]);
        assert_eq!(filter.envs.unwrap(), [SetEnv::Formal]);
        assert_eq!(filter.words, ["nginx", "10.0"]);
        assert_eq!(filter.wanted.unwrap(), [Flag::Stopped]);
        assert_eq!(read(json!({})).unwrap(), Filter::default());
    }

    #[test]
    fn what_would_widen_a_filter_is_refused() {
        for (filter, field) in [
            (json!({"namespaces": "web"}), "namespaces"),
            (json!({"start": 0}), "start"),
            (json!({"namespace": []}), "namespace"),
            (json!({"namespace": ""}), "namespace"),
            (json!({"namespace": ["web", " "]}), "namespace"),
            (json!({"namespace": " , "}), "namespace"),
            (json!({"managed": [true, false]}), "managed"),
            (json!({"namespace": null}), "namespace"),
            (json!({"namespace": {"a": 1}}), "namespace"),
            (json!({"namespace": [["a"]]}), "namespace"),
            (json!({"wanted": "up"}), "wanted"),
            (json!({"env": "all"}), "env"),
            (json!({"business": "two"}), "business"),
            (json!({"managed": "maybe"}), "managed"),
            (json!({"q": "a b c d e f g h i j k"}), "q"),
        ] {
            let refused = read(filter.clone()).unwrap_err();
            assert!(
                refused.starts_with(&format!("{field}: ")),
                "{filter}: {refused}"
            );
        }
    }
}
