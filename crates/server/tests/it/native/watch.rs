//! /api/v1/watch.

use std::time::Duration;

use model::{State, Status};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::rig::{APP, Rig, SECRET, spec};

/// Reads until the text holds all of `wanted`.
pub(crate) async fn read_until(stream: &mut TcpStream, wanted: &[&str]) -> String {
    let mut text = String::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while !wanted.iter().all(|part| text.contains(part)) {
            let n = stream.read(&mut buffer).await.unwrap();
            assert_ne!(n, 0, "the stream ended after {text}");
            text += &String::from_utf8_lossy(&buffer[..n]);
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .is_ok();
    assert!(in_time, "{wanted:?} did not come, but {text}");
    text
}

#[tokio::test]
async fn watchers_are_told_of_statuses_tasks_and_agents() {
    let rig = Rig::new().await;
    let headers = [
        ("X-Bkapi-App-Code", APP),
        ("X-Bkapi-App-Secret", SECRET),
        ("X-Bkapi-User-Name", "alice"),
    ];
    let mut all = rig.open("GET", "/api/v1/watch", &headers, b"").await;
    let head = read_until(&mut all, &[": watching"]).await;
    assert!(head.contains("content-type: text/event-stream"));
    let mut other = rig
        .open(
            "GET",
            "/api/v1/watch?namespace=other&kinds=status,task",
            &headers,
            b"",
        )
        .await;
    read_until(&mut other, &[": watching"]).await;

    let agent = rig.agent("0:10.0.0.1").await;
    for name in ["gse/web", "other/web"] {
        let body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
        assert_eq!(
            rig.native("POST", &format!("/processes/{name}"), body)
                .await
                .0,
            200
        );
        let status = Status {
            state: State::Running,
            pid: 7,
            ..Status::default()
        };
        agent.reports(name, status).await;
    }
    let body = json!({"op": "stop", "hosts": ["10.0.0.2"]});
    rig.native("POST", "/processes/gse/web/operate", body).await;
    let text = read_until(
        &mut all,
        &["event: agent", "gse/web", "other/web", "event: task"],
    )
    .await;
    let status = text.lines().find(|line| line.contains("gse/web")).unwrap();
    let status: Value = serde_json::from_str(status.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        (&status["state"], &status["pid"], &status["host"]),
        (&json!("running"), &json!(7), &json!("0:10.0.0.1"))
    );

    let text = read_until(&mut other, &["other/web"]).await;
    assert!(
        !text.contains("gse/web") && !text.contains("event: agent"),
        "{text}"
    );
    // A server that stops ends its watches.
    rig.stop.send_replace(true);
    let mut rest = Vec::new();
    let ending = tokio::time::timeout(Duration::from_secs(20), all.read_to_end(&mut rest));
    ending.await.expect("the watch ends").unwrap();
}
