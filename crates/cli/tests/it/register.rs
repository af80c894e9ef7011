//! `register`, `update`, `unregister`: the requests that flags and files become.

use serde_json::{Value, json};

use crate::command::{Output, muster};
use crate::fake_server::{FakeServer, ok};

pub(crate) fn accepting() -> FakeServer {
    FakeServer::new(|asked| match asked.body["hosts"].as_array() {
        Some(hosts) => {
            let result = |(index, _): (usize, &Value)| json!({"host": format!("0:10.0.0.{index}"), "code": 0, "message": "success", "changed": true});
            ok(json!({"results": hosts.iter().enumerate().map(result).collect::<Vec<_>>()}))
        }
        None => ok(json!({"count": 1, "hosts": [{"host": "0:127.0.0.1", "connected": true}]})),
    })
}

#[test]
fn flags_become_a_whole_registration() {
    let server = accepting();
    let ran = muster(&[
        "register",
        "web/nginx",
        "--host",
        "10.0.0.1,7:10.0.0.2",
        "-H",
        "agent:a-1",
        "--setup-path",
        "/opt/nginx/",
        "--user",
        "www",
        "--start",
        "./sbin/nginx -g 'daemon on;'",
        "--stop",
        "./stop",
        "--mem",
        "20",
        "--fd-max",
        "1000",
        "--auto-type",
        "periodic",
        "--crontab",
        "*/5 * * * *",
        "--start-check",
        "2",
        "--label",
        "tier=front",
        "--config-file",
        "/etc/n.conf:0123456789abcdef0123456789abcdef",
        "--report-id",
        "9",
    ])
    .to(&server.url)
    .run();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "registered web/nginx on 3 hosts\n"),
        "{ran:?}"
    );
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /api/v1/processes/web/nginx");
    assert_eq!(
        asked.body["hosts"],
        json!(["0:10.0.0.1", "7:10.0.0.2", {"agent_id": "a-1"}])
    );
    assert_eq!(asked.body["labels"], json!({"tier": "front"}));
    let spec = &asked.body["spec"];
    assert_eq!(spec["identity"]["proc_name"], "nginx");
    assert_eq!(spec["identity"]["setup_path"], "/opt/nginx/");
    assert_eq!(spec["identity"]["pid_path"], "/opt/nginx/nginx.pid");
    assert_eq!(spec["identity"]["user"], "www");
    assert_eq!(spec["control"]["stop_cmd"], "./stop");
    assert_eq!(
        spec["resource"],
        json!({"cpu": 0.0, "mem": 20.0, "fd": 0, "disk": 0, "net": 0})
    );
    assert_eq!(spec["runtime"], json!({"fd_max": 1000}));
    assert_eq!(spec["monitor_policy"]["auto_type"], 0);
    assert_eq!(spec["monitor_policy"]["start_check_secs"], 2);
    assert_eq!(spec["warn_report_policy"]["report_id"], 9);
    assert_eq!(spec["configmap"][0]["path"], "/etc/n.conf");
}

#[test]
fn environment_limits_and_units_are_flags() {
    let server = accepting();
    let ran = muster(&[
        "register",
        "web/nginx",
        "--start",
        "./nginx",
        "--env",
        "PORT=80",
        "-e",
        "MODE=a=b",
        "--env-file",
        "env",
        "--memory-max",
        "100M",
        "--cpu-max",
        "50",
        "--pids-max",
        "64",
        "--nofile",
        "65536",
        "--nproc",
        "100",
        "--core",
        "0",
        "--nice",
        "-5",
        "--umask",
        "027",
        "--log",
        "/var/log/n.log",
        "--log-max-bytes",
        "1.5G",
        "--log-keep",
        "3",
        "--net-max",
        "10M",
        "--health",
        "./check",
        "--start-check",
        "500s",
        "--op-timeout",
        "2m",
        "--interval",
        "7",
    ])
    .file(
        "env",
        "# of the shop\n\nexport NAME=\"a b\"\nPORT=1\nQUOTE='x'\nEMPTY=\n",
    )
    .in_home()
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    let spec = &asked.last().unwrap().body["spec"];
    assert_eq!(
        spec["runtime"],
        json!({
            "env": {"PORT": "80", "MODE": "a=b", "NAME": "a b", "QUOTE": "x", "EMPTY": ""},
            "memory_max": 100 << 20, "cpu_max": 50.0, "pids_max": 64, "nofile": 65_536, "nproc": 100, "core": 0,
            "nice": -5, "umask": "027", "log_max_bytes": 3_u64 << 29, "log_keep": 3, "net_max": 10 << 20,
        })
    );
    assert_eq!(spec["identity"]["log_path"], "/var/log/n.log");
    assert_eq!(spec["control"]["health_cmd"], "./check");
    let policy = &spec["monitor_policy"];
    assert_eq!(policy["start_check_secs"], 500);
    assert_eq!(policy["op_timeout"], 120);
    assert_eq!(policy["start_interval"], 7);
}

#[test]
fn a_file_may_use_units_and_errors_name_its_field() {
    let server = accepting();
    let file = "[control]\nstart_cmd = 'x'\n[identity]\nuser = 'root'\nsetup_path = '/x'\n[monitor_policy]\nop_timeout = '5m'\n";
    let ran = muster(&["register", "a/b", "--file", "d.toml"])
        .file("d.toml", &format!("{file}[runtime]\nmemory_max = '64M'\n"))
        .in_home()
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    let spec = &asked.last().unwrap().body["spec"];
    assert_eq!(spec["runtime"]["memory_max"], 64 << 20);
    assert_eq!(spec["monitor_policy"]["op_timeout"], 300);
    let ran = muster(&["register", "a/b", "--file", "d.toml"])
        .file("d.toml", &format!("{file}[runtime]\nmemory_max = 'lots'\n"))
        .in_home()
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("spec.runtime.memory_max: \"lots\" is not a size"),
        "{ran:?}"
    );
}

#[test]
fn the_only_host_and_the_current_directory_are_the_defaults() {
    let server = accepting();
    let command = muster(&["register", "demo/sleeper", "--start", "sleep 1000"]).in_home();
    let home = command.home().canonicalize().unwrap().display().to_string();
    let ran = command.to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines()[0],
        "GET /api/v1/hosts?connected=true&start=0&limit=5"
    );
    let body = &server.asked()[1].body;
    assert_eq!(body["hosts"], json!(["0:127.0.0.1"]));
    assert_eq!(body["spec"]["identity"]["setup_path"], home.as_str());
    assert_eq!(
        body["spec"]["identity"]["pid_path"],
        format!("{home}/sleeper.pid")
    );
}

#[test]
fn without_a_single_host_somebody_has_to_choose() {
    let run = |hosts: Value| {
        let server = FakeServer::answering(
            200,
            json!({"count": hosts.as_array().unwrap().len(), "hosts": hosts}),
        );
        muster(&["register", "demo/sleeper", "--start", "sleep 1000"])
            .to(&server.url)
            .run()
    };
    let ran = run(json!([{"host": "0:10.0.0.1"}, {"host": "0:10.0.0.2"}]));
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("2 hosts are connected: 0:10.0.0.1, 0:10.0.0.2"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--host @FILE"), "{ran:?}");
    let ran = run(json!([]));
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("no host is connected"), "{ran:?}");
}

#[test]
fn a_file_and_flags_on_top_of_it() {
    let server = accepting();
    let file = "namespace = 'web'\nname = 'nginx'\nhosts = ['10.0.0.9']\n\
        [identity]\nsetup_path = '/opt/nginx'\nuser = 'root'\n[control]\nstart_cmd = './nginx'\n[resource]\ncpu = 5\n";
    let ran = muster(&[
        "register",
        "--file",
        "nginx.toml",
        "--cpu",
        "50",
        "--host",
        "@hosts.txt",
    ])
    .in_home()
    .file("nginx.toml", file)
    .file(
        "hosts.txt",
        "10.0.0.1 # the first\n\n3:10.0.0.2, 10.0.0.1\n",
    )
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let body = &server.asked()[0].body;
    assert_eq!(body["hosts"], json!(["0:10.0.0.1", "3:10.0.0.2"]));
    assert_eq!(body["spec"]["resource"]["cpu"], 50.0);
}

#[test]
fn a_umask_reaches_the_server_as_it_was_written() {
    let server = accepting();
    let file = "hosts = ['10.0.0.1']\n[identity]\nsetup_path = '/opt/nginx'\nuser = 'root'\n\
        [control]\nstart_cmd = './nginx'\n[runtime]\numask = '027'\n";
    let ran = muster(&["register", "web/nginx", "--file", "nginx.toml"])
        .in_home()
        .file("nginx.toml", file)
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.asked()[0].body["spec"]["runtime"],
        json!({"umask": "027"})
    );
}

#[test]
fn the_documented_gse_body_is_accepted() {
    let server = accepting();
    let body = json!({
        "meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
        "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2}],
        "spec": {
            "identity": {"index_key": "", "proc_name": "proc-test", "setup_path": "/data/gsetest/",
                "pid_path": "/data/gsetest/proc-test.pid", "config_path": "/data/gsetest/proc-test.conf",
                "log_path": "/data/gsetest/logs/", "user": "root"},
            "control": {"start_cmd": "./start.sh", "stop_cmd": "./stop.sh"},
            "resource": {"cpu": 10.0, "mem": 10.0, "fd": 10000, "disk": 100, "net": 0},
            "monitor_policy": {"auto_type": 1, "start_check_secs": 5, "stop_check_secs": 5, "start_retries": 3,
                "start_interval": 20, "crotab_rule": ""},
            "warn_report_policy": {"report_id": 0},
            "configmap": [{"path": "", "md5": ""}],
        },
    });
    let ran = muster(&["register", "--file", "-"])
        .stdin(&body.to_string())
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /api/v1/processes/gse/proc-test");
    assert_eq!(asked.body["hosts"], json!(["1:10.0.0.1"]));
    assert_eq!(asked.body["spec"]["monitor_policy"]["start_interval"], 20);
}

#[test]
fn bad_input_is_refused_before_any_request() {
    let server = accepting();
    let run = |args: &[&str]| -> Output {
        muster(args)
            .to(&server.url)
            .in_home()
            .file("x.toml", "[control]\nstart = 1\n")
            .run()
    };
    for (args, part) in [
        (
            &["register", "a/b"][..],
            "spec.identity.proc_name: is required",
        ),
        (&["register", "--start", "x"], "the process has no name"),
        (
            &["register", "a/b", "--start", "x", "--cpu", "101"],
            "spec.resource.cpu: must be a percentage",
        ),
        (
            &[
                "register",
                "a/b",
                "--start",
                "x",
                "--auto-type",
                "periodic",
                "--crontab",
                "* *",
            ],
            "spec.monitor_policy.crontab_rule: must have five fields",
        ),
        (
            &["register", "a/b", "--start", "x", "--host", "10.0.0"],
            "\"10.0.0\" is not a host",
        ),
        (
            &["register", "a/b", "--start", "x", "--host", "@none.txt"],
            "@none.txt: cannot be read",
        ),
        (
            &["register", "a/b", "--file", "none.toml"],
            "none.toml: cannot be read",
        ),
        (
            &["register", "a/b", "--file", "x.toml"],
            "spec.control.start: is unknown",
        ),
        (&["update", "a/b"], "nothing to change"),
    ] {
        let ran = run(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(part), "{args:?}: {ran:?}");
    }
    assert!(server.lines().is_empty(), "{:?}", server.lines());
}

#[test]
fn a_different_registration_is_refused_with_advice() {
    let server = FakeServer::answering(
        409,
        json!({"results": [
        {"host": "0:10.0.0.1", "code": 850, "message": "Fail to register, for the process info already exists."}]}),
    );
    let args = [
        "register",
        "web/nginx",
        "--host",
        "10.0.0.1",
        "--start",
        "x",
    ];
    let ran = muster(&args).to(&server.url).run();
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout
            .contains("0:10.0.0.1  failed (850): Fail to register"),
        "{ran:?}"
    );
    assert!(ran.stdout.ends_with("0 ok, 1 failed\n"), "{ran:?}");
    assert!(ran.stderr.contains("muster update replaces it"), "{ran:?}");
    let ran = muster(&[&args[..], &["-o", "json"]].concat())
        .to(&server.url)
        .run();
    assert_eq!(
        (ran.code, &ran.json()["results"][0]["code"]),
        (1, &json!(850))
    );
}

#[test]
fn an_update_by_flags_changes_only_those() {
    let server = FakeServer::new(|asked| match asked.line.split(' ').next().unwrap() {
        "PUT" => ok(
            json!({"results": [{"host": "0:10.0.0.1", "code": 0, "message": "success", "changed": true}]}),
        ),
        _ if asked.line.contains('?') => {
            ok(json!({"count": 1, "processes": [{"host": "0:10.0.0.1"}]}))
        }
        _ => ok(
            json!({"count": 1, "processes": [{"host": "0:10.0.0.1"}], "definitions": [{"hosts": 1,
            "labels": {"a": "b"}, "spec": {
                "identity": {"proc_name": "nginx", "setup_path": "/opt/nginx", "pid_path": "/run/n.pid", "user": "root"},
                "control": {"start_cmd": "./old", "stop_cmd": "./stop"}, "monitor_policy": {"op_timeout": 7}}}]}),
        ),
    });
    let ran = muster(&["update", "web/nginx", "--start", "./new", "--all"])
        .to(&server.url)
        .run();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "updated web/nginx on 1 host\n"),
        "{ran:?}"
    );
    let asked = server.asked();
    let body = &asked.last().unwrap().body;
    assert_eq!(body["spec"]["control"]["start_cmd"], "./new");
    assert_eq!(body["spec"]["control"]["stop_cmd"], "./stop");
    assert_eq!(body["spec"]["identity"]["pid_path"], "/run/n.pid");
    assert_eq!(body["spec"]["monitor_policy"]["op_timeout"], 7);
    assert_eq!(body["labels"], json!({"a": "b"}));
    assert_eq!(body["hosts"], json!(["0:10.0.0.1"]));
}

#[test]
fn an_update_adds_and_removes_variables_and_labels() {
    let server = FakeServer::new(|asked| match asked.line.split(' ').next().unwrap() {
        "PUT" => ok(json!({"results": [{"host": "0:10.0.0.1", "code": 0, "message": "success"}]})),
        _ if asked.line.contains('?') => {
            ok(json!({"count": 1, "processes": [{"host": "0:10.0.0.1"}]}))
        }
        _ => ok(
            json!({"count": 1, "processes": [{"host": "0:10.0.0.1"}], "definitions": [{"hosts": 1,
            "labels": {"a": "b", "tier": "front"}, "spec": {
                "identity": {"proc_name": "nginx", "setup_path": "/opt/nginx", "pid_path": "/run/n.pid", "user": "root"},
                "control": {"start_cmd": "./n"}, "runtime": {"env": {"A": "1", "B": "2"}, "nofile": 10}}}]}),
        ),
    });
    let ran = muster(&[
        "update",
        "web/nginx",
        "--all",
        "--env",
        "A=3",
        "--unset-env",
        "B",
        "--unset-label",
        "tier",
        "--label",
        "c=d",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    let body = &asked.last().unwrap().body;
    assert_eq!(
        body["spec"]["runtime"],
        json!({"env": {"A": "3"}, "nofile": 10})
    );
    assert_eq!(body["labels"], json!({"a": "b", "c": "d"}));
}

/// A server on which `web/nginx` is registered on `0:10.0.0.1`, or on no host, and which unregisters everything.
fn forgetting(has_it: bool) -> FakeServer {
    FakeServer::new(move |asked| {
        if asked.line.starts_with("GET") {
            let row = json!({"namespace": "web", "name": "nginx", "host": "0:10.0.0.1"});
            let rows = Vec::from_iter(has_it.then_some(row));
            return ok(json!({"count": rows.len(), "processes": rows}));
        }
        let hosts = asked.body["hosts"].as_array().unwrap().iter();
        let result = |host| {
            let changed = has_it && host == "0:10.0.0.1";
            json!({"host": host, "code": 0, "message": "success", "changed": changed})
        };
        ok(json!({"results": hosts.map(result).collect::<Vec<_>>()}))
    })
}

#[test]
fn unregister_takes_hosts_or_all() {
    for choice in [&["--host", "10.0.0.1"][..], &["--all"], &[]] {
        let server = forgetting(true);
        let args = [&["unregister", "web/nginx", "--yes"], choice].concat();
        let ran = muster(&args).to(&server.url).run();
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (0, "forgot web/nginx on 1 host\n", ""),
            "{choice:?}"
        );
        let asked = server.asked().pop().unwrap();
        assert_eq!(asked.line, "DELETE /api/v1/processes/web/nginx");
        assert_eq!(asked.body, json!({"hosts": ["0:10.0.0.1"]}));
    }
    let server = forgetting(true);
    let ran = muster(&["unregister", "web/nginx"]).to(&server.url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("not done: forget web/nginx on 0:10.0.0.1\n"),
        "{ran:?}"
    );
    assert!(server.lines().iter().all(|line| line.starts_with("GET")));
}

#[test]
fn unregistering_an_unknown_process_succeeds() {
    let server = forgetting(false);
    for choice in [&[][..], &["--all"], &["--host", "10.0.0.1,10.0.0.2"]] {
        let args = [&["unregister", "web/nginx", "--yes"], choice].concat();
        let ran = muster(&args).to(&server.url).run();
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, ""),
            "{choice:?} {ran:?}"
        );
        assert!(
            ran.stderr.ends_with("web/nginx was not registered\n"),
            "{ran:?}"
        );
        let ran = muster(&[&args[..], &["-o", "json"]].concat())
            .to(&server.url)
            .run();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.json()["results"].is_array(), "{ran:?}");
    }
    let hosts = "10.0.0.1,10.0.0.2";
    let ran = muster(&["unregister", "web/nginx", "-H", hosts, "--yes"])
        .to(&forgetting(true).url)
        .run();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "forgot web/nginx on 1 host\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .ends_with("web/nginx was not registered on 0:10.0.0.2\n"),
        "{ran:?}"
    );
}

#[test]
fn an_address_that_is_no_muster_server_has_forgotten_nothing() {
    let other = FakeServer::answering(404, json!("no such page"));
    for choice in [&[][..], &["--all"], &["--host", "10.0.0.1"]] {
        let args = [&["unregister", "web/nginx", "--yes"], choice].concat();
        assert_eq!(muster(&args).to(&other.url).run().code, 4, "{choice:?}");
    }
}
