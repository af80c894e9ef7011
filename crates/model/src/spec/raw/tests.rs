use serde_json::{Value, json};

use super::*;

fn example() -> Value {
    json!({
        "identity": {"index_key": "", "proc_name": "proc-test", "setup_path": "/data/gsetest/",
            "pid_path": "/data/gsetest/proc-test.pid", "config_path": "/data/gsetest/proc-test.conf",
            "log_path": "/data/gsetest/logs/", "user": "root"},
        "control": {"start_cmd": "./start.sh", "stop_cmd": "./stop.sh"},
        "resource": {"cpu": 10.0, "mem": 10.0, "fd": 10000, "disk": 100, "net": 0},
        "monitor_policy": {"auto_type": 1, "start_check_secs": 5, "stop_check_secs": 5, "start_retries": 3,
            "start_interval": 20, "crotab_rule": ""},
        "warn_report_policy": {"report_id": 0},
        "configmap": [{"path": "", "md5": ""}],
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut spec = example();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    spec.pointer_mut(parent).unwrap()[key] = value;
    spec
}

fn complete(spec: Value, rules: SpecRules) -> Result<Spec, Invalid> {
    serde_json::from_value::<RawSpec>(spec)
        .unwrap()
        .complete(rules)
}

#[test]
fn the_documented_example_is_read_whole() {
    let spec = complete(example(), SpecRules::Registration).unwrap();
    assert_eq!(spec.identity.setup_path, "/data/gsetest/");
    assert_eq!(spec.control.start_cmd, "./start.sh");
    assert_eq!(
        (spec.resource.cpu, spec.resource.fd, spec.resource.disk),
        (10.0, 10_000, 100)
    );
    assert_eq!(
        (
            spec.monitor_policy.start_retries,
            spec.monitor_policy.start_interval
        ),
        (3, 20)
    );
    assert_eq!(spec.monitor_policy.op_timeout, 60);
    assert!(spec.configmap.is_empty());
}

#[test]
fn a_stored_spec_reads_back_equal() {
    let spec = complete(example(), SpecRules::Registration).unwrap();
    assert_eq!(serde_json::from_str::<Spec>(&spec.to_json()).unwrap(), spec);
}

#[test]
fn a_shown_spec_can_be_sent_back_unchanged() {
    let runtime = json!({"umask": "002", "nice": 3, "env": {"A": "b"}});
    for spec in [example(), with("/runtime", runtime)] {
        let spec = complete(spec, SpecRules::Registration).unwrap();
        let shown = spec.to_request_json();
        assert_eq!(serde_json::from_value::<Spec>(shown.clone()).unwrap(), spec);
        assert_eq!(complete(shown, SpecRules::Registration).unwrap(), spec);
    }
}

#[test]
fn null_means_absent() {
    let mut policy = example()["monitor_policy"].clone();
    for value in policy.as_object_mut().unwrap().values_mut() {
        *value = Value::Null;
    }
    let spec = complete(with("/monitor_policy", policy), SpecRules::Inline).unwrap();
    assert_eq!(spec.monitor_policy, Policy::default());
}

#[test]
fn both_spellings_of_a_field_work() {
    let mut spec = example();
    spec["alive_monitor_policy"] = spec["monitor_policy"].take();
    spec["resource"] = json!({"cpu": "1", "mem": 2, "disk_io": 3, "net_io": "4"});
    let spec = complete(spec, SpecRules::Registration).unwrap();
    assert_eq!(spec.monitor_policy.start_interval, 20);
    assert_eq!(
        (spec.resource.cpu, spec.resource.disk, spec.resource.net),
        (1.0, 3, 4)
    );
    let cron = json!({"auto_type": 0, "crotab_rule": "*/5 * * * *"});
    assert_eq!(
        complete(with("/monitor_policy", cron), SpecRules::Registration)
            .unwrap()
            .monitor_policy
            .crontab_rule,
        "*/5 * * * *"
    );
}

#[test]
fn each_bad_field_is_named_with_its_rule() {
    for (pointer, value, message) in [
        (
            "/identity/setup_path",
            json!("data"),
            "identity.setup_path: must be an absolute path",
        ),
        (
            "/identity/pid_path",
            json!(""),
            "identity.pid_path: is required",
        ),
        (
            "/identity/proc_name",
            json!("a/b"),
            "identity.proc_name: must be the base name of a file, without '/'",
        ),
        ("/resource/cpu", Value::Null, "resource.cpu: is required"),
        (
            "/resource/mem",
            json!(101),
            "resource.mem: must be a percentage from 0 (no limit) to 100",
        ),
        (
            "/resource/fd",
            json!(-1),
            "resource.fd: must be 0 (no limit) or more",
        ),
        (
            "/monitor_policy/auto_type",
            json!(3),
            "monitor_policy.auto_type: must be 0 (periodic), 1 (resident) or 2 (one-shot)",
        ),
        (
            "/monitor_policy/start_interval",
            json!(-5),
            "monitor_policy.start_interval: must be from 0 to 86400",
        ),
        (
            "/monitor_policy",
            json!({"auto_type": 0, "crontab_rule": "* * * * * *"}),
            "monitor_policy.crontab_rule: must have five fields: minute hour day month weekday",
        ),
        (
            "/monitor_policy",
            json!({"auto_type": 0, "crontab_rule": "0 0 31 2 *"}),
            "monitor_policy.crontab_rule: names a time that never comes",
        ),
        (
            "/configmap",
            json!([{"path": "/a", "md5": "xyz"}]),
            "configmap[0].md5: must be 32 hexadecimal digits",
        ),
    ] {
        assert_eq!(
            complete(with(pointer, value), SpecRules::Registration)
                .unwrap_err()
                .to_string(),
            message
        );
    }
    let error = complete(
        with("/identity/user", json!("a b")),
        SpecRules::Registration,
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("identity.user: must be a user name"),
        "{error}"
    );
}

#[test]
fn a_periodic_process_needs_no_rule() {
    for rule in [Value::Null, json!(""), json!("  ")] {
        let policy = json!({"auto_type": 0, "crontab_rule": rule});
        let spec = complete(with("/monitor_policy", policy), SpecRules::Registration).unwrap();
        assert_eq!(spec.monitor_policy.auto_type, AutoType::Periodic);
        assert_eq!(spec.monitor_policy.crontab_rule, "");
    }
}

#[test]
fn both_fields_of_a_configmap_entry_are_optional() {
    let md5 = "0123456789abcdef0123456789abcdef";
    let entries = json!([{"path": "/a"}, {"md5": md5}, {"path": "", "md5": null}, {"path": "/b", "md5": md5}]);
    let spec = complete(with("/configmap", entries), SpecRules::Registration).unwrap();
    let files: Vec<_> = spec
        .configmap
        .iter()
        .map(|file| (file.path.as_str(), file.md5.as_str()))
        .collect();
    assert_eq!(files, [("/a", ""), ("", md5), ("/b", md5)]);
}

#[test]
fn a_probe_may_be_empty() {
    let raw: RawSpec = serde_json::from_value(
        json!({"identity": {"proc_name": "x", "user": null}, "monitor_policy": null}),
    )
    .unwrap();
    assert_eq!(raw.probe().unwrap().proc_name, "x");
    assert_eq!(RawSpec::default().probe().unwrap(), Probe::default());
}
