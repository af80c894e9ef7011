use serde_json::{Value, json};

use super::*;
use crate::Invalid;
use crate::spec::{AutoType, Policy};

fn complete_for(value: Value, auto_type: AutoType) -> Result<Probes, Invalid> {
    let policy = Policy {
        auto_type,
        ..Policy::default()
    };
    serde_json::from_value::<RawProbes>(value)
        .unwrap()
        .complete(&policy)
}

fn complete(value: Value) -> Result<Probes, Invalid> {
    complete_for(value, AutoType::Resident)
}

#[test]
fn all_settings_round_trip_through_json() {
    let given = json!({
        "ready": {
            "http": {"port": "8080", "path": "/healthz", "host": "::1", "status": [200, "2xx", "300-308"], "body": "ok"},
            "interval": "2", "timeout": 3, "successes": 2, "failures": 4, "delay": 1, "action": "restart",
        },
        "live": {"exec": " pgrep x ", "action": "none"},
    });
    let probes = complete(given).unwrap();
    let text = serde_json::to_string(&probes).unwrap();
    assert_eq!(
        text,
        r#"{"ready":{"http":{"port":8080,"path":"/healthz","host":"::1","status":[200,"2xx","300-308"],"body":"ok"},"interval":2,"timeout":3,"successes":2,"failures":4,"delay":1,"action":"restart"},"live":{"exec":"pgrep x","action":"none"}}"#
    );
    assert_eq!(serde_json::from_str::<Probes>(&text).unwrap(), probes);
    let tcp = complete(json!({"live": {"tcp": {"port": 80}}})).unwrap();
    let text = serde_json::to_string(&tcp).unwrap();
    assert_eq!(text, r#"{"live":{"tcp":{"port":80}}}"#);
    assert_eq!(serde_json::from_str::<Probes>(&text).unwrap(), tcp);
}

#[test]
fn what_is_not_given_has_its_default() {
    for absent in [json!({}), json!({"ready": null, "live": null})] {
        assert!(complete(absent).unwrap().is_default());
    }
    let probes = complete(json!({
        "ready": {"http": {"port": 80, "path": "/"}}, "live": {"tcp": {"port": 80, "host": ""}},
    }))
    .unwrap();
    let (ready, live) = (probes.ready.unwrap(), probes.live.unwrap());
    assert_eq!((ready.interval_ms(), ready.timeout_ms()), (10_000, 5_000));
    assert_eq!((ready.successes(), ready.failures()), (1, 3));
    assert_eq!(ready.delay_ms(), 0);
    assert_eq!(ready.action(ProbeKind::Ready), ProbeAction::Event);
    assert_eq!(live.action(ProbeKind::Live), ProbeAction::Restart);
    let ProbeTarget::Http(http) = ready.target else {
        panic!("not http");
    };
    assert_eq!(http.host(), "127.0.0.1");
    for (status, is_accepted) in [(199, false), (200, true), (399, true), (400, false)] {
        assert_eq!(http.accepts(status), is_accepted, "{status}");
    }
    let ProbeTarget::Tcp(tcp) = live.target else {
        panic!("not tcp");
    };
    assert_eq!(tcp.host(), "127.0.0.1");
}

#[test]
fn each_bad_field_is_named_with_its_rule() {
    let http = |field: &str, value: Value| {
        let mut http = json!({"port": 80, "path": "/"});
        http[field] = value;
        json!({"ready": {"http": http}})
    };
    let ready = |field: &str, value: Value| {
        let mut ready = json!({"exec": "true"});
        ready[field] = value;
        json!({ "ready": ready })
    };
    for (value, field) in [
        (json!({"ready": {}}), "ready"),
        (json!({"live": {"exec": " "}}), "live"),
        (json!({"live": {"exec": "a", "tcp": {"port": 1}}}), "live"),
        (
            json!({"live": {"tcp": {"port": 1}, "http": {"port": 1, "path": "/"}}}),
            "live",
        ),
        (ready("exec", json!("x".repeat(16_385))), "ready.exec"),
        (json!({"ready": {"tcp": {}}}), "ready.tcp.port"),
        (json!({"ready": {"tcp": {"port": 0}}}), "ready.tcp.port"),
        (json!({"live": {"tcp": {"port": 65_536}}}), "live.tcp.port"),
        (
            json!({"live": {"tcp": {"port": 1, "host": "http://x"}}}),
            "live.tcp.host",
        ),
        (http("port", json!(null)), "ready.http.port"),
        (http("path", json!(null)), "ready.http.path"),
        (http("path", json!("healthz")), "ready.http.path"),
        (http("path", json!("https://x/")), "ready.http.path"),
        (http("path", json!("/a b")), "ready.http.path"),
        (http("path", json!("/a\r\nX: y")), "ready.http.path"),
        (http("host", json!("a b")), "ready.http.host"),
        (http("status", json!(vec![200; 17])), "ready.http.status"),
        (http("body", json!("x".repeat(1025))), "ready.http.body"),
        (ready("interval", json!(0)), "ready.interval"),
        (ready("interval", json!(86_401)), "ready.interval"),
        (ready("timeout", json!(0)), "ready.timeout"),
        (ready("successes", json!(0)), "ready.successes"),
        (ready("failures", json!(101)), "ready.failures"),
        (ready("delay", json!(-1)), "ready.delay"),
        (ready("delay", json!(60)), "ready.delay"),
    ] {
        assert_eq!(complete(value.clone()).unwrap_err().field, field, "{value}");
    }
    let late = json!({"live": {"exec": "true", "delay": 600}});
    assert!(complete(late).is_ok(), "no start waits for it");
    for auto_type in [AutoType::Periodic, AutoType::OneShot] {
        let invalid = complete_for(json!({"live": {"exec": "true"}}), auto_type).unwrap_err();
        assert_eq!(invalid.field, "live");
        assert!(invalid.rule.contains("auto_type 1"), "{invalid}");
    }
    for bad in [
        json!({"ready": {"action": "stop"}}),
        json!({"ready": {"http": {"status": [20]}}}),
        json!({"ready": {"interval": "soon"}}),
        json!({"ready": {"tcp": 80}}),
        json!({"ready": "tcp"}),
    ] {
        assert!(
            serde_json::from_value::<RawProbes>(bad.clone()).is_err(),
            "{bad}"
        );
    }
}
