//! Selects processes of a business: by ids and exact names, or by an expression.
//!
//! An empty or absent list restricts nothing; conditions are ANDed; an unknown id matches nothing.

use std::net::IpAddr;

use serde::Deserialize;

use crate::expression::{Expression, ExpressionError, ExpressionText, text_or_number};
use crate::topology::{BkProcessId, BusinessId, ModuleId, ServiceId, SetEnv, SetId};
use crate::{Invalid, ProcessState, lenient};

/// How many items one list of a scope may have.
const MAX_LIST: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    Scope(Scope),
    Expression {
        /// None means all environments.
        env: Option<SetEnv>,
        expression: Box<Expression>,
    },
}

/// A field that is None restricts nothing; an empty list matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    pub env: Option<SetEnv>,
    pub sets: Option<Vec<SetId>>,
    pub modules: Option<Vec<ModuleId>>,
    pub services: Option<Vec<ServiceId>>,
    pub names: Option<Vec<String>>,
    pub processes: Option<Vec<BkProcessId>>,
}

/// Why a scope is refused. The two cases have different API codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeError {
    Invalid(Invalid),
    Expression(ExpressionError),
}

impl std::fmt::Display for ScopeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Expression(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScopeError {}

impl From<Invalid> for ScopeError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<ExpressionError> for ScopeError {
    fn from(error: ExpressionError) -> Self {
        Self::Expression(error)
    }
}

/// One page of the processes of a business, filtered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewFilter {
    pub business: BusinessId,
    pub selection: Selection,
    pub clouds: Option<Vec<u32>>,
    pub statuses: Option<Vec<ProcessStatus>>,
    pub states: Option<StateFilter>,
    /// Whether an instance runs with an older spec until it is restarted.
    pub restart_needed: Option<bool>,
    pub is_auto: Option<Vec<bool>>,
    pub ips: Option<Vec<IpAddr>>,
    /// Whether the agent of its host is connected.
    pub connected: Option<bool>,
    /// Each must be part of the inner IP or of the cloud area's name.
    pub searches: Vec<String>,
    /// Each must be part of one of those, or of the name of the set, module, service or process. Upper and lower case are the
    /// same.
    pub words: Vec<String>,
    pub ordering: Vec<SortOrder>,
}

impl ViewFilter {
    /// Everything that a scope or an expression selects.
    pub fn new(business: BusinessId, selection: Selection) -> Self {
        Self {
            business,
            selection,
            clouds: None,
            statuses: None,
            states: None,
            restart_needed: None,
            is_auto: None,
            ips: None,
            connected: None,
            searches: Vec::new(),
            words: Vec::new(),
            ordering: Vec::new(),
        }
    }
}

/// Processes with an instance in one of these states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateFilter {
    pub states: Vec<ProcessState>,
    /// Also those that are not registered.
    pub unregistered: bool,
}

/// The status numbers of the GSEKit API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProcessStatus {
    Unregistered,
    Running,
    Terminated,
}

impl ProcessStatus {
    pub fn number(self) -> u8 {
        match self {
            Self::Unregistered => 0,
            Self::Running => 1,
            Self::Terminated => 2,
        }
    }

    /// The word of the native API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unregistered => "unregistered",
            Self::Running => "running",
            Self::Terminated => "stopped",
        }
    }

    /// None for an unknown number, which matches nothing.
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Unregistered),
            1 => Some(Self::Running),
            2 => Some(Self::Terminated),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortKey {
    Set,
    Module,
    ProcessName,
    ProcessId,
    InnerIp,
    /// What does not run first.
    Status,
    /// Its instance that needs attention most, see [`ProcessState::rank`]; those without an instance last.
    State,
    /// When its youngest run began.
    Started,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortOrder {
    pub key: SortKey,
    pub descending: bool,
}

impl SortOrder {
    /// Parses `bk_set_id,-bk_process_name`.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, Invalid> {
        let items = text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty());
        let all: Vec<Self> = items.map(Self::parse).collect::<Result<_, _>>()?;
        Ok(Self::distinct(all))
    }

    /// Drops repeated keys, which have no effect but cost memory when sorting.
    pub fn distinct(all: Vec<Self>) -> Vec<Self> {
        let mut distinct: Vec<Self> = Vec::new();
        for order in all {
            if !distinct.iter().any(|other| other.key == order.key) {
                distinct.push(order);
            }
        }
        distinct
    }

    fn parse(text: &str) -> Result<Self, Invalid> {
        let (name, descending) = match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let key = match name {
            "bk_set_id" => SortKey::Set,
            "bk_module_id" => SortKey::Module,
            "bk_process_name" => SortKey::ProcessName,
            "bk_process_id" => SortKey::ProcessId,
            "bk_host_innerip" => SortKey::InnerIp,
            _ => {
                return Err(Invalid::new(
                    "ordering",
                    format!(
                        "must be of bk_set_id, bk_module_id, bk_process_name, bk_process_id and bk_host_innerip, \
                         not {name:?}"
                    ),
                ));
            }
        };
        Ok(Self { key, descending })
    }
}

/// `scope` of a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawScope {
    #[serde(deserialize_with = "lenient::int")]
    bk_set_env: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    bk_set_ids: Option<Vec<i64>>,
    #[serde(deserialize_with = "lenient::ints")]
    bk_module_ids: Option<Vec<i64>>,
    #[serde(deserialize_with = "lenient::ints")]
    bk_service_ids: Option<Vec<i64>>,
    #[serde(deserialize_with = "lenient::texts")]
    bk_process_names: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient::ints")]
    bk_process_ids: Option<Vec<i64>>,
}

/// `expression_scope` of a request: [`ExpressionText`] with its environment. Not flattened, so that errors name the field.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RawExpressionScope {
    #[serde(deserialize_with = "lenient::int")]
    bk_set_env: Option<i64>,
    #[serde(deserialize_with = "text_or_number")]
    bk_set_name: Option<String>,
    #[serde(deserialize_with = "text_or_number")]
    bk_module_name: Option<String>,
    #[serde(deserialize_with = "text_or_number")]
    service_instance_name: Option<String>,
    #[serde(deserialize_with = "text_or_number")]
    bk_process_name: Option<String>,
    #[serde(deserialize_with = "text_or_number")]
    bk_process_id: Option<String>,
}

impl Selection {
    /// `scope` wins if both are present, even if it is empty.
    pub fn read(
        scope: Option<RawScope>,
        expression: Option<RawExpressionScope>,
    ) -> Result<Self, ScopeError> {
        match (scope, expression) {
            (Some(scope), _) => Ok(Self::Scope(Scope::read(scope)?)),
            (None, Some(raw)) => {
                let env = raw
                    .bk_set_env
                    .ok_or_else(|| Invalid::required("expression_scope.bk_set_env"))?;
                Ok(Self::Expression {
                    env: env_of(env).map_err(|invalid| invalid.within("expression_scope"))?,
                    expression: Box::new(Expression::try_from(ExpressionText {
                        bk_set_name: raw.bk_set_name,
                        bk_module_name: raw.bk_module_name,
                        service_instance_name: raw.service_instance_name,
                        bk_process_name: raw.bk_process_name,
                        bk_process_id: raw.bk_process_id,
                    })?),
                })
            }
            (None, None) => {
                Err(Invalid::new("scope", "is required, or expression_scope in its place").into())
            }
        }
    }
}

impl Scope {
    fn read(raw: RawScope) -> Result<Self, Invalid> {
        let env = raw.bk_set_env.unwrap_or(3);
        Ok(Self {
            env: env_of(env).map_err(|invalid| invalid.within("scope"))?,
            sets: ids("scope.bk_set_ids", raw.bk_set_ids, SetId)?,
            modules: ids("scope.bk_module_ids", raw.bk_module_ids, ModuleId)?,
            services: ids("scope.bk_service_ids", raw.bk_service_ids, ServiceId)?,
            names: bounded("scope.bk_process_names", raw.bk_process_names)?.map(distinct),
            processes: ids("scope.bk_process_ids", raw.bk_process_ids, BkProcessId)?,
        })
    }
}

/// 0 means all environments.
fn env_of(number: i64) -> Result<Option<SetEnv>, Invalid> {
    match number {
        0 => Ok(None),
        number => u8::try_from(number)
            .ok()
            .and_then(|number| SetEnv::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| {
                Invalid::new(
                    "bk_set_env",
                    format!(
                        "must be 1 (test), 2 (experience), 3 (formal) or 0 (all), not {number}"
                    ),
                )
            }),
    }
}

/// Limits the length of a list; an empty list becomes None.
pub fn bounded<T>(field: &str, list: Option<Vec<T>>) -> Result<Option<Vec<T>>, Invalid> {
    match list {
        Some(list) if list.len() > MAX_LIST => Err(Invalid::new(
            field,
            format!("must be at most {MAX_LIST} items"),
        )),
        list => Ok(list.filter(|list| !list.is_empty())),
    }
}

/// Drops numbers that cannot be ids: they match nothing.
fn ids<T>(
    field: &str,
    list: Option<Vec<i64>>,
    make: impl Fn(u32) -> T,
) -> Result<Option<Vec<T>>, Invalid> {
    let list = bounded(field, list)?;
    Ok(list.map(|list| {
        let numbers = list.into_iter().filter_map(|id| u32::try_from(id).ok());
        let numbers = distinct(numbers.collect());
        numbers.into_iter().map(&make).collect()
    }))
}

/// Sorts and removes duplicates.
pub fn distinct<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(scope: &str) -> Result<Selection, ScopeError> {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default, deserialize_with = "lenient::object")]
            scope: Option<RawScope>,
            #[serde(default, deserialize_with = "lenient::object")]
            expression_scope: Option<RawExpressionScope>,
        }
        let body: Body = serde_json::from_str(scope).unwrap();
        Selection::read(body.scope, body.expression_scope)
    }

    #[test]
    fn an_empty_scope_selects_all_formal_sets_and_wins() {
        let selection =
            read(r#"{"scope":{},"expression_scope":{"bk_set_name":"[unclosed"}}"#).unwrap();
        let formal = Scope {
            env: Some(SetEnv::Formal),
            ..Scope::default()
        };
        assert_eq!(selection, Selection::Scope(formal));
    }

    #[test]
    fn ids_may_be_strings_and_invalid_ids_match_nothing() {
        let selection = read(
            r#"{"scope":{"bk_set_env":"0","bk_set_ids":[6,"5",6,5],"bk_module_ids":[],"bk_process_ids":[-1]}}"#,
        );
        let expected = Scope {
            sets: Some(vec![SetId(5), SetId(6)]),
            processes: Some(vec![]),
            ..Scope::default()
        };
        assert_eq!(selection.unwrap(), Selection::Scope(expected));
    }

    #[test]
    fn an_expression_needs_its_environment() {
        let refused = read(r#"{"expression_scope":{"bk_set_name":"*"}}"#).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "expression_scope.bk_set_env: is required"
        );
        let read = read(r#"{"expression_scope":{"bk_set_env":3,"bk_process_id":46}}"#).unwrap();
        let Selection::Expression { env, expression } = read else {
            panic!("no expression");
        };
        assert_eq!(env, Some(SetEnv::Formal));
        assert_eq!(
            expression.id,
            crate::expression::IdPart::Pattern(crate::expression::Pattern::exactly("46"))
        );
    }

    #[test]
    fn a_missing_or_invalid_field_is_named() {
        assert!(
            matches!(read("{}"), Err(ScopeError::Invalid(invalid)) if invalid.field == "scope")
        );
        let refused = read(r#"{"scope":{"bk_set_env":7}}"#).unwrap_err();
        assert!(
            refused.to_string().starts_with("scope.bk_set_env: must be"),
            "{refused}"
        );
        let refused = read(r#"{"expression_scope":{"bk_set_env":3,"bk_set_name":"a[b"}}"#);
        assert!(matches!(refused, Err(ScopeError::Expression(_))));
    }

    #[test]
    fn a_sort_order_is_a_list_of_known_keys() {
        let order = SortOrder::parse_list("bk_set_id, -bk_process_name").unwrap();
        assert_eq!(order.len(), 2);
        assert!(order[1].descending && order[1].key == SortKey::ProcessName);
        assert_eq!(SortOrder::parse_list("").unwrap(), vec![]);
        let again = SortOrder::parse_list("bk_set_id,-bk_set_id,bk_set_id").unwrap();
        assert!(again.len() == 1 && !again[0].descending);
        assert_eq!(SortOrder::parse_list("name").unwrap_err().field, "ordering");
    }
}
