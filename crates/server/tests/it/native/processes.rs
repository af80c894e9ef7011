//! /api/v1/processes, /hosts, /groups.

use model::status::{Exit, HealthResult, LastExit, OomMemory};
use model::{ProcessState, State, Status, UnixMillis};
use serde_json::{Value, json};

use crate::rig::{Rig, spec};

fn body(hosts: Value) -> Value {
    json!({"hosts": hosts, "labels": {"tier": 1}, "spec": spec()})
}

#[tokio::test]
async fn a_process_is_registered_shown_updated_and_unregistered() {
    let rig = Rig::new().await;
    let path = "/processes/gse/web";
    let hosts = json!(["0:10.0.0.1", "10.0.0.2", {"ip": "10.0.0.3", "cloud_id": 7}, {"agent_id": "nobody"}, "bad host"]);
    let (status, answer) = rig.native("POST", path, body(hosts)).await;
    assert_eq!(status, 200);
    let codes: Vec<(&str, i64)> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            (
                result["host"].as_str().unwrap(),
                result["code"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        codes,
        [
            ("0:10.0.0.1", 0),
            ("0:10.0.0.2", 0),
            ("7:10.0.0.3", 0),
            ("nobody", 117),
            ("bad host", 1_000_400)
        ]
    );

    let mut other = body(json!(["10.0.0.1"]));
    other["spec"]["control"]["start_cmd"] = json!("./other.sh");
    let (status, answer) = rig.native("POST", path, other.clone()).await;
    assert_eq!((status, &answer["results"][0]["code"]), (409, &json!(850)));
    let (status, _) = rig.native("PUT", path, other).await;
    assert_eq!(status, 200);

    let (status, shown) = rig.native("GET", path, Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&shown["process"], &shown["count"]),
        (&json!("gse/web"), &json!(3))
    );
    let uses: Vec<&Value> = shown["definitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| &d["hosts"])
        .collect();
    assert_eq!(uses, [&json!(2), &json!(1)]);
    assert_eq!(shown["definitions"][0]["labels"], json!({"tier": "1"}));
    assert_eq!(shown["definitions"][0]["spec"]["identity"]["user"], "root");

    let (status, _) = rig
        .native("DELETE", path, json!({"hosts": ["10.0.0.1"]}))
        .await;
    assert_eq!(status, 200);
    let (_, answer) = rig
        .native("DELETE", &format!("{path}?all=true"), Value::Null)
        .await;
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    let (status, gone) = rig.native("GET", path, Value::Null).await;
    assert_eq!((status, &gone["error"]["code"]), (404, &json!("not_found")));
    let (status, _) = rig
        .native("DELETE", &format!("{path}?all=true"), Value::Null)
        .await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_shown_spec_can_be_registered_again() {
    let rig = Rig::new().await;
    let path = "/processes/gse/web";
    let mut body = body(json!(["10.0.0.1"]));
    let runtime = json!({"env": {"A": "1"}, "nofile": 100, "umask": "027", "cpu_max": 12.5});
    body["spec"]["runtime"] = runtime.clone();
    body["spec"]["configmap"] = json!([{"path": "/a", "md5": "0".repeat(32)}]);
    assert_eq!(rig.native("PUT", path, body.clone()).await.0, 200);
    let shown = |answer: Value| answer["definitions"][0]["spec"].clone();
    let first = shown(rig.native("GET", path, Value::Null).await.1);
    assert_eq!(first["runtime"], runtime);
    body["spec"] = first.clone();
    let (status, answer) = rig.native("PUT", path, body).await;
    assert_eq!((status, &answer["results"][0]["code"]), (200, &json!(0)));
    assert_eq!(shown(rig.native("GET", path, Value::Null).await.1), first);
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    for name in ["a/x", "a/y", "b/x"] {
        let (status, _) = rig
            .native(
                "POST",
                &format!("/processes/{name}"),
                body(json!(["10.0.0.1", "10.0.0.2"])),
            )
            .await;
        assert_eq!(status, 200);
    }
    let running = Status {
        state: State::Running,
        pid: 5,
        cpu: 0.1,
        ..Status::default()
    };
    agent.reports("a/x", running).await;
    for (query, count) in [
        ("", 6),
        ("?namespace=a", 4),
        ("?namespace=a,b&name=x", 4),
        ("?namespace=a&namespace=b", 6),
        ("?host=0:10.0.0.1", 3),
        ("?host=10.0.0.1,10.0.0.2&namespace=b", 2),
        ("?state=running", 1),
        ("?state=unknown", 5),
        ("?managed=true", 0),
        ("?name=nothing", 0),
    ] {
        let (status, page) = rig
            .native("GET", &format!("/processes{query}"), Value::Null)
            .await;
        assert_eq!((status, &page["count"]), (200, &json!(count)), "{query}");
    }
    let (_, page) = rig
        .native("GET", "/processes?start=4&limit=10", Value::Null)
        .await;
    assert_eq!(page["processes"].as_array().unwrap().len(), 2);
    let (_, page) = rig
        .native("GET", "/processes?state=running", Value::Null)
        .await;
    let row = &page["processes"][0];
    assert_eq!(
        (&row["namespace"], &row["name"], &row["host"]),
        (&json!("a"), &json!("x"), &json!("0:10.0.0.1"))
    );
    assert_eq!(
        (&row["state"], &row["flag"], &row["pid"]),
        (&json!("running"), &json!("stopped"), &json!(5))
    );
    assert_eq!(
        (&row["connected"], &row["cpu"], &row["labels"]),
        (&json!(true), &json!(0.1), &json!({"tier": "1"}))
    );
}

#[tokio::test]
async fn a_process_shows_its_state_with_all_that_belongs_to_it() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    for name in ["a/p", "a/q", "a/r"] {
        let hosts = body(json!(["10.0.0.1"]));
        let (status, _) = rig
            .native("POST", &format!("/processes/{name}"), hosts)
            .await;
        assert_eq!(status, 200);
    }
    let waiting = Status {
        state: State::Stopped,
        process_state: ProcessState::Backoff,
        next_at: UnixMillis(1_700_000_060_000),
        restarts: 3,
        last_exit: Some(LastExit {
            oom: true,
            memory: Some(OomMemory {
                used: 104_800_000,
                limit: 104_857_600,
            }),
            ..LastExit::new(Exit::Signal(9), UnixMillis(1_700_000_050_000))
        }),
        ..Status::default()
    };
    agent.reports("a/p", waiting).await;
    let pending = Status {
        state: State::Running,
        process_state: ProcessState::Unhealthy,
        pid: 9,
        health: Some(HealthResult {
            ok: false,
            checked_at: UnixMillis(1_700_000_040_000),
            message: "exited with code 1".into(),
        }),
        restart_needed: true,
        ..Status::default()
    };
    agent.reports("a/q", pending).await;
    // An agent of an earlier version says no more than this.
    let running = Status {
        state: State::Running,
        pid: 10,
        ..Status::default()
    };
    agent.reports("a/r", running).await;
    let rows = |query: &'static str| {
        let rig = &rig;
        async move {
            let path = format!("/processes{query}");
            let (status, page) = rig.native("GET", &path, Value::Null).await;
            assert_eq!(status, 200, "{query}: {page}");
            page["processes"].as_array().unwrap().clone()
        }
    };
    let names = |rows: Vec<Value>| -> Vec<String> {
        let names = rows
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let all = rows("").await;
    let shown = |row: &Value, keys: &[&str]| -> Value {
        keys.iter().map(|key| row[*key].clone()).collect()
    };
    let keys = [
        "state",
        "was",
        "next_at",
        "restarts",
        "pid",
        "restart_needed",
    ];
    assert_eq!(
        shown(&all[0], &keys),
        json!(["backoff", null, 1_700_000_060_000_i64, 3, null, false])
    );
    assert_eq!(
        all[0]["last_exit"],
        json!({"code": null, "signal": 9, "at": 1_700_000_050_000_i64, "oom": true, "memory_used": 104_800_000,
            "memory_limit": 104_857_600, "host_restarted": false})
    );
    assert_eq!(
        shown(&all[1], &keys),
        json!(["unhealthy", null, null, 0, 9, true])
    );
    assert_eq!(
        all[1]["health"],
        json!({"ok": false, "checked_at": 1_700_000_040_000_i64, "message": "exited with code 1"})
    );
    assert_eq!(
        shown(&all[2], &keys),
        json!(["running", null, null, 0, 10, false])
    );
    assert_eq!(
        (&all[2]["last_exit"], &all[2]["health"]),
        (&Value::Null, &Value::Null)
    );
    for (query, found) in [
        ("?state=backoff", &["p"][..]),
        ("?state=running,unhealthy", &["q", "r"]),
        ("?state=backoff&state=running", &["p", "r"]),
        ("?restart_needed=true", &["q"]),
        ("?restart_needed=false", &["p", "r"]),
        ("?order=state", &["q", "p", "r"]),
        ("?order=-state,restarts", &["r", "p", "q"]),
        ("?order=-restarts", &["p", "q", "r"]),
    ] {
        assert_eq!(names(rows(query).await), found, "{query}");
    }
    // The GSE dialects keep their three numbers.
    let asked = json!({"meta": {"namespace": "a"}, "page": {"start": 0, "limit": 10}});
    let answer = rig.esb_ok("sync_proc_status", asked).await;
    let numbers: Vec<(i64, i64)> = answer["proc_infos"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["status"].as_i64().unwrap(),
                row["pid"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(numbers, [(2, -1), (1, 9), (1, 10)]);
    drop(agent);
    assert_eq!(rows("?state=unknown").await.len(), 3, "its agent is away");
    let all = rows("").await;
    assert_eq!(
        shown(&all[0], &keys[..3]),
        json!(["unknown", "backoff", null])
    );
    assert_eq!(
        shown(&all[2], &keys[..3]),
        json!(["unknown", "running", null])
    );
}

#[tokio::test]
async fn names_and_labels_select_processes() {
    let rig = Rig::new().await;
    for (name, host, labels) in [
        ("gse/api", "10.0.0.1", json!({"tier": "front"})),
        ("gse/api", "10.0.0.2", json!({"tier": "back"})),
        (
            "gse/worker",
            "10.0.0.1",
            json!({"tier": "front", "canary": 1}),
        ),
        ("ops/api", "10.0.0.1", json!({})),
    ] {
        let body = json!({"hosts": [host], "labels": labels, "spec": spec()});
        let (_, answer) = rig
            .native("POST", &format!("/processes/{name}"), body.clone())
            .await;
        assert_eq!(answer["results"][0]["changed"], true, "{answer}");
        let (_, again) = rig
            .native("POST", &format!("/processes/{name}"), body)
            .await;
        assert_eq!(again["results"][0]["changed"], false, "{again}");
    }
    let select = async |query: &str| {
        let (status, page) = rig
            .native("GET", &format!("/processes?{query}"), Value::Null)
            .await;
        assert_eq!(status, 200, "{query}: {page}");
        let rows = page["processes"].as_array().unwrap().iter();
        let mut found: Vec<String> = rows
            .map(|row| {
                let text = |key: &str| row[key].as_str().unwrap().to_owned();
                let host = text("host");
                let host = host.rsplit('.').next().unwrap();
                format!("{}/{}.{host}", text("namespace"), text("name"))
            })
            .collect();
        assert_eq!(page["count"], found.len());
        found.sort();
        found.join(" ")
    };
    for (query, found) in [
        ("process=gse/*", "gse/api.1 gse/api.2 gse/worker.1"),
        (
            "process=*/api&process=gse/w?rker",
            "gse/api.1 gse/api.2 gse/worker.1 ops/api.1",
        ),
        (
            "process=%5Bgse,ops%5D/api&host=10.0.0.1",
            "gse/api.1 ops/api.1",
        ),
        ("process=gse/api&label=tier=front", "gse/api.1"),
        ("label=tier", "gse/api.1 gse/api.2 gse/worker.1"),
        ("label=!tier", "ops/api.1"),
        ("label=tier!=front", "gse/api.2 ops/api.1"),
        ("label=tier=front,!canary", "gse/api.1"),
        ("label=tier=front&label=canary", "gse/worker.1"),
        ("process=gse/none", ""),
        ("process=gse/api&namespace=ops", ""),
    ] {
        assert_eq!(select(query).await, found, "{query}");
    }
    for (query, field) in [
        ("process=gse", "process"),
        ("process=gse/%5Ba", "process"),
        ("label==x", "label"),
        (&vec!["process=a/*"; 101].join("&"), "process"),
    ] {
        let (status, answer) = rig
            .native("GET", &format!("/processes?{query}"), Value::Null)
            .await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{query}"
        );
    }
    // Each row names its definition.
    let (_, shown) = rig.native("GET", "/processes/gse/api", Value::Null).await;
    for row in shown["processes"].as_array().unwrap() {
        let definitions = shown["definitions"].as_array().unwrap();
        let own = definitions
            .iter()
            .find(|one| one["id"] == row["definition"]);
        assert_eq!(own.unwrap()["labels"], row["labels"]);
    }
}

#[tokio::test]
async fn bad_requests_name_their_field() {
    let rig = Rig::new().await;
    let path = "/processes/gse/web";
    let mut relative = body(json!(["10.0.0.1"]));
    relative["spec"]["identity"]["setup_path"] = json!("x");
    for (method, path, body, field) in [
        ("POST", path, json!({"spec": spec()}), "hosts"),
        ("POST", path, json!({"hosts": [], "spec": spec()}), "hosts"),
        (
            "POST",
            path,
            json!({"hosts": [5], "spec": spec()}),
            "hosts[0]",
        ),
        ("POST", path, json!({"hosts": ["10.0.0.1"]}), "spec"),
        ("POST", path, relative, "spec.identity.setup_path"),
        (
            "POST",
            "/processes/g%3Ase/web",
            body(json!(["10.0.0.1"])),
            "namespace",
        ),
        ("DELETE", path, json!({}), "hosts"),
        (
            "POST",
            "/processes/gse/web/operate",
            json!({"hosts": ["10.0.0.1"]}),
            "op",
        ),
        (
            "POST",
            "/processes/gse/web/operate",
            json!({"op": "jump", "hosts": ["10.0.0.1"]}),
            "op",
        ),
        (
            "POST",
            "/processes/gse/web/operate",
            json!({"op": "stop"}),
            "hosts",
        ),
        ("POST", "/operate", json!({"operations": []}), "operations"),
        (
            "POST",
            "/operate",
            json!({"operations": [{"process": "x", "op": "stop", "all": true}]}),
            "operations[0].process",
        ),
        (
            "POST",
            "/operate",
            json!({"operations": [{"process": "a/b", "op": "x", "all": true}]}),
            "operations[0].op",
        ),
        ("GET", "/processes?limit=0", Value::Null, "limit"),
        ("GET", "/processes?limit=1001", Value::Null, "limit"),
        ("GET", "/processes?state=up", Value::Null, "state"),
        ("GET", "/processes?state=running,up", Value::Null, "state"),
        (
            "GET",
            "/processes?restart_needed=maybe",
            Value::Null,
            "restart_needed",
        ),
        ("GET", "/processes?order=pid", Value::Null, "order"),
        (
            "GET",
            "/processes?order=cpu,mem,state,started",
            Value::Null,
            "order",
        ),
        ("GET", "/processes?host=nowhere", Value::Null, "host"),
        ("GET", "/tasks/xyz", Value::Null, "id"),
        (
            "GET",
            "/tasks/GSETASK:0000000000000001?wait=soon",
            Value::Null,
            "wait",
        ),
        ("GET", "/hosts/nowhere", Value::Null, "host"),
        (
            "PUT",
            "/hosts/0:10.0.0.1/agent_id",
            json!({"agent_id": "a:b"}),
            "agent_id",
        ),
        ("GET", "/groups/gse", Value::Null, "host"),
        ("POST", "/login", json!({"username": "x"}), "password"),
        (
            "POST",
            "/tokens",
            json!({"expires_in": "soon"}),
            "expires_in",
        ),
        (
            "POST",
            "/apps",
            json!({"code": "x", "namespaces": ["a:b"]}),
            "namespaces[0]",
        ),
        ("GET", "/watch?kinds=noise", Value::Null, "kinds"),
    ] {
        let (status, answer) = rig.native(method, path, body).await;
        assert_eq!(status, 400, "{method} {path}: {answer}");
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["field"]),
            (&json!("invalid"), &json!(field)),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn hosts_are_listed_shown_and_get_agent_ids() {
    let rig = Rig::new().await;
    let _agent = rig.agent("0:10.0.0.1").await;
    rig.native(
        "POST",
        "/processes/gse/web",
        body(json!(["10.0.0.1", "10.0.0.2"])),
    )
    .await;
    let (_, all) = rig.native("GET", "/hosts", Value::Null).await;
    assert_eq!(all["count"], 2);
    let (_, up) = rig
        .native("GET", "/hosts?connected=true", Value::Null)
        .await;
    assert_eq!(
        (&up["count"], &up["hosts"][0]["host"]),
        (&json!(1), &json!("0:10.0.0.1"))
    );
    assert_eq!(
        (&up["hosts"][0]["version"], &up["hosts"][0]["processes"]),
        (&json!("1.2.3"), &json!(1))
    );
    let (status, set) = rig
        .native(
            "PUT",
            "/hosts/0:10.0.0.2/agent_id",
            json!({"agent_id": "a2"}),
        )
        .await;
    assert_eq!((status, &set["results"][0]["code"]), (200, &json!(0)));
    let (_, host) = rig.native("GET", "/hosts/10.0.0.2", Value::Null).await;
    assert_eq!(
        (&host["agent_id"], &host["connected"]),
        (&json!("a2"), &json!(false))
    );
    let (status, _) = rig.native("GET", "/hosts/10.0.0.9", Value::Null).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn groups_are_set_and_listed() {
    let rig = Rig::new().await;
    let groups = json!([{"id": "pool", "resource": {"cpu_pool_limit": 50}}]);
    let set = json!({"hosts": ["10.0.0.1"], "process_group": groups});
    let (status, answer) = rig.native("PUT", "/groups/gse", set).await;
    assert_eq!(
        (status, &answer["results"][0]["code"]),
        (200, &json!(0)),
        "{answer}"
    );
    let (_, list) = rig
        .native("GET", "/groups/gse?host=10.0.0.1,10.0.0.2", Value::Null)
        .await;
    assert_eq!(
        list["groups"][0]["process_group"][0]["resource"]["cpu_pool_limit"],
        50.0
    );
    assert_eq!(
        list["groups"][1],
        json!({"host": "0:10.0.0.2", "process_group": []})
    );
}

#[tokio::test]
async fn a_trailing_slash_changes_nothing() {
    let rig = Rig::new().await;
    for path in [
        "/processes/",
        "/hosts/?limit=5",
        "/tasks/",
        "/processes/gse/web/",
    ] {
        let (status, with) = rig.native("GET", path, Value::Null).await;
        let (_, without) = rig
            .native("GET", &path.replace("/?", "?"), Value::Null)
            .await;
        assert_ne!(status, 405, "{path}");
        assert!(!with.to_string().contains("no API at"), "{path}: {with}");
        assert_eq!(with.get("count"), without.get("count"), "{path}");
    }
}

#[tokio::test]
async fn names_are_listed_by_their_beginning() {
    let rig = Rig::new().await;
    for name in ["web/nginx", "web/napper", "work/x"] {
        let body = json!({"hosts": ["10.0.0.1", "10.0.0.2"], "spec": spec()});
        let (status, answer) = rig
            .native("POST", &format!("/processes/{name}"), body)
            .await;
        assert_eq!(status, 200, "{answer}");
    }
    let (_, found) = rig.native("GET", "/names?prefix=web/n", Value::Null).await;
    assert_eq!(
        found,
        json!({"names": ["web/napper", "web/nginx"], "namespaces": []})
    );
    let (_, found) = rig
        .native("GET", "/names?prefix=w&limit=2", Value::Null)
        .await;
    assert_eq!(
        found,
        json!({"names": ["web/napper", "web/nginx"], "namespaces": ["web", "work"]})
    );
    let gone = json!({"hosts": ["10.0.0.1", "10.0.0.2"]});
    rig.native("DELETE", "/processes/work/x", gone).await;
    let (_, found) = rig.native("GET", "/names?prefix=wo", Value::Null).await;
    assert_eq!(found, json!({"names": [], "namespaces": []}));
}

#[tokio::test]
async fn a_process_may_have_the_name_of_a_list() {
    let rig = Rig::new().await;
    for name in ["view/facets", "view/view-facets", "facets/view"] {
        let path = format!("/processes/{name}");
        let body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
        let (status, answer) = rig.native("POST", &path, body).await;
        assert_eq!(status, 200, "{answer}");
        let (status, answer) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(
            (status, answer["process"].as_str()),
            (200, Some(name)),
            "{answer}"
        );
        let gone = json!({"hosts": ["10.0.0.1"]});
        assert_eq!(rig.native("DELETE", &path, gone).await.0, 200);
    }
}

#[tokio::test]
async fn a_bad_probe_is_named_and_nothing_is_registered() {
    let rig = Rig::new().await;
    for (probes, field) in [
        (json!({"ready": {}}), "spec.probes.ready"),
        (
            json!({"ready": {"http": {"path": "/"}}}),
            "spec.probes.ready.http.port",
        ),
        (
            json!({"ready": {"http": {"port": 80, "path": "https://x"}}}),
            "spec.probes.ready.http.path",
        ),
        (
            json!({"live": {"tcp": {"port": 70_000}}}),
            "spec.probes.live.tcp.port",
        ),
        (
            json!({"live": {"exec": "true", "failures": 0}}),
            "spec.probes.live.failures",
        ),
    ] {
        let mut body = body(json!(["10.0.0.1"]));
        body["spec"]["probes"] = probes;
        let (status, answer) = rig.native("POST", "/processes/a/p", body).await;
        assert_eq!(status, 400, "{field}: {answer}");
        assert_eq!(answer["error"]["field"], field, "{answer}");
    }
    let (_, page) = rig.native("GET", "/processes", Value::Null).await;
    assert_eq!(page["count"], 0);
}
