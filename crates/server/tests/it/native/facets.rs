//! Filters and facets of /api/v1/processes and of the view, what is blocked in their rows, and the tree of a business.

use model::{ProcessState, State, Status, UnixMillis};
use serde_json::{Value, json};

use crate::gsekit::business::Business;
use crate::rig::{Rig, spec};

async fn get(rig: &Rig, path: &str) -> Value {
    let (status, answer) = rig.native("GET", path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// `value=count`, in the order of the answer.
fn counts(facet: &Value) -> Vec<String> {
    let values = facet["values"].as_array().unwrap().iter();
    let text = |one: &Value| format!("{}={}", one["value"].as_str().unwrap(), one["count"]);
    values.map(text).collect()
}

/// a/x, a/y and b/x on two hosts, one of which is connected, where a/x runs.
async fn six() -> Rig {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    for (name, tier) in [("a/x", "front"), ("a/y", "back"), ("b/x", "front")] {
        let hosts = json!(["10.0.0.1", "7:10.0.0.2"]);
        let mut spec = spec();
        if name == "b/x" {
            spec["control"] = json!({"stop_cmd": "./stop.sh"});
        }
        let body = json!({"hosts": hosts, "labels": {"tier": tier}, "spec": spec});
        let path = format!("/processes/{name}");
        assert_eq!(rig.native("POST", &path, body).await.0, 200);
    }
    let running = Status {
        state: State::Running,
        process_state: ProcessState::Running,
        pid: 5,
        started_at: UnixMillis::from_secs(9),
        ..Status::default()
    };
    agent.reports("a/x", running.clone()).await;
    let stopped = Status {
        state: State::Stopped,
        process_state: ProcessState::Stopped,
        ..Status::default()
    };
    agent.reports("b/x", stopped).await;
    std::mem::forget(agent);
    rig
}

#[tokio::test]
async fn processes_are_filtered_by_everything_that_is_counted() {
    let rig = six().await;
    for (query, count) in [
        ("wanted=stopped", 6),
        ("wanted=running", 0),
        ("connected=true", 3),
        ("connected=false&namespace=a", 2),
        ("cloud=7", 3),
        ("cloud=7,0", 6),
        ("name=x", 4),
        ("name=x,y&namespace=a", 4),
        ("business=2", 0),
        ("env=formal", 0),
        ("version=0.0.0", 0),
        ("q=A/X", 2),
        ("q=7:10.0", 3),
        ("q=back+10.0.0.1", 1),
        ("q=back+nothing", 0),
        ("state=running,unknown&connected=true", 2),
    ] {
        let page = get(&rig, &format!("/processes?{query}")).await;
        assert_eq!(page["count"], json!(count), "{query}");
        let facets = get(&rig, &format!("/processes/facets?by=cloud&{query}")).await;
        assert_eq!(facets["count"], json!(count), "{query}");
    }
    for (query, field) in [
        ("wanted=up", "wanted"),
        ("connected=maybe", "connected"),
        ("cloud=x", "cloud"),
        ("business=x", "business"),
        ("env=all", "env"),
        ("q=a+b+c+d+e+f+g+h+i+j+k", "q"),
        ("fields=name,nothing", "fields"),
        ("order=size", "order"),
    ] {
        let path = format!("/processes?{query}");
        let (status, answer) = rig.native("GET", &path, Value::Null).await;
        let error = &answer["error"];
        assert_eq!((status, &error["field"]), (400, &json!(field)), "{query}");
    }
}

#[tokio::test]
async fn rows_are_sorted_and_have_only_the_fields_that_are_asked_for() {
    let rig = six().await;
    let first = |answer: Value| answer["processes"][0].clone();
    let row = first(get(&rig, "/processes?order=-name&limit=1&fields=name,namespace").await);
    assert_eq!(row, json!({"namespace": "b", "name": "x"}));
    let row = first(get(&rig, "/processes?order=-host,name&limit=1&fields=host,name").await);
    assert_eq!(row, json!({"host": "7:10.0.0.2", "name": "x"}));
    let row = first(get(&rig, "/processes?order=-registered&limit=1&cloud=7").await);
    assert_eq!(row["business"], Value::Null);
    assert_eq!(row["hostname"], Value::Null);
}

#[tokio::test]
async fn facets_count_and_are_not_narrowed_by_their_own_part() {
    let rig = six().await;
    let path = "/processes/facets?by=state,namespace,name,managed,connected,cloud,wanted,version";
    let all = get(&rig, path).await;
    assert_eq!(all["count"], 6);
    let facets = all["facets"].as_array().unwrap();
    let words: Vec<&str> = facets.iter().map(|f| f["by"].as_str().unwrap()).collect();
    assert_eq!(words.len(), 8);
    assert_eq!(words[0], "state");
    assert_eq!(
        counts(&facets[0]),
        ["unknown=4", "running=1", "stopped=1"],
        "unknown while the agent is away"
    );
    assert_eq!(counts(&facets[1]), ["a=4", "b=2"]);
    assert_eq!(counts(&facets[2]), ["x=4", "y=2"]);
    assert_eq!(counts(&facets[4]), ["false=3", "true=3"]);
    let narrowed = get(
        &rig,
        "/processes/facets?by=namespace,name&namespace=b&top=1",
    )
    .await;
    assert_eq!(narrowed["count"], 2);
    assert_eq!(counts(&narrowed["facets"][0]), ["a=4"]);
    assert_eq!(narrowed["facets"][0]["more"], 1);
    assert_eq!(counts(&narrowed["facets"][1]), ["x=2"]);
    for (query, field) in [("", "by"), ("by=size", "by"), ("by=state&top=0", "top")] {
        let path = format!("/processes/facets?{query}");
        let (status, answer) = rig.native("GET", &path, Value::Null).await;
        let error = &answer["error"];
        assert_eq!((status, &error["field"]), (400, &json!(field)), "{query}");
    }
}

#[tokio::test]
async fn rows_say_which_operations_are_blocked_and_why() {
    let rig = six().await;
    let blocked = |answer: &Value| answer["processes"][0]["blocked"].clone();
    let of = |query: &str| format!("/processes?host=10.0.0.1&process={query}");
    let runs = blocked(&get(&rig, &of("a/x")).await);
    assert_eq!(
        runs,
        json!({"start": "already_running", "unmanage": "already_unmanaged"})
    );
    let stopped = blocked(&get(&rig, &of("b/x")).await);
    assert_eq!(
        stopped,
        json!({"start": "no_command", "restart": "no_command", "manage": "no_command", "stop": "already_stopped",
            "kill": "already_stopped", "reload": "not_running", "unmanage": "already_unmanaged"})
    );
    let away = blocked(&get(&rig, "/processes?cloud=7").await);
    assert_eq!(away["restart"], "agent_away");
    assert_eq!(away.as_object().unwrap().len(), 8);
}

#[tokio::test]
async fn the_view_is_counted_and_a_business_has_a_tree() {
    let business = Business::new().await;
    let rig = &business.rig;
    let facets = |query: &'static str| async move {
        let path = format!("/processes/view-facets?business=2&{query}");
        get(rig, &path).await
    };
    let all = facets("by=status,set,module,name,managed,env,cloud,service,state,connected").await;
    assert_eq!(all["count"], 5);
    let sum = |facet: &Value| -> u64 {
        let values = facet["values"].as_array().unwrap().iter();
        values.map(|value| value["count"].as_u64().unwrap()).sum()
    };
    for facet in all["facets"].as_array().unwrap() {
        assert!(sum(facet) >= 5, "{facet}");
    }
    assert_eq!(counts(&all["facets"][0])[0], "running=2");
    let sets = &all["facets"][1]["values"];
    assert!(
        sets.as_array()
            .unwrap()
            .iter()
            .any(|set| set["name"] == "管控平台")
    );
    let narrowed = facets("by=set,status&set=5&status=running").await;
    assert_eq!(narrowed["count"], 2, "{narrowed}");
    assert!(narrowed["facets"][0]["values"].as_array().unwrap().len() <= 2);
    let by_expression = facets("by=set&expr=*.nginx").await;
    assert_eq!(sum(&by_expression["facets"][0]), 3);

    let tree = get(rig, "/businesses/2/tree").await;
    let sets = tree["sets"].as_array().unwrap();
    let total: u64 = sets.iter().map(|set| set["count"].as_u64().unwrap()).sum();
    let running: u64 = sets
        .iter()
        .map(|set| set["running"].as_u64().unwrap())
        .sum();
    assert_eq!((total, running), (5, 2));
    let modules = sets
        .iter()
        .flat_map(|set| set["modules"].as_array().unwrap());
    let in_modules: u64 = modules
        .map(|module| module["count"].as_u64().unwrap())
        .sum();
    assert_eq!(in_modules, 5);
    let formal = get(rig, "/businesses/2/tree?env=formal").await;
    assert_eq!(formal["sets"].as_array().unwrap().len(), sets.len() - 1);
    let (status, _) = rig.native("GET", "/businesses/99/tree", Value::Null).await;
    assert_eq!(status, 404);
    let (status, _) = rig
        .native("GET", "/businesses/2/tree?env=x", Value::Null)
        .await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn the_view_is_searched_by_names_and_ordered_by_state() {
    let business = Business::new().await;
    let rig = &business.rig;
    let ids = |query: &'static str| async move {
        let answer = get(rig, &format!("/processes/view?business=2&{query}")).await;
        let rows = answer["processes"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| row["id"].as_u64().unwrap())
            .collect::<Vec<u64>>()
    };
    assert_eq!(ids("search=NGINX&env=formal").await, [47, 48]);
    assert_eq!(ids("search=10.0.0.2_nginx").await, [47, 48]);
    assert_eq!(ids("order=-status").await[..2], [46, 48]);
    assert_eq!(ids("order=status").await[4..], [48]);
    assert_eq!(ids("order=state,-id").await.len(), 5);
    assert_eq!(ids("order=-started").await.len(), 5);
    let connected = ids("connected=true").await.len() + ids("connected=false").await.len();
    assert_eq!(connected, 5);
    let answer = get(rig, "/processes/view?business=2&status=running").await;
    let row = &answer["processes"][0];
    let instance = &row["instances"][0];
    assert_eq!(instance["wanted"], "running", "{instance}");
    for member in ["cpu", "mem", "started_at", "reported_at"] {
        assert!(instance[member].is_number(), "{member} of {instance}");
    }
    assert_eq!(row["blocked"]["start"], "already_running", "{row}");
    assert_eq!(row["blocked"].get("restart"), None);
    assert_eq!(row["blocked"]["release"], "no_template");
    assert_eq!(
        (&row["reason"], &instance["reason"]),
        (&Value::Null, &Value::Null)
    );
    let away = get(rig, "/processes/view?business=2&id=49").await;
    let row = &away["processes"][0];
    let instance = &row["instances"][0];
    assert_eq!(instance["reason"]["code"], "no_agent", "{row}");
    assert_eq!(row["reason"]["params"]["process"], instance["process"]);
}

#[tokio::test]
async fn a_caller_sees_counts_of_its_namespaces_only() {
    let rig = six().await;
    let app = json!({"code": "limited", "secret": "secret-0123456789", "grants": [
        {"role": "viewer", "namespaces": ["a"]}]});
    assert_eq!(rig.native("POST", "/apps", app).await.0, 201);
    let headers = [
        ("X-Bkapi-App-Code", "limited"),
        ("X-Bkapi-App-Secret", "secret-0123456789"),
    ];
    let ask = |path: &'static str| rig.send("GET", path, &headers, b"");
    let answer = ask("/api/v1/processes/facets?by=namespace&namespace=a")
        .await
        .json();
    assert_eq!(answer["count"], 4);
    assert_eq!(counts(&answer["facets"][0]), ["a=4"]);
    let refused = ask("/api/v1/processes/facets?by=state&namespace=b").await;
    assert_eq!(refused.status, 403);
    let rows = ask("/api/v1/processes").await.json();
    let blocked = rows["processes"][0]["blocked"].as_object().unwrap();
    assert!(blocked.len() == 8 && blocked.values().all(|reason| reason == "role"));
}
