//! /api/v1/watch.

use model::{State, Status};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::rig::{HEADERS, Rig, TIMEOUT, read_until, spec};

#[tokio::test]
async fn a_watch_streams_statuses_tasks_and_agents() {
    let rig = Rig::new().await;
    let mut all = rig.open("GET", "/api/v1/watch", &HEADERS, b"").await;
    let head = read_until(&mut all, &[": watching"]).await;
    assert!(head.contains("content-type: text/event-stream"));
    let mut other = rig
        .open(
            "GET",
            "/api/v1/watch?namespace=other&kinds=status,task",
            &HEADERS,
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
    let ending = tokio::time::timeout(TIMEOUT, all.read_to_end(&mut rest));
    ending.await.expect("the watch ends").unwrap();
}
