//! Versions of processes, rollbacks, and jobs that update.

use serde_json::{Value, json};

use crate::rig::{Rig, spec};

const VERSIONS: &str = "/processes/web/nginx/versions";

fn with_start(command: &str) -> Value {
    let mut spec = spec();
    spec["control"]["start_cmd"] = command.into();
    spec
}

async fn put(rig: &Rig, hosts: &[&str], command: &str, labels: Value) {
    let body = json!({"hosts": hosts, "spec": with_start(command), "labels": labels});
    let (status, answer) = rig.native("PUT", "/processes/web/nginx", body).await;
    assert_eq!(status, 200, "{answer}");
}

async fn versions(rig: &Rig) -> Vec<Value> {
    let (status, answer) = rig.native("GET", VERSIONS, Value::Null).await;
    assert_eq!(status, 200, "{answer}");
    answer["versions"].as_array().unwrap().clone()
}

#[tokio::test]
async fn versions_are_listed_with_what_they_changed() {
    let rig = Rig::new().await;
    let (status, answer) = rig.native("GET", VERSIONS, Value::Null).await;
    assert_eq!(status, 404, "{answer}");
    put(
        &rig,
        &["10.0.0.1", "10.0.0.2"],
        "./a",
        json!({"tier": "front"}),
    )
    .await;
    put(&rig, &["10.0.0.1"], "./b", json!({"zone": "x"})).await;
    let listed = versions(&rig).await;
    let second = &listed[0];
    assert_eq!(
        (
            &second["number"],
            &second["source"],
            &second["user"],
            &second["hosts"]
        ),
        (&json!(2), &json!("update"), &json!("alice"), &json!(1))
    );
    assert_eq!(
        second["changes"],
        json!([
            {"field": "control.start_cmd", "before": "\"./a\"", "after": "\"./b\""},
            {"field": "labels.tier", "before": "\"front\"", "after": null},
            {"field": "labels.zone", "before": null, "after": "\"x\""},
        ])
    );
    assert_eq!(second["spec"]["control"]["start_cmd"], "./b");
    assert_eq!(
        (&listed[1]["number"], &listed[1]["changes"]),
        (&json!(1), &json!([]))
    );
    let (_, detail) = rig.native("GET", "/processes/web/nginx", Value::Null).await;
    let mut numbers: Vec<i64> = detail["definitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|definition| definition["spec_version"].as_i64().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);
}

#[tokio::test]
async fn a_list_has_the_versions_of_its_rows_where_it_is_asked_for_them() {
    let rig = Rig::new().await;
    put(&rig, &["10.0.0.1", "10.0.0.2"], "./a", json!({})).await;
    put(&rig, &["10.0.0.1"], "./b", json!({})).await;
    // The same definition under another name has numbers of its own.
    let body = json!({"hosts": ["10.0.0.1"], "spec": with_start("./b"), "labels": {}});
    let (status, answer) = rig.native("PUT", "/processes/web/other", body).await;
    assert_eq!(status, 200, "{answer}");
    let numbers = async |query: &str| {
        let path = format!("/processes?{query}");
        let (status, page) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(status, 200, "{page}");
        let rows = page["processes"].as_array().unwrap().iter();
        let mut shown: Vec<String> = rows
            .map(|row| {
                let text = |key: &str| row[key].as_str().unwrap().to_owned();
                format!("{}@{} {}", text("name"), text("host"), row["spec_version"])
            })
            .collect();
        shown.sort();
        shown
    };
    let all = [
        "nginx@0:10.0.0.1 2",
        "nginx@0:10.0.0.2 1",
        "other@0:10.0.0.1 1",
    ];
    assert_eq!(numbers("with_versions=true").await, all);
    let some = "with_versions=true&fields=name,host,spec_version&process=web/nginx";
    assert_eq!(numbers(some).await, all[..2]);
    let none = ["nginx@0:10.0.0.1 null"];
    assert_eq!(numbers("limit=1").await, none);
    let (status, refused) = rig
        .native("GET", "/processes?with_versions=perhaps", Value::Null)
        .await;
    assert_eq!(
        (status, &refused["error"]["field"]),
        (400, &json!("with_versions"))
    );
}

#[tokio::test]
async fn a_rollback_gives_hosts_an_earlier_version_again() {
    let rig = Rig::new().await;
    put(&rig, &["10.0.0.1", "10.0.0.2"], "./a", json!({})).await;
    put(&rig, &["10.0.0.1", "10.0.0.2"], "./b", json!({})).await;
    let path = "/processes/web/nginx/rollback";
    let (status, answer) = rig.native("POST", path, json!({"to": "1"})).await;
    assert_eq!(status, 200, "{answer}");
    let results = answer["results"].as_array().unwrap();
    assert!(results.iter().all(|one| one["changed"] == true), "{answer}");
    let newest = &versions(&rig).await[0];
    assert_eq!(
        (
            &newest["number"],
            &newest["source"],
            &newest["restores"],
            &newest["hosts"]
        ),
        (&json!(3), &json!("rollback"), &json!(1), &json!(2))
    );
    for (body, status, field) in [
        (json!({}), 400, "to"),
        (json!({"to": 0}), 400, "to"),
        (json!({"to": 1, "hosts": []}), 400, "hosts"),
        (json!({"to": 99}), 404, ""),
    ] {
        let (found, answer) = rig.native("POST", path, body.clone()).await;
        assert_eq!(found, status, "{body}: {answer}");
        let named = answer["error"]["field"].as_str().unwrap_or_default();
        assert_eq!(named, field, "{body}: {answer}");
    }
    assert_eq!(
        versions(&rig).await.len(),
        3,
        "what is refused changes nothing"
    );
}

#[tokio::test]
async fn a_job_that_updates_names_the_field_that_is_wrong() {
    let rig = Rig::new().await;
    put(&rig, &["10.0.0.1"], "./a", json!({})).await;
    let good = || json!({"process": "web/nginx", "spec": with_start("./b")});
    let job = |update: Value| json!({"action": "update", "update": update});
    let with = |mut body: Value, key: &str, value: Value| {
        body[key] = value;
        body
    };
    for (body, field) in [
        (
            json!({"action": "update", "filter": {"process": "web/nginx"}}),
            "update",
        ),
        (job(json!({"spec": with_start("./b")})), "update.process"),
        (
            job(with(good(), "process", json!("nginx"))),
            "update.process",
        ),
        (job(json!({"process": "web/nginx"})), "update.spec"),
        (job(with(good(), "version", json!(1))), "update.version"),
        (
            job(json!({"process": "web/nginx", "version": 1, "labels": {"a": "b"}})),
            "update.labels",
        ),
        (
            job(json!({"process": "web/nginx", "version": 0})),
            "update.version",
        ),
        (
            job(with(
                good(),
                "spec",
                json!({"control": {"start_cmd": "./b"}}),
            )),
            "update.spec.identity",
        ),
        (
            with(
                job(good()),
                "filter",
                json!({"process": "web/*", "host": "10.9.9.9"}),
            ),
            "filter",
        ),
        (with(job(good()), "action", json!("restart")), "update"),
        (with(job(good()), "business", json!(2)), "business"),
        (
            json!({"action": "restart", "filter": {"process": "web/nginx"}, "options": {"revert": true}}),
            "options.revert",
        ),
    ] {
        let (status, answer) = rig.native("POST", "/jobs", body.clone()).await;
        assert_eq!(status, 400, "{body}: {answer}");
        let named = answer["error"]["field"].as_str().unwrap_or_default();
        assert!(named.starts_with(field), "{field} {body}: {answer}");
    }
    let unknown = job(json!({"process": "web/nginx", "version": 9}));
    assert_eq!(rig.native("POST", "/jobs", unknown).await.0, 404);
    assert_eq!(
        versions(&rig).await.len(),
        1,
        "what is refused changes nothing"
    );

    // Its only agent is away: the host is not changed, and the job says so.
    let (status, made) = rig.native("POST", "/jobs", job(good())).await;
    assert_eq!((status, &made["targets"]), (202, &json!(1)), "{made}");
    let path = format!("/jobs/{}", made["id"]);
    let view = loop {
        let (_, view) = rig
            .native("GET", &format!("{path}?wait=20s"), Value::Null)
            .await;
        if view["ended_at"] != 0 {
            break view;
        }
    };
    let task = &view["tasks"][0];
    assert_eq!(
        (&task["code"], &task["has"], &task["spec_version"]),
        (&json!(117), &json!("old"), &json!(1)),
        "{view}"
    );
    assert_eq!(
        view["versions"],
        json!([{"spec_version": 1, "has": "old", "hosts": 1}])
    );
    assert_eq!(view["update"]["process"], "web/nginx");
    let (status, answer) = rig
        .native("POST", &format!("{path}/revert"), Value::Null)
        .await;
    assert_eq!(status, 409, "{answer}");
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("changed no host")
    );
}
