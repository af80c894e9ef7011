//! The table of endpoints: method and path to verb and dialect. The OpenAPI document is made from it, too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::Method;

use super::refusal::Refusal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Register,
    Update,
    Unregister,
    Operate,
    OperateMulti,
    Result,
    Status,
    Sync,
    SetGroups,
    Groups,
    TaskState,
    UpgradeToAgentId,
    AgentStatus,
    AgentInfo,
    ListAgentState,
    ListAgentInfo,
}

/// How keys begin, and whether hosts carry a supplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// `cloud:supplier:ip`
    V1,
    /// `cloud:ip`, or the agent id
    V2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Esb,
    Pms,
    Gse2,
}

impl Dialect {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Esb => "esb",
            Self::Pms => "pms",
            Self::Gse2 => "gse2",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub dialect: Dialect,
    pub method: Method,
    /// As documented; lookups ignore the trailing slash.
    pub path: String,
    /// The ESB name.
    pub name: &'static str,
    pub verb: Verb,
}

impl Endpoint {
    pub(crate) fn keys(&self) -> Keys {
        match self.dialect == Dialect::Gse2
            || self.name.ends_with("_v2")
            || self.verb == Verb::OperateMulti
        {
            true => Keys::V2,
            false => Keys::V1,
        }
    }
}

/// Both prefixes mean the same.
const ESB_PREFIXES: [&str; 2] = ["/api/c/compapi/v2/gse/", "/v2/gse/"];
const PMS_PREFIX: &str = "/procapi/";
const GSE2_PREFIX: &str = "/api/v2/";
/// An API gateway prefixes a GSE 2.0 path with this, the stage, and a slash.
const GATEWAY_PREFIX: &str = "/api/bk-gse/";

const NAMES: [(&str, Verb); 19] = [
    ("register_proc_info", Verb::Register),
    ("update_proc_info", Verb::Update),
    ("unregister_proc_info", Verb::Unregister),
    ("operate_proc", Verb::Operate),
    ("operate_proc_v2", Verb::Operate),
    ("operate_proc_multi", Verb::OperateMulti),
    ("get_proc_operate_result", Verb::Result),
    ("get_proc_operate_result_v2", Verb::Result),
    ("get_proc_status", Verb::Status),
    ("get_proc_status_v2", Verb::Status),
    ("sync_proc_status", Verb::Sync),
    ("set_process_group_info", Verb::SetGroups),
    ("get_process_group_info", Verb::Groups),
    ("get_task_state", Verb::TaskState),
    ("upgrade_to_agent_id", Verb::UpgradeToAgentId),
    ("get_agent_status", Verb::AgentStatus),
    ("get_agent_info", Verb::AgentInfo),
    ("list_agent_state", Verb::ListAgentState),
    ("list_agent_info", Verb::ListAgentInfo),
];

const PMS: [(Method, &str, &str); 13] = [
    (Method::POST, "v1/proc/procinfo", "register_proc_info"),
    (Method::PUT, "v1/proc/procinfo", "update_proc_info"),
    (Method::DELETE, "v1/proc/procinfo", "unregister_proc_info"),
    (Method::POST, "v1/proc/operate", "operate_proc"),
    (Method::GET, "v1/proc/operate", "get_proc_operate_result"),
    (Method::GET, "v1/proc/status", "get_proc_status"),
    (Method::GET, "v1/proc/syncstatus", "sync_proc_status"),
    (Method::POST, "v1/proc/groupinfo", "set_process_group_info"),
    (Method::GET, "v1/proc/groupinfo", "get_process_group_info"),
    (Method::POST, "v2/proc/operate", "operate_proc_v2"),
    (Method::POST, "v2/proc/multioperate", "operate_proc_multi"),
    (Method::GET, "v2/proc/operate", "get_proc_operate_result_v2"),
    (Method::GET, "v2/proc/status", "get_proc_status_v2"),
];

const GSE2: [&str; 10] = [
    "proc/operate_proc_multi",
    "proc/operate_proc_v2",
    "proc/get_proc_operate_result_v2",
    "proc/get_proc_status_v2",
    "proc/sync_proc_status",
    "proc/update_proc_info",
    "proc/upgrade_to_agent_id",
    "task/get_task_state",
    "cluster/list_agent_state",
    "cluster/list_agent_info",
];

/// By path without the trailing slash; several where methods differ.
static TABLE: LazyLock<BTreeMap<String, Vec<Endpoint>>> = LazyLock::new(|| {
    let esb = ESB_PREFIXES.into_iter().flat_map(|prefix| {
        NAMES.into_iter().map(move |(name, verb)| Endpoint {
            dialect: Dialect::Esb,
            method: Method::POST,
            path: format!("{prefix}{name}/"),
            name,
            verb,
        })
    });
    let pms = PMS.into_iter().map(|(method, path, name)| Endpoint {
        dialect: Dialect::Pms,
        method,
        path: format!("{PMS_PREFIX}{path}"),
        name,
        verb: verb_of(name),
    });
    let gse2 = GSE2.into_iter().map(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        Endpoint {
            dialect: Dialect::Gse2,
            method: Method::POST,
            path: format!("{GSE2_PREFIX}{path}"),
            name,
            verb: verb_of(name),
        }
    });
    let mut table: BTreeMap<String, Vec<Endpoint>> = BTreeMap::new();
    for endpoint in esb.chain(pms).chain(gse2) {
        let key = endpoint.path.trim_end_matches('/').to_owned();
        table.entry(key).or_default().push(endpoint);
    }
    table
});

fn verb_of(name: &str) -> Verb {
    let found = NAMES.into_iter().find(|(other, _)| *other == name);
    found.expect("every dialect's endpoints have an ESB name").1
}

pub(crate) fn all() -> impl Iterator<Item = &'static Endpoint> {
    TABLE.values().flatten()
}

pub(crate) fn find(method: &Method, path: &str) -> Result<&'static Endpoint, Refusal> {
    let path = without_gateway(path);
    let Some(endpoints) = TABLE.get(path.trim_end_matches('/')) else {
        return Err(Refusal::no_such_endpoint(path));
    };
    let found = endpoints.iter().find(|endpoint| endpoint.method == *method);
    found.ok_or_else(|| {
        let methods: Vec<&str> = endpoints.iter().map(|e| e.method.as_str()).collect();
        Refusal::wrong_method(method, path, &methods.join(", "))
    })
}

/// Whether the response to this path needs the envelope.
pub(crate) fn is_dialect(path: &str) -> bool {
    prefixes().any(|(prefix, _)| path.starts_with(prefix) || path == prefix.trim_end_matches('/'))
}

pub(crate) fn dialect_of(path: &str) -> &'static str {
    let found = prefixes().find(|(prefix, _)| path.starts_with(prefix));
    found.map_or("gse", |(_, dialect)| dialect.as_str())
}

fn prefixes() -> impl Iterator<Item = (&'static str, Dialect)> {
    let esb = ESB_PREFIXES
        .into_iter()
        .map(|prefix| (prefix, Dialect::Esb));
    esb.chain([
        (PMS_PREFIX, Dialect::Pms),
        (GSE2_PREFIX, Dialect::Gse2),
        (GATEWAY_PREFIX, Dialect::Gse2),
    ])
}

fn without_gateway(path: &str) -> &str {
    path.strip_prefix(GATEWAY_PREFIX)
        .and_then(|rest| rest.find('/').map(|stage_end| &rest[stage_end..]))
        .filter(|rest| rest.starts_with(GSE2_PREFIX))
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_found_with_and_without_a_trailing_slash() {
        assert_eq!(all().count(), 2 * NAMES.len() + PMS.len() + GSE2.len());
        for endpoint in all() {
            let bare = endpoint.path.trim_end_matches('/');
            for path in [bare.to_owned(), format!("{bare}/")] {
                assert_eq!(find(&endpoint.method, &path).unwrap().name, endpoint.name);
                assert!(is_dialect(&path));
            }
        }
    }

    #[test]
    fn a_gateway_in_front_changes_nothing() {
        let found = find(
            &Method::POST,
            "/api/bk-gse/prod/api/v2/proc/operate_proc_v2/",
        )
        .unwrap();
        assert_eq!((found.name, found.keys()), ("operate_proc_v2", Keys::V2));
    }

    #[test]
    fn keys_follow_the_dialect() {
        let keys = |method, path| find(&method, path).unwrap().keys();
        assert_eq!(keys(Method::PUT, "/procapi/v1/proc/procinfo"), Keys::V1);
        assert_eq!(keys(Method::POST, "/v2/gse/update_proc_info"), Keys::V1);
        assert_eq!(
            keys(Method::POST, "/api/v2/proc/update_proc_info"),
            Keys::V2
        );
        assert_eq!(keys(Method::POST, "/v2/gse/operate_proc_multi"), Keys::V2);
        assert_eq!(keys(Method::GET, "/procapi/v2/proc/status"), Keys::V2);
    }

    #[test]
    fn a_wrong_method_says_which_are_right() {
        let refusal = find(&Method::PATCH, "/procapi/v1/proc/procinfo").unwrap_err();
        assert_eq!(
            refusal.message,
            "PATCH /procapi/v1/proc/procinfo: use POST, PUT, DELETE"
        );
        assert!(find(&Method::POST, "/v2/gse/nothing/").is_err());
        assert!(is_dialect("/v2/gse/nothing/") && is_dialect("/procapi"));
        assert!(!is_dialect("/api/v1/processes") && !is_dialect("/"));
    }
}
