use serde_json::json;

use super::*;

fn parse_one(file: &str, text: &str) -> Result<Definition, String> {
    let mut definitions = parse(file, text)?;
    assert_eq!(definitions.len(), 1, "{file}");
    Ok(definitions.remove(0))
}

const TOML: &str = r#"
namespace = "web"
name = "nginx"
hosts = ["10.0.0.1", "7:10.0.0.2", { ip = "::1", cloud_id = 3 }, { agent_id = "a-1" }]
labels = { tier = "front", weight = 3 }

[identity]
setup_path = "/opt/nginx"
user = "root"

[control]
start_cmd = "./sbin/nginx"

[monitor_policy]
auto_type = "one-shot"
start_check_secs = 2
"#;

#[test]
fn our_own_form_is_read_from_toml() {
    let definition = parse_one("x.toml", TOML).unwrap();
    assert_eq!(definition.name.as_ref().unwrap().to_string(), "web/nginx");
    assert_eq!(
        serde_json::to_value(&definition.hosts).unwrap(),
        json!(["0:10.0.0.1", "7:10.0.0.2", "3:::1", {"agent_id": "a-1"}])
    );
    let (spec, labels) = definition
        .complete(&definition.name.clone().unwrap())
        .unwrap();
    assert_eq!(
        labels.iter().collect::<Vec<_>>(),
        [("tier", "front"), ("weight", "3")]
    );
    assert_eq!(spec.identity.proc_name, "nginx");
    assert_eq!(spec.identity.pid_path, "/opt/nginx/nginx.pid");
    assert_eq!(u8::from(spec.monitor_policy.auto_type), 2);
    assert_eq!(spec.monitor_policy.start_check_secs, 2);
}

#[test]
fn json_and_toml_mean_the_same() {
    let from_toml = parse_one("x.toml", TOML).unwrap();
    let value: Value = toml::from_str(TOML).unwrap();
    for file in ["x.json", "-"] {
        let from_json = parse_one(file, &value.to_string()).unwrap();
        assert_eq!(format!("{from_json:?}"), format!("{from_toml:?}"));
    }
}

#[test]
fn the_body_of_a_gse_call_is_read_too() {
    let body = json!({
        "bk_app_code": "x",
        "meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
        "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": "1", "bk_supplier_id": 2}],
        "spec": {
            "identity": {"index_key": "", "proc_name": "proc-test", "setup_path": "/data/", "pid_path": "/data/p.pid", "user": "root"},
            "control": {"start_cmd": "./start.sh"},
            "resource": {"cpu": 10.0, "mem": 10.0},
            "monitor_policy": {"auto_type": 1, "crotab_rule": "", "somebody_elses": 1},
            "nodeman_spec": {},
        },
    });
    let definition = parse_one("-", &body.to_string()).unwrap();
    assert_eq!(
        serde_json::to_value(&definition.hosts).unwrap(),
        json!(["1:10.0.0.1"])
    );
    assert_eq!(
        definition
            .complete(&definition.name.clone().unwrap())
            .unwrap()
            .0
            .identity
            .pid_path,
        "/data/p.pid"
    );
}

#[test]
fn agent_ids_stand_before_hosts() {
    let body = json!({
        "meta": {"namespace": "gse", "name": "x"},
        "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 1}],
        "agent_id_list": ["0:10.0.0.9", "agent-7"],
    });
    let definition = parse_one("x.json", &body.to_string()).unwrap();
    assert_eq!(
        serde_json::to_value(&definition.hosts).unwrap(),
        json!(["0:10.0.0.9", {"agent_id": "agent-7"}])
    );
}

#[test]
fn slips_of_the_pen_are_named() {
    for (text, part) in [
        ("namespace = 1", "namespace and name: both must be given"),
        ("namespaces = 'x'", "namespaces: is no key"),
        (
            "[control]\nstart_command = 'x'",
            "spec.control.start_command: is unknown",
        ),
        ("[spec.contol]\nstart_cmd = 'x'", "spec.contol: is no part"),
        ("[identity]\n[spec.identity]", "identity: stands both"),
        ("hosts = ['10.0.0']", "hosts[0]: \"10.0.0\" is not a host"),
        ("hosts = [3]", "hosts[0]: must be"),
        ("hosts = 3", "hosts: must be a list"),
        (
            "[resource]\ncpu = 'much'",
            "spec.resource: must be a number",
        ),
        ("\n\nx = ", "is no TOML: line 3"),
        ("[labels]\na = [1]", "labels: the value of \"a\""),
    ] {
        let rule = parse_one("x.toml", text).unwrap_err();
        assert!(rule.contains(part), "{text:?}: {rule}");
    }
    assert!(
        parse_one("x.json", "{")
            .unwrap_err()
            .starts_with("is no JSON")
    );
    assert!(
        parse_one("x.json", "[]")
            .unwrap_err()
            .starts_with("must hold")
    );
}

#[test]
fn several_definitions_stand_under_processes() {
    let one = |name: &str| {
        format!(
            "[[processes]]\nnamespace = 'web'\nname = '{name}'\n[processes.control]\nstart_cmd = 'x'\n"
        )
    };
    let read = parse("x.toml", &[one("a"), one("b")].concat()).unwrap();
    let names: Vec<String> = read
        .iter()
        .map(|definition| definition.name.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(names, ["web/a", "web/b"]);
    for (text, why) in [
        ("processes = []", "processes: is empty"),
        ("processes = 1", "processes: must be a list"),
        (
            "name = 'x'\nprocesses = []",
            "name: must not stand beside processes",
        ),
        (
            "[[processes]]\nhosts = ['10.0.0.1']",
            "processes[0]: namespace and name: are required",
        ),
        (
            "[[processes]]\nnamespace = 'a'\nname = 'b'\nodd = 1",
            "processes[0]: odd: is no key",
        ),
    ] {
        let error = parse("x.toml", text).unwrap_err();
        assert!(error.starts_with(why), "{text}: {error}");
    }
}

#[test]
fn the_same_definition_in_toml_yaml_and_json() {
    let toml = "namespace = 'web'\nname = 'nginx'\n[control]\nstart_cmd = './nginx'\n[runtime]\nmemory_max = '64M'\n";
    let yaml = "# ours\nnamespace: web\nname: nginx\ncontrol:\n  start_cmd: ./nginx\nruntime:\n  memory_max: 64M\n";
    let json = r#"{"namespace": "web", "name": "nginx", "control": {"start_cmd": "./nginx"}, "runtime": {"memory_max": "64M"}}"#;
    for (file, text) in [
        ("-", toml),
        ("-", yaml),
        ("-", json),
        ("x.toml", toml),
        ("x.YAML", yaml),
        ("x.yml", yaml),
        ("x.json", json),
    ] {
        let [definition] = &parse(file, text).unwrap()[..] else {
            panic!("{file}: {text}");
        };
        assert_eq!(definition.name.as_ref().unwrap().to_string(), "web/nginx");
        let runtime = definition.spec.runtime.as_ref().unwrap();
        assert_eq!(runtime.memory_max, Some(64 << 20), "{file}: {text}");
    }
    assert!(parse("x.yaml", "a: [").unwrap_err().contains("is no YAML"));
}

#[test]
fn probes_are_read_with_units_and_unknown_keys_are_refused_wherever_they_are() {
    let text = TOML.replace("\"one-shot\"", "\"resident\"")
        + "[probes.ready]\nhttp = { port = 80, path = \"/h\", status = [200, \"3xx\"] }\ninterval = \"2s\"\ndelay = \"1m\"\n\
           [probes.live]\ntcp.port = 80\ntimeout = 3\n";
    let definition = parse_one("x.toml", &text).unwrap();
    let probes = definition.spec.probes.unwrap();
    let (ready, live) = (probes.ready.unwrap(), probes.live.unwrap());
    assert_eq!(
        (ready.interval, ready.delay, live.timeout),
        (Some(2), Some(60), Some(3))
    );
    for (text, expected) in [
        (
            "[probes.started]\n",
            "spec.probes.started: is unknown; there are",
        ),
        (
            "[probes.ready]\nport = 80\n",
            "spec.probes.ready.port: is unknown",
        ),
        (
            "[probes.ready]\nhttp.scheme = \"https\"\n",
            "spec.probes.ready.http.scheme: is unknown",
        ),
        (
            "[probes.live]\ntcp.path = \"/\"\n",
            "spec.probes.live.tcp.path: is unknown",
        ),
        (
            "[probes.live]\ninterval = \"soon\"\n",
            "spec.probes.live.interval: ",
        ),
        ("[probes.live]\naction = \"stop\"\n", "spec.probes: "),
    ] {
        let error = parse_one("x.toml", &format!("{TOML}{text}")).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
