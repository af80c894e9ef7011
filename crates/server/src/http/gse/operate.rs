//! operate_proc, operate_proc_v2 and operate_proc_multi.

use control::{Operate, OperateSpec};
use model::spec::RawSpec;
use model::spec::raw::SpecRules;
use model::{Invalid, Labels, Op};
use serde::Serialize;

use super::endpoint::Keys;
use super::refusal::Refusal;
use super::request::RawRequest;
use super::{RequestContext, success};

/// How many operations one operate_proc_multi may hold.
const MAX_OPERATIONS: usize = 10_000;

#[derive(Serialize)]
struct AcceptedTask {
    task_id: String,
}

pub(crate) async fn operate(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let operation = parse(request, context.keys(), OperationCount::Single)?;
    accept(context, vec![operation]).await
}

pub(crate) async fn operate_multi(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let operations = parse_multi(request, context.keys())?;
    accept(context, operations).await
}

async fn accept(
    context: &RequestContext<'_>,
    operations: Vec<Operate>,
) -> Result<Vec<u8>, Refusal> {
    let task = context
        .http
        .control
        .operations()
        .operate(context.caller, operations)
        .await?;
    Ok(success(AcceptedTask {
        task_id: task.to_string(),
    }))
}

fn parse_multi(request: RawRequest, keys: Keys) -> Result<Vec<Operate>, Invalid> {
    let requests = request
        .proc_operate_req
        .ok_or_else(|| Invalid::required("proc_operate_req"))?;
    if requests.is_empty() || requests.len() > MAX_OPERATIONS {
        let rule = match requests.is_empty() {
            true => "must not be empty".to_owned(),
            false => format!("must be at most {MAX_OPERATIONS} operations"),
        };
        return Err(Invalid::new("proc_operate_req", rule));
    }
    let numbered = requests.into_iter().enumerate();
    numbered
        .map(|(index, request)| {
            parse(request.0, keys, OperationCount::Multiple)
                .map_err(|e| e.within(&format!("proc_operate_req[{index}]")))
        })
        .collect()
}

/// How many operations the request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationCount {
    Single,
    /// An unusable spec fails its own keys only.
    Multiple,
}

fn parse(mut request: RawRequest, keys: Keys, count: OperationCount) -> Result<Operate, Invalid> {
    let name = request.full_name()?;
    let op = op(request.op_type)?;
    let hosts = request.asked(keys)?;
    let labels = request.take_labels()?;
    let spec = request.take_spec().transpose();
    let with = spec.and_then(|spec| with(op, spec, labels).map_err(|e| e.within("spec")));
    let with = match (with, count) {
        (Ok(with), _) => with,
        (Err(invalid), OperationCount::Single) => return Err(invalid),
        (Err(invalid), OperationCount::Multiple) => OperateSpec::Unusable(invalid),
    };
    Ok(Operate {
        name,
        op,
        with,
        hosts,
    })
}

fn op(number: Option<i64>) -> Result<Op, Invalid> {
    let number = number.ok_or_else(|| Invalid::required("op_type"))?;
    Op::from_number(number).ok_or_else(|| {
        let known: Vec<String> = Op::ALL
            .iter()
            .map(|op| format!("{} {op}", op.number()))
            .collect();
        Invalid::new(
            "op_type",
            format!("{number} is unknown, must be one of: {}", known.join(", ")),
        )
    })
}

/// An inline spec is stored and used; query and unmanage use what there is of it; without one the registered spec counts.
fn with(op: Op, spec: Option<RawSpec>, labels: Labels) -> Result<OperateSpec, Invalid> {
    match spec.filter(is_present) {
        None => Ok(OperateSpec::Registered),
        Some(raw) if op.stores_spec() => Ok(OperateSpec::Spec(
            Box::new(raw.complete(SpecRules::Inline)?),
            labels,
        )),
        Some(raw) => raw.probe().map(OperateSpec::Probe),
    }
}

/// Clients without a spec send an empty one.
fn is_present(spec: &RawSpec) -> bool {
    spec.identity.is_some()
        || spec.control.is_some()
        || spec.resource.is_some()
        || spec.monitor_policy.is_some()
        || spec.alive_monitor_policy.is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::http::json;

    fn body(op: Value, spec: Value) -> Value {
        json!({"meta": {"namespace": "gse", "name": "p"}, "op_type": op, "spec": spec,
            "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 0}]})
    }

    fn read(body: &Value) -> RawRequest {
        json::read(body.to_string().as_bytes()).unwrap()
    }

    fn parsed(body: &Value) -> Result<Operate, String> {
        parse(read(body), Keys::V2, OperationCount::Single).map_err(|e| e.to_string())
    }

    #[test]
    fn the_documented_example_is_read() {
        let example = json!({"meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
            "op_type": 0, "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2}]});
        let operation = parse(read(&example), Keys::V1, OperationCount::Single).unwrap();
        assert_eq!(operation.op, Op::Start);
        assert!(matches!(operation.with, OperateSpec::Registered));
        assert_eq!(&*operation.hosts[0].key_prefix, "1:2:10.0.0.1");
    }

    #[test]
    fn an_unknown_op_type_is_refused_with_the_list_of_known_ones() {
        for number in [5, 6, 10, -1] {
            let error = parsed(&body(json!(number), Value::Null)).unwrap_err();
            assert_eq!(
                error,
                format!(
                    "op_type: {number} is unknown, must be one of: 0 start, 1 stop, 2 query, 3 manage, 4 unmanage, \
                     7 restart, 8 reload, 9 kill"
                )
            );
        }
        assert_eq!(
            parsed(&body(Value::Null, Value::Null)).unwrap_err(),
            "op_type: is required"
        );
        assert_eq!(
            parsed(&body(json!("7"), Value::Null)).unwrap().op,
            Op::Restart
        );
    }

    #[test]
    fn a_partial_spec_is_enough_to_query_and_not_to_start() {
        let partial = json!({"identity": {"proc_name": "x"}, "monitor_policy": null});
        for op in [2, 4] {
            let with = parsed(&body(json!(op), partial.clone())).unwrap().with;
            assert!(matches!(with, OperateSpec::Probe(probe) if probe.proc_name == "x"));
        }
        assert_eq!(
            parsed(&body(json!(0), partial)).unwrap_err(),
            "spec.identity.setup_path: is required"
        );
    }

    #[test]
    fn a_complete_spec_is_stored_and_an_empty_one_ignored() {
        let whole = json!({"identity": {"proc_name": "x", "setup_path": "/x", "pid_path": "/x/pid", "user": "root"}});
        let with = parsed(&body(json!(0), whole)).unwrap().with;
        assert!(matches!(with, OperateSpec::Spec(spec, _) if spec.monitor_policy.op_timeout == 60));
        let with = parsed(&body(json!(0), json!({}))).unwrap().with;
        assert!(matches!(with, OperateSpec::Registered));
    }

    #[test]
    fn an_unusable_spec_fails_its_own_operation_only() {
        let bad = |setup_path: Value| json!({"identity": {"proc_name": "x", "setup_path": setup_path, "pid_path": "/x/pid", "user": "root"}});
        for (setup_path, message) in [
            (json!(""), "spec.identity.setup_path: is required"),
            (
                json!("x"),
                "spec.identity.setup_path: must be an absolute path",
            ),
            (
                json!(5),
                "spec.identity.setup_path: must be a string, not integer `5`",
            ),
        ] {
            let list = json!([
                body(json!(0), bad(setup_path.clone())),
                body(json!(1), Value::Null)
            ]);
            let request = read(&json!({ "proc_operate_req": list }));
            let all = parse_multi(request, Keys::V2).unwrap();
            assert!(
                matches!(&all[0].with, OperateSpec::Unusable(invalid) if invalid.to_string() == message),
                "{:?}",
                all[0].with
            );
            assert!(matches!(all[1].with, OperateSpec::Registered));
            let single = parsed(&body(json!(0), bad(setup_path))).unwrap_err();
            assert_eq!(single, message, "a single operation is refused");
        }
    }

    #[test]
    fn errors_in_a_multi_request_name_the_operation() {
        let multi = |list: Value| {
            let request = read(&json!({ "proc_operate_req": list }));
            parse_multi(request, Keys::V2)
                .map(|all| all.len())
                .map_err(|e| e.to_string())
        };
        let good = body(json!(1), Value::Null);
        assert_eq!(multi(json!([good, good])), Ok(2));
        assert_eq!(
            multi(json!([good, body(json!(5), Value::Null)]))
                .unwrap_err()
                .split(':')
                .next(),
            Some("proc_operate_req[1].op_type")
        );
        assert_eq!(
            multi(json!([])).unwrap_err(),
            "proc_operate_req: must not be empty"
        );
        assert_eq!(
            multi(Value::Null).unwrap_err(),
            "proc_operate_req: is required"
        );
    }
}
