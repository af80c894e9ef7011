//! Probes in `muster status`: their rules and their last results.

use api::HealthView;
use model::UnixMillis;
use model::spec::ProbeKind;
use model::spec::probes::{ProbeRule, ProbeTarget};

use crate::format::{clean, moment};

/// `ok, checked 3s ago`.
pub(super) fn result_text(result: &HealthView, now: UnixMillis) -> String {
    let checked = moment(result.checked_at, now);
    match result.ok {
        true => format!("ok, checked {checked}"),
        false => format!("failing: {}, checked {checked}", clean(&result.message)),
    }
}

/// `http 127.0.0.1:8080/healthz, every 10 s; after 3 failures: restart`.
pub(super) fn rule_text(rule: &ProbeRule, kind: ProbeKind) -> String {
    let target = match &rule.target {
        ProbeTarget::Exec(command) => command.clone(),
        ProbeTarget::Tcp(tcp) => format!("tcp {} port {}", tcp.host(), tcp.port),
        ProbeTarget::Http(http) => {
            let status = Vec::from_iter(http.status.iter().map(ToString::to_string)).join(", ");
            let status = match status.as_str() {
                "" => String::new(),
                status => format!(", status {status}"),
            };
            let body = http.body.as_ref();
            let body = body.map_or_else(String::new, |body| format!(", body with {body:?}"));
            format!(
                "GET {} on {} port {}{status}{body}",
                http.path,
                http.host(),
                http.port
            )
        }
    };
    let successes = match rule.successes() {
        1 => String::new(),
        times => format!(", {times} successes in a row"),
    };
    let delay = match rule.delay_ms() {
        0 => String::new(),
        delay => format!(", the first after {} s", delay / 1000),
    };
    format!(
        "{target}; every {} s, at most {} s each{delay}{successes}; after {} failures in a row: {}",
        rule.interval_ms() / 1000,
        rule.timeout_ms() / 1000,
        rule.failures(),
        rule.action(kind).as_str()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rule: &str, kind: ProbeKind) -> String {
        rule_text(&serde_json::from_str(rule).unwrap(), kind)
    }

    #[test]
    fn a_rule_is_shown_with_its_defaults() {
        assert_eq!(
            text(r#"{"tcp": {"port": 5432}}"#, ProbeKind::Live),
            "tcp 127.0.0.1 port 5432; every 10 s, at most 5 s each; after 3 failures in a row: restart"
        );
        let whole = r#"{"http": {"port": 80, "path": "/h", "host": "::1", "status": [200, "3xx"], "body": "up"},
            "interval": 2, "timeout": 1, "successes": 2, "failures": 4, "delay": 7}"#;
        assert_eq!(
            text(whole, ProbeKind::Ready),
            "GET /h on ::1 port 80, status 200, 3xx, body with \"up\"; every 2 s, at most 1 s each, the first \
             after 7 s, 2 successes in a row; after 4 failures in a row: event"
        );
    }
}
