//! Limits on texts from agents, and on pages.

use model::bounds::{MAX_HOSTNAME, MAX_MESSAGE, MAX_VERSION};
use model::event::{Event, EventKind};
use model::{Status, UnixMillis};
use serde_json::{Value, json};
use wire::Hello;

use crate::rig::{JOIN, Rig, example};

/// Megabytes of terminal control sequences.
fn hostile() -> String {
    "\u{1b}[2J\u{202e}".repeat(500_000)
}

#[track_caller]
fn check(shown: &Value, max: usize) {
    let shown = shown.as_str().unwrap();
    assert!(shown.chars().count() <= max, "{}", shown.len());
    assert!(shown.starts_with("\\u{202e}\\u{202e}") && shown.ends_with('…'));
}

#[tokio::test]
async fn texts_of_agents_are_limited_in_every_list() {
    let rig = Rig::new().await;
    let agent = rig.agent("1:10.0.0.1").await;
    rig.esb_ok("register_proc_info", example()).await;
    let status = Status {
        version: hostile(),
        message: hostile(),
        ..Status::default()
    };
    agent.reports("gse/proc-test", status).await;
    let (_, page) = rig.native("GET", "/processes", Value::Null).await;
    check(&page["processes"][0]["message"], MAX_MESSAGE);
    check(&page["processes"][0]["version"], MAX_VERSION);
    let page = json!({"meta": {"namespace": "gse"}, "page": {"start": 0, "limit": 10}});
    let data = rig.esb_ok("sync_proc_status", page).await;
    check(&data["proc_infos"][0]["message"], MAX_MESSAGE);

    let event = Event {
        at: UnixMillis(1_700_000_000_000),
        process: "gse/proc-test".parse().unwrap(),
        kind: EventKind::ALL[0],
        reason: hostile(),
        exit: None,
        report_id: 0,
    };
    agent.sends_event(1, &event).await;
    let events = loop {
        let (_, list) = rig.native("GET", "/events", Value::Null).await;
        if list["events"] != json!([]) {
            break list;
        }
    };
    check(&events["events"][0]["reason"], MAX_MESSAGE);
    let host = "1:10.0.0.2".parse().unwrap();
    rig.control
        .enrolment()
        .enrol(JOIN, host, None, None)
        .await
        .unwrap();
    let hello = Hello {
        oldest: 1,
        newest: 1,
        agent_version: hostile(),
        cloud: 1,
        ip: "10.0.0.2".into(),
        hostname: hostile(),
        kernel: hostile(),
        ..Default::default()
    };
    let _session = rig.control.sessions().attach(host, &hello).unwrap();
    let (_, shown) = rig.native("GET", "/hosts/1:10.0.0.2", Value::Null).await;
    check(&shown["hostname"], MAX_HOSTNAME);
    let text = shown.to_string();
    assert!(text.len() < 4 * 1024, "{}", text.len());
}

#[tokio::test]
async fn a_page_is_limited_in_bytes_and_the_next_one_goes_on() {
    /// About 130 KiB each: more than one page, fewer than two.
    const HOSTS: usize = 70;
    let rig = Rig::new().await;
    let labels: serde_json::Map<String, Value> = (0..64)
        .map(|n| (format!("{n:01000}"), json!("x".repeat(1024))))
        .collect();
    let mut body = example();
    body["meta"]["labels"] = json!(labels);
    let hosts = (0..HOSTS).map(|n| json!({"ip": format!("10.0.1.{n}"), "bk_cloud_id": 1}));
    body["hosts"] = hosts.collect();
    rig.esb_ok("register_proc_info", body).await;
    for path in [
        "/processes?limit=1000",
        "/processes/gse/proc-test?limit=1000",
    ] {
        let (mut start, mut pages) = (0, 0);
        while start < HOSTS {
            let query = format!("{path}&start={start}");
            let (status, page) = rig.native("GET", &query, Value::Null).await;
            assert_eq!((status, &page["count"]), (200, &json!(HOSTS)));
            let rows = page["processes"].as_array().unwrap().len();
            assert!(rows > 0);
            let bytes = page["processes"].to_string().len();
            assert!(bytes <= 8 * 1024 * 1024 + 1000, "{bytes}");
            start += rows;
            pages += 1;
        }
        assert_eq!((start, pages), (HOSTS, 2), "{path}");
    }
    // A GSE client gets every row of its page.
    let page = json!({"meta": {"namespace": "gse"}, "page": {"start": 0, "limit": 1000}});
    let data = rig.esb_ok("sync_proc_status", page).await;
    assert_eq!(data["proc_infos"].as_array().unwrap().len(), HOSTS);
}
