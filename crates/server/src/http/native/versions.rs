//! The versions of a process, and the way back to one of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use api::{FieldChangeView, ProcessVersionList, ProcessVersionView, Results, RollbackBody};
use axum::extract::State;
use axum::response::Response;
use control::ProcessVersion;
use model::version::VersionRow;
use model::{Invalid, Labels, Spec};
use serde_json::Value;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::register::results;
use super::request::{JsonBody, PathParams, full_name};
use super::response::{fit, ok};
use super::targets;
use crate::http::HttpState;

/// Lists the versions of a process, the newest first: each definition that was asked for, by whom and when, and how many hosts
/// have it.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}/versions", operation_id = "list_process_versions",
    tag = "processes", params(("namespace" = String, Path), ("name" = String, Path)),
    responses((status = 200, description = "The versions", body = ProcessVersionList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    let versions = http.control.registry().versions(&caller, &name).await?;
    let earlier = versions.iter().skip(1).map(Some).chain([None]);
    let views = versions.iter().zip(earlier);
    Ok(ok(&ProcessVersionList {
        process: name.to_string(),
        versions: fit(views.map(|(version, earlier)| view(version, earlier))),
    }))
}

fn view<'a>(
    listed: &'a ProcessVersion,
    earlier: Option<&ProcessVersion>,
) -> ProcessVersionView<'a> {
    let row = &listed.version.row;
    let origin = &row.origin;
    ProcessVersionView {
        number: listed.version.number,
        at: row.at,
        source: origin.source.as_str().into(),
        app: origin.app.as_str().into(),
        user: origin.user.as_str().into(),
        job_id: origin.job.map(|job| job.0),
        restores: origin.restores,
        hosts: listed.n_hosts,
        changes: earlier.map_or_else(Vec::new, |earlier| changes(&earlier.version.row, row)),
        spec: Cow::Borrowed(&*row.spec),
        labels: Cow::Borrowed(&*row.labels),
    }
}

/// The fields in which two versions differ, by name.
fn changes(before: &VersionRow, after: &VersionRow) -> Vec<FieldChangeView> {
    let before = fields(&before.spec, &before.labels);
    let after = fields(&after.spec, &after.labels);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter_map(|name| {
        let (before, after) = (before.get(name), after.get(name));
        (before != after).then(|| FieldChangeView {
            field: name.clone(),
            before: before.map(Value::to_string),
            after: after.map(Value::to_string),
        })
    });
    changed.collect()
}

/// Every field of a definition, named by its path.
fn fields(spec: &Spec, labels: &Labels) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    flatten(String::new(), spec.to_request_json(), &mut fields);
    for (key, value) in labels.iter() {
        fields.insert(format!("labels.{key}"), Value::from(value));
    }
    fields
}

fn flatten(path: String, value: Value, fields: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = match path.is_empty() {
                    true => name,
                    false => format!("{path}.{name}"),
                };
                flatten(path, value, fields);
            }
        }
        value => {
            fields.insert(path, value);
        }
    }
}

/// Gives hosts the definition of an earlier version again. Adds a version; a running process is not touched.
#[utoipa::path(post, path = "/api/v1/processes/{namespace}/{name}/rollback", operation_id = "rollback_process",
    tag = "processes", params(("namespace" = String, Path), ("name" = String, Path)), request_body = RollbackBody,
    responses((status = 200, description = "A result per host", body = Results), Refusals))]
pub(crate) async fn rollback(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    JsonBody(body): JsonBody<RollbackBody>,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    let number = version_number("to", body.to)?;
    let hosts = match body.hosts.as_deref() {
        Some([]) => return Err(Invalid::new("hosts", "must not be empty").into()),
        Some(hosts) => Some(hosts.iter().map(targets::parse_host).collect()),
        None => None,
    };
    let registry = http.control.registry();
    let answers = registry.rollback(&caller, &name, number, hosts).await?;
    Ok(ok(&results(&answers)))
}

/// The number of a version, which a request must have in this field.
pub(super) fn version_number(field: &str, number: Option<i64>) -> Result<u32, Invalid> {
    let number = number.ok_or_else(|| Invalid::required(field))?;
    u32::try_from(number)
        .ok()
        .filter(|number| *number >= 1)
        .ok_or_else(|| {
            let rule = format!("must be the number of a version, from 1, not {number}");
            Invalid::new(field, rule)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_by_their_path() {
        let value =
            serde_json::json!({"control": {"start_cmd": "a"}, "configmap": [{"path": "/x"}]});
        let mut fields = BTreeMap::new();
        flatten(String::new(), value, &mut fields);
        let named: Vec<(&str, String)> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        assert_eq!(
            named,
            [
                ("configmap", r#"[{"path":"/x"}]"#.to_owned()),
                ("control.start_cmd", r#""a""#.to_owned())
            ]
        );
    }

    #[test]
    fn a_number_that_no_version_has_is_refused() {
        for (number, rule) in [
            (None, "is required"),
            (Some(0), "must be the number of a version, from 1, not 0"),
            (Some(-3), "not -3"),
            (Some(1 << 40), "must be the number of a version"),
        ] {
            let refused = version_number("to", number).unwrap_err();
            assert_eq!(refused.field, "to");
            assert!(refused.rule.contains(rule), "{refused}");
        }
        assert_eq!(version_number("to", Some(7)).unwrap(), 7);
    }
}
