//! The fields of all requests of the family. Each verb takes what it needs and ignores the rest.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::http::Uri;
use model::spec::RawSpec;
use model::{FullName, Invalid, Labels, Namespace, ProcessName, TaskId, lenient};
use serde::Deserialize;

use super::hosts::RawHost;
use crate::http::json::{self, Object, Scalar};

/// The body of any request, without its credentials.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawRequest {
    pub meta: Option<Object<RawMeta>>,
    pub hosts: Option<Vec<Object<RawHost>>>,
    /// With this, `hosts` is ignored.
    pub agent_id_list: Option<Vec<Scalar>>,
    /// Boxed, because most requests have none and one body may hold many requests.
    pub spec: Option<Box<InlineSpec>>,
    #[serde(deserialize_with = "lenient::int")]
    pub op_type: Option<i64>,
    pub task_id: Option<String>,
    pub page: Option<Object<RawPage>>,
    /// Each is the body of an operate_proc_v2.
    pub proc_operate_req: Option<Vec<Object<RawRequest>>>,
}

/// A spec that may have fields of wrong types: of several operations only its own fails.
#[derive(Debug)]
pub(crate) struct InlineSpec(Result<RawSpec, Invalid>);

impl<'de> Deserialize<'de> for InlineSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let spec = json::from_value(value).map_err(|e| e.within("spec"));
        Ok(Self(spec))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawMeta {
    pub namespace: Option<String>,
    pub name: Option<String>,
    #[serde(deserialize_with = "lenient::labels")]
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawPage {
    #[serde(deserialize_with = "lenient::int")]
    pub start: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub limit: Option<i64>,
}

impl RawRequest {
    /// A GET may name its task in the query.
    pub(crate) fn take_query(&mut self, uri: &Uri) {
        #[derive(Deserialize)]
        struct TaskQuery {
            task_id: Option<String>,
        }
        if self.task_id.is_none()
            && let Ok(Query(query)) = Query::<TaskQuery>::try_from_uri(uri)
        {
            self.task_id = query.task_id;
        }
    }

    fn meta(&self) -> Result<&RawMeta, Invalid> {
        let meta = self.meta.as_ref().map(|meta| &meta.0);
        meta.ok_or_else(|| Invalid::required("meta"))
    }

    pub(crate) fn namespace(&self) -> Result<Namespace, Invalid> {
        let namespace = self.meta()?.namespace.as_deref().unwrap_or_default();
        Namespace::parse(namespace).map_err(|e| e.within("meta"))
    }

    pub(crate) fn full_name(&self) -> Result<FullName, Invalid> {
        let namespace = self.namespace()?;
        let name = self.meta()?.name.as_deref().unwrap_or_default();
        let name = ProcessName::parse(name).map_err(|e| e.within("meta"))?;
        Ok(FullName { namespace, name })
    }

    pub(crate) fn take_labels(&mut self) -> Result<Labels, Invalid> {
        let labels = self
            .meta
            .as_mut()
            .map(|meta| std::mem::take(&mut meta.0.labels));
        Labels::parse(labels.unwrap_or_default()).map_err(|e| e.within("meta"))
    }

    /// The spec, or which of its fields has the wrong type.
    pub(crate) fn take_spec(&mut self) -> Option<Result<RawSpec, Invalid>> {
        self.spec.take().map(|spec| spec.0)
    }

    pub(crate) fn task_id(&self) -> Result<TaskId, Invalid> {
        self.task_id.as_deref().unwrap_or_default().parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_unknown_fields_are_fine() {
        let mut request: RawRequest = json::read(
            br#"{"bk_app_code":"a","bk_app_secret":"s","bk_username":"u","bk_token":null,
                "no_request":true,"nodeman_spec":{"x":[1]},"meta":{"namespace":"gse","name":"p","labels":{"n":1}}}"#,
        )
        .unwrap();
        assert_eq!(request.full_name().unwrap().to_string(), "gse/p");
        assert_eq!(
            request.take_labels().unwrap().iter().next(),
            Some(("n", "1"))
        );
    }

    #[test]
    fn each_bad_selector_names_its_field() {
        for (body, message) in [
            ("{}", "meta: is required"),
            (r#"{"meta":null}"#, "meta: is required"),
            (r#"{"meta":{"name":"p"}}"#, "meta.namespace: is required"),
            (
                r#"{"meta":{"namespace":"gse","name":""}}"#,
                "meta.name: is required",
            ),
            (
                r#"{"meta":{"namespace":"a:b","name":"p"}}"#,
                "meta.namespace: must not hold control characters, ':' or '/'",
            ),
        ] {
            let request: RawRequest = json::read(body.as_bytes()).unwrap();
            assert_eq!(request.full_name().unwrap_err().to_string(), message);
        }
        for (body, message) in [
            (r#"{"meta":5}"#, "meta: must be an object, not integer `5`"),
            (
                r#"{"meta":{"namespace":5}}"#,
                "meta.namespace: must be a string, not integer `5`",
            ),
            (r#"{"hosts":{}}"#, "hosts: must be a list, not map"),
            (
                r#"{"hosts":["10.0.0.1"]}"#,
                "hosts[0]: must be an object, not string \"10.0.0.1\"",
            ),
            (
                r#"{"op_type":"x"}"#,
                "op_type: must be a whole number, not \"x\"",
            ),
            (
                r#"{"page":{"limit":[]}}"#,
                "page.limit: must be a whole number, not sequence",
            ),
        ] {
            let error = json::read::<RawRequest>(body.as_bytes())
                .map(|_| ())
                .unwrap_err();
            assert!(error.to_string().starts_with(message), "{error} for {body}");
        }
        for (body, message) in [
            (r#"{"spec":[]}"#, "spec: must be an object, not sequence"),
            (
                r#"{"spec":{"identity":{"user":7}}}"#,
                "spec.identity.user: must be a string, not integer `7`",
            ),
        ] {
            let mut request: RawRequest = json::read(body.as_bytes()).unwrap();
            let error = request.take_spec().unwrap().unwrap_err();
            assert!(error.to_string().starts_with(message), "{error} for {body}");
        }
    }
}
