//! `logs` and `diff`, which agents answer.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Response, ok, status};

/// Output as the server streams it.
fn pieces(text: &str) -> Response {
    Response {
        status: 200,
        headers: "Content-Type: application/x-ndjson\r\n".into(),
        body: text.into(),
    }
}

/// A process on these hosts, whose agents answer so.
fn serving(
    hosts: &'static [&'static str],
    answer: impl Fn(&str) -> Response + Send + 'static,
) -> FakeServer {
    FakeServer::new(move |asked| match asked.line.contains("/logs?") {
        true => answer(&asked.line),
        false => {
            let rows: Vec<Value> = hosts
                .iter()
                .map(|host| json!({"namespace": "web", "name": "nginx", "host": host}))
                .collect();
            ok(json!({"count": rows.len(), "start": 0, "processes": rows}))
        }
    })
}

const ONE: &[&str] = &["0:10.0.0.1"];
const TWO: &[&str] = &["0:10.0.0.1", "7:10.0.0.22"];

#[test]
fn logs_are_shown_as_they_are() {
    let server = serving(ONE, |_| {
        pieces("{}\n{\"text\":\"one\\n\\u001b[31mtw\"}\n{}\n{\"base64\":\"bw==\"}\n")
    });
    let ran = muster(&["logs", "web/nginx", "-H", "10.0.0.1", "-f", "--tail", "5"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "one\n\u{1b}[31mtwo");
    assert_eq!(
        server.lines(),
        ["GET /api/v1/processes/web/nginx/logs?host=0:10.0.0.1&tail=5&follow=true&format=json"]
    );
}

#[test]
fn what_to_show_is_asked_of_the_agent() {
    let server = serving(ONE, |_| pieces("{\"text\":\"one\\n\"}\n"));
    let ran = muster(&[
        "logs",
        "web/nginx",
        "--previous",
        "--since",
        "10m",
        "--grep",
        "a|b c",
    ])
    .to(&server.url)
    .run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\n"), "{ran:?}");
    assert_eq!(
        server.lines().pop().unwrap(),
        "GET /api/v1/processes/web/nginx/logs?host=0:10.0.0.1&tail=100&previous=true&since=600s&grep=a%7Cb%20c&format=json"
    );
}

#[test]
fn a_wrong_selection_is_refused_before_anything_is_sent() {
    let server = serving(ONE, |_| pieces(""));
    for (words, why) in [
        (&["--grep", "("][..], "is no regular expression"),
        (&["--grep", "(?=x)"], "is no regular expression"),
        (&["--since", "soon"], "is not a duration"),
        (&["--previous", "-f"], "cannot be used with"),
        (&["--tail", "1000000"], "is not in"),
        (&["-H", "nowhere"], "invalid value 'nowhere'"),
    ] {
        let ran = muster(&[&["logs", "web/nginx"], words].concat())
            .to(&server.url)
            .run();
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{words:?}: {ran:?}");
    }
    assert!(server.lines().is_empty());
}

#[test]
fn logs_are_documents_for_programs() {
    let server = serving(ONE, |_| {
        pieces("{\"text\":\"one\\ntw\"}\n{\"text\":\"o\"}\n")
    });
    let ran = muster(&["logs", "web/nginx", "-o", "json"])
        .to(&server.url)
        .run();
    assert_eq!(
        ran.stdout,
        "{\"host\":\"0:10.0.0.1\",\"line\":\"one\"}\n{\"host\":\"0:10.0.0.1\",\"line\":\"two\"}\n"
    );
}

#[test]
fn lines_of_several_hosts_begin_with_their_host() {
    let server = serving(TWO, |line| match line.contains("0:10.0.0.1") {
        true => pieces("{\"text\":\"one\\ntw\"}\n{\"text\":\"o\\nend\"}\n"),
        false => pieces("{\"text\":\"three\\n\"}\n"),
    });
    for follow in [&[][..], &["-f"]] {
        let ran = muster(&[&["logs", "web/nginx"], follow].concat())
            .to(&server.url)
            .run();
        assert_eq!(ran.code, 0, "{ran:?}");
        let mut lines: Vec<&str> = ran.stdout.lines().collect();
        // Followed, they come as they come.
        if !follow.is_empty() {
            lines.sort();
            lines[..3].copy_from_slice(&[
                "0:10.0.0.1  | one",
                "0:10.0.0.1  | two",
                "0:10.0.0.1  | end",
            ]);
        }
        assert_eq!(
            lines,
            [
                "0:10.0.0.1  | one",
                "0:10.0.0.1  | two",
                "0:10.0.0.1  | end",
                "7:10.0.0.22 | three"
            ]
        );
    }
    let ran = muster(&["logs", "web/nginx", "-o", "json"])
        .to(&server.url)
        .run();
    assert!(
        ran.stdout
            .ends_with("{\"host\":\"7:10.0.0.22\",\"line\":\"three\"}\n"),
        "{ran:?}"
    );
}

#[test]
fn a_host_that_cannot_answer_does_not_hide_the_others() {
    let away = || {
        let message = "the agent of host 0:10.0.0.1 is not connected";
        status(503, json!({"error": {"code": "away", "message": message}}))
    };
    let server = serving(TWO, move |line| match line.contains("0:10.0.0.1") {
        true => away(),
        false => pieces("{\"text\":\"three\\n\"}\n"),
    });
    let ran = muster(&["logs", "web/nginx"]).to(&server.url).run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.stdout, "7:10.0.0.22 | three\n");
    let warning = "warning: 0:10.0.0.1: the agent of host 0:10.0.0.1 is not connected\n";
    assert_eq!(ran.stderr, warning);
    let server = serving(TWO, move |_| away());
    let ran = muster(&["logs", "web/nginx", "-f"]).to(&server.url).run();
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("no host could show it"), "{ran:?}");
}

#[test]
fn more_hosts_than_the_server_serves_at_once_must_be_chosen_from() {
    let many: Vec<String> = (0..51).map(|n| format!("10.0.0.{n}")).collect();
    let server = serving(ONE, |_| pieces(""));
    let ran = muster(&["logs", "web/nginx", "-H", &many.join(",")])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("51 hosts at once are too many: at most 50")
    );
    let server = serving(&[], |_| pieces(""));
    let ran = muster(&["logs", "web/nginx"]).to(&server.url).run();
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("web/nginx is not registered"));
}

#[test]
fn an_early_end_is_an_error() {
    let server = serving(ONE, |_| {
        pieces("{\"text\":\"one\\n\"}\n{\"end\":\"the agent of host 0:10.0.0.1 disconnected\"}\n")
    });
    let ran = muster(&["logs", "web/nginx", "-f"]).to(&server.url).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "one\n"), "{ran:?}");
    assert!(
        ran.stderr.starts_with(
            "error: the agent of host 0:10.0.0.1 disconnected; the output ends here\n"
        ),
        "{ran:?}"
    );
}

#[test]
fn an_agent_that_is_away_is_not_blamed_on_the_server() {
    let message = "the agent of host 0:10.0.0.1 is not connected";
    let body = json!({"error": {"code": "away", "message": message}});
    for words in [
        &["logs", "web/nginx", "-H", "10.0.0.1"][..],
        &["diff", "--host", "10.0.0.1"][..],
    ] {
        let server = FakeServer::answering(503, body.clone());
        let ran = muster(words).to(&server.url).run();
        assert_eq!(ran.code, 3, "{ran:?}");
        assert_eq!(
            ran.stderr.lines().next().unwrap(),
            format!("error: {message}")
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

#[test]
fn output_that_is_empty_is_said_to_be() {
    let server = serving(ONE, |_| pieces("{}\n"));
    for (words, why) in [
        (&[][..], "it has written nothing"),
        (&["--previous"], "the run before wrote nothing"),
        (&["--since", "5m"], "nothing was written within that time"),
        (&["--grep", "x"], "no line matches"),
    ] {
        let ran = muster(&[&["logs", "web/nginx"], words].concat())
            .to(&server.url)
            .run();
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        assert_eq!(ran.stderr, format!("{why}\n"));
    }
}
