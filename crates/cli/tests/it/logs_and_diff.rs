//! `logs` and `diff`, which agents answer.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Response, ok, status};

fn answering(text: &'static str) -> FakeServer {
    FakeServer::new(move |_| Response {
        status: 200,
        headers: "Content-Type: text/plain\r\n".into(),
        body: text.into(),
    })
}

#[test]
fn logs_are_shown_as_they_are() {
    let server = answering("one\n\u{1b}[31mtwo");
    let ran = muster(&["logs", "web/nginx", "-H", "10.0.0.1", "-f", "--tail", "5"])
        .to(&server.url)
        .run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\n\u{1b}[31mtwo"));
    assert_eq!(
        server.lines(),
        ["GET /api/v1/processes/web/nginx/logs?host=0:10.0.0.1&tail=5&follow=true"]
    );
}

#[test]
fn logs_are_documents_for_programs() {
    let server = answering("one\ntwo");
    let ran = muster(&["logs", "web/nginx", "-o", "json"])
        .to(&server.url)
        .run();
    assert_eq!(ran.stdout, "{\"line\":\"one\"}\n{\"line\":\"two\"}\n");
    assert_eq!(
        server.lines(),
        ["GET /api/v1/processes/web/nginx/logs?tail=100"]
    );
}

#[test]
fn an_early_end_is_an_error() {
    let server =
        answering("one\nmuster: the agent of host 0:10.0.0.1 disconnected; the output ends here\n");
    let ran = muster(&["logs", "web/nginx", "-f"]).to(&server.url).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "one\n"), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("error: the agent of host 0:10.0.0.1 disconnected"),
        "{ran:?}"
    );
}

#[test]
fn an_agent_that_is_away_is_not_blamed_on_the_server() {
    let message = "the agent of host 0:10.0.0.1 is not connected";
    let body = json!({"error": {"code": "away", "message": message}});
    for words in [
        &["logs", "web/nginx"][..],
        &["diff", "--host", "10.0.0.1"][..],
    ] {
        let server = FakeServer::answering(503, body.clone());
        let ran = muster(words).to(&server.url).run();
        assert_eq!(ran.code, 3, "{ran:?}");
        assert_eq!(
            ran.stderr,
            format!("error: {message}\n  muster hosts shows whose agents are connected\n")
        );
        assert_eq!(server.lines().len(), 1, "it is not asked again and again");
    }
}

fn held(differs: Value, foreign: Value) -> Value {
    json!({"host": "0:10.0.0.1", "foreign": foreign, "processes": [
        {"process": "web/fine", "wanted": {}, "held": {}, "differs": []},
        {"process": "web/nginx", "wanted": {}, "held": null, "differs": differs},
    ]})
}

fn fleet(answer: Value) -> FakeServer {
    FakeServer::new(move |asked| match asked.line.contains("/held") {
        true => match asked.line.contains("10.0.0.1") {
            true => ok(answer.clone()),
            false => status(500, json!({})),
        },
        false => ok(json!({"count": 3, "start": 0, "hosts": [
            {"host": "0:10.0.0.1", "connected": true, "processes": 2},
            {"host": "0:10.0.0.2", "connected": false, "processes": 2},
            {"host": "0:10.0.0.3", "connected": false, "processes": 0},
        ]})),
    })
}

#[test]
fn diff_shows_only_differences_and_exits_with_1() {
    let foreign = json!([{"process": "web/fine", "pid_path": "/w.pid", "pid": 9, "program": "sleep", "user": "bob"}]);
    let answer = held(json!(["registered, but not held by the agent"]), foreign);
    let server = fleet(answer);
    let ran = muster(&["diff"]).to(&server.url).run();
    assert_eq!(ran.code, 1, "{ran:?}");
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| {
            let cells = line.split("  ").map(str::trim);
            cells.filter(|cell| !cell.is_empty()).collect()
        })
        .collect();
    assert_eq!(
        lines,
        [
            ["HOST", "PROCESS", "DIFFERENCE"],
            [
                "0:10.0.0.1",
                "web/nginx",
                "registered, but not held by the agent"
            ],
            [
                "0:10.0.0.1",
                "web/fine",
                "its pid file /w.pid names 9, which is sleep of user bob"
            ],
        ]
    );
    assert!(ran.stderr.contains("1 host not asked"), "{ran:?}");

    let ran = muster(&["diff", "-o", "json"]).to(&server.url).run();
    assert_eq!(ran.code, 1);
    let document = ran.json();
    assert_eq!(document["differences"], 2);
    assert_eq!(document["away"], json!(["0:10.0.0.2"]));
    let processes = document["hosts"][0]["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 1, "{document}");
}

#[test]
fn diff_exits_with_0_when_all_is_as_wanted() {
    let server = fleet(held(json!([]), json!([])));
    let ran = muster(&["diff", "-H", "10.0.0.1"]).to(&server.url).run();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "no differences on 1 host\n"),
        "{ran:?}"
    );
    let ran = muster(&["diff", "-o", "json", "-q"]).to(&server.url).run();
    assert_eq!((ran.code, ran.json()["differences"].as_u64()), (0, Some(0)));
}
