//! register_proc_info and update_proc_info.

use control::{HostAnswer, Mode, Registration};
use model::spec::raw::SpecRules;
use model::{FullName, Invalid, Spec};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::endpoint::Dialect;
use super::refusal::Refusal;
use super::request::RawRequest;
use super::{RequestContext, success};

pub(crate) async fn register(
    context: &RequestContext<'_>,
    mut request: RawRequest,
    mode: Mode,
) -> Result<Vec<u8>, Refusal> {
    let name = request.full_name()?;
    let registration = Registration {
        labels: request.take_labels()?,
        hosts: request.asked(context.keys())?,
        suppliers: request.suppliers(),
        spec: spec(&mut request, context.endpoint.dialect)?,
        name: name.clone(),
        mode,
        restores: None,
    };
    let answers = context
        .http
        .control
        .registry()
        .register(context.caller, registration)
        .await?;
    Ok(success(Answers {
        answers: &answers,
        suffix: Suffix::Process(&name),
    }))
}

/// ESB and pms require a complete spec; GSE 2.0 callers leave out what has defaults.
fn spec(request: &mut RawRequest, dialect: Dialect) -> Result<Spec, Invalid> {
    let given = match dialect {
        Dialect::Esb | Dialect::Pms => SpecRules::Registration,
        Dialect::Gse2 => SpecRules::Inline,
    };
    let raw = request
        .take_spec()
        .ok_or_else(|| Invalid::required("spec"))??;
    raw.complete(given).map_err(|e| e.within("spec"))
}

/// The part of a key after the host.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Suffix<'a> {
    Process(&'a FullName),
    Namespace(&'a model::Namespace),
}

/// A map by key, serialised without building it.
pub(crate) struct Answers<'a> {
    pub answers: &'a [HostAnswer],
    pub suffix: Suffix<'a>,
}

impl Serialize for Answers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.answers.len()))?;
        for answer in self.answers {
            let entry = Entry {
                error_code: answer.code.0,
                error_msg: &answer.message,
                content: "",
            };
            map.serialize_entry(&Key(&answer.key_prefix, self.suffix), &entry)?;
        }
        map.end()
    }
}

/// The answer to one key.
#[derive(serde::Serialize)]
pub(crate) struct Entry<'a> {
    pub error_code: i32,
    pub error_msg: &'a str,
    pub content: &'a str,
}

/// `prefix:namespace:name`, or `prefix:namespace`.
pub(crate) struct Key<'a>(pub &'a str, pub Suffix<'a>);

impl Key<'_> {
    /// Appends the text.
    pub(crate) fn write(&self, text: &mut String) {
        let Self(prefix, suffix) = self;
        let (namespace, name) = match suffix {
            Suffix::Process(name) => (&name.namespace, Some(&name.name)),
            Suffix::Namespace(namespace) => (*namespace, None),
        };
        text.push_str(prefix);
        text.push(':');
        text.push_str(namespace.as_str());
        if let Some(name) = name {
            text.push(':');
            text.push_str(name.as_str());
        }
    }
}

impl Serialize for Key<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        self.write(&mut text);
        serializer.serialize_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use model::Code;
    use serde_json::{Value, json};

    use super::*;
    use crate::http::json;

    /// The example of gse-register_proc_info.md, as its document writes it.
    const EXAMPLE: &str = r#"{
  "meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
  "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2}],
  "spec": {
    "identity": {"index_key": "", "proc_name": "proc-test", "setup_path": "/data/gsetest/",
      "pid_path": "/data/gsetest/proc-test.pid", "config_path": "/data/gsetest/proc-test.conf",
      "log_path": "/data/gsetest/logs/", "user": "root"},
    "control": {"start_cmd": "./start.sh", "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh",
      "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh", "version_cmd": "./version.sh", "health_cmd": "./health.sh"},
    "resource": {"cpu": 10.0, "mem": 10.0, "fd": 10000, "disk": 100, "net": 0},
    "monitor_policy": {"auto_type": 1, "start_check_secs": 5, "stop_check_secs": 5, "start_retries": 3,
      "start_interval": 20, "crotab_rule": ""},
    "warn_report_policy": {"report_id": 0},
    "configmap": [{"path": "", "md5": ""}]
  }
}"#;

    fn spec_of(body: &Value, dialect: Dialect) -> Result<Spec, String> {
        let mut request: RawRequest = json::read(body.to_string().as_bytes()).unwrap();
        spec(&mut request, dialect).map_err(|e| e.to_string())
    }

    #[test]
    fn the_documented_example_is_read() {
        let example: Value = serde_json::from_str(EXAMPLE).unwrap();
        let spec = spec_of(&example, Dialect::Esb).unwrap();
        assert_eq!(spec.control.health_cmd, "./health.sh");
        assert_eq!(spec.monitor_policy.start_interval, 20);
    }

    #[test]
    fn errors_in_a_spec_are_named_from_the_top() {
        let mut body: Value = serde_json::from_str(EXAMPLE).unwrap();
        body["spec"]["identity"]["setup_path"] = json!("data");
        assert_eq!(
            spec_of(&body, Dialect::Esb).unwrap_err(),
            "spec.identity.setup_path: must be an absolute path"
        );
        assert_eq!(
            spec_of(&json!({}), Dialect::Esb).unwrap_err(),
            "spec: is required"
        );
    }

    #[test]
    fn limits_are_optional_in_gse_2() {
        let mut body: Value = serde_json::from_str(EXAMPLE).unwrap();
        body["spec"]["resource"] = Value::Null;
        assert_eq!(
            spec_of(&body, Dialect::Pms).unwrap_err(),
            "spec.resource: is required"
        );
        assert!(spec_of(&body, Dialect::Gse2).is_ok());
    }

    #[test]
    fn answers_are_a_map_by_key() {
        let answers = [HostAnswer {
            key_prefix: "1:2:10.0.0.1".into(),
            host: None,
            code: Code::OK,
            message: "success".into(),
            changed: true,
        }];
        let name = FullName::parse("gse", "proc-\"test").unwrap();
        let written = success(Answers {
            answers: &answers,
            suffix: Suffix::Process(&name),
        });
        assert_eq!(
            serde_json::from_slice::<Value>(&written).unwrap(),
            json!({"result": true, "code": 0, "message": "success", "data": {
                "1:2:10.0.0.1:gse:proc-\"test": {"error_code": 0, "error_msg": "success", "content": ""}}})
        );
    }
}
