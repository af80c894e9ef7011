//! Flags of `spec.probes`.

use model::spec::probes::{ProbeAction, RawHttpTarget, RawProbeRule, RawTcpTarget, StatusCodes};
use model::spec::{ProbeKind, RawSpec};

use super::parse_secs;
use crate::failure::Failure;

const TARGET_RULE: &str =
    "must be http://HOST:PORT/PATH, tcp://HOST:PORT, exec:COMMAND, or none to remove it";
const SETTINGS: &str = "interval, timeout, successes, failures, delay, action, status and body";

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(super) struct ProbeArgs {
    /// A start ends when this succeeds, and the process is ready while it does: http://127.0.0.1:8080/healthz,
    /// tcp://127.0.0.1:5432, exec:COMMAND, or none
    #[arg(long, value_name = "PROBE", value_parser = parse_target, help_heading = "Probes")]
    ready: Option<TargetArg>,
    /// A setting of the ready probe: interval=2s, timeout=5s, successes=1, failures=3, delay=0s, action=none|restart|event;
    /// of http also status=200,3xx and body=TEXT; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, help_heading = "Probes")]
    ready_set: Vec<Setting>,
    /// It is unhealthy when this fails several times in a row, and restarted; written like --ready
    #[arg(long, value_name = "PROBE", value_parser = parse_target, help_heading = "Probes")]
    live: Option<TargetArg>,
    /// A setting of the live probe; written like --ready-set
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, help_heading = "Probes")]
    live_set: Vec<Setting>,
}

#[derive(Debug, Clone, PartialEq)]
enum TargetArg {
    None,
    Exec(String),
    Tcp {
        host: Option<String>,
        port: i64,
    },
    Http {
        host: Option<String>,
        port: i64,
        path: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
enum Setting {
    Interval(i64),
    Timeout(i64),
    Successes(i64),
    Failures(i64),
    Delay(i64),
    Action(ProbeAction),
    Status(Vec<StatusCodes>),
    Body(String),
}

impl ProbeArgs {
    pub(super) fn apply(&self, spec: &mut RawSpec) -> Result<(), Failure> {
        let probes = spec.probes.get_or_insert_default();
        for (kind, rule, target, settings) in [
            (
                ProbeKind::Ready,
                &mut probes.ready,
                &self.ready,
                &self.ready_set,
            ),
            (
                ProbeKind::Live,
                &mut probes.live,
                &self.live,
                &self.live_set,
            ),
        ] {
            match target {
                Some(TargetArg::None) => *rule = None,
                Some(target) => target.apply(rule.get_or_insert_default()),
                None => {}
            }
            for setting in settings {
                setting
                    .apply(rule.get_or_insert_default())
                    .map_err(|rule| Failure::usage(format!("--{}-set: {rule}", kind.as_str())))?;
            }
        }
        Ok(())
    }
}

impl TargetArg {
    /// Replaces what is tried; how often stays.
    fn apply(&self, rule: &mut RawProbeRule) {
        (rule.exec, rule.tcp, rule.http) = (None, None, None);
        match self.clone() {
            Self::None => {}
            Self::Exec(command) => rule.exec = Some(command),
            Self::Tcp { host, port } => {
                let port = Some(port);
                rule.tcp = Some(RawTcpTarget { port, host });
            }
            Self::Http { host, port, path } => {
                rule.http = Some(RawHttpTarget {
                    port: Some(port),
                    path: Some(path),
                    host,
                    ..RawHttpTarget::default()
                });
            }
        }
    }
}

impl Setting {
    fn apply(&self, rule: &mut RawProbeRule) -> Result<(), String> {
        match self.clone() {
            Self::Interval(secs) => rule.interval = Some(secs),
            Self::Timeout(secs) => rule.timeout = Some(secs),
            Self::Successes(times) => rule.successes = Some(times),
            Self::Failures(times) => rule.failures = Some(times),
            Self::Delay(secs) => rule.delay = Some(secs),
            Self::Action(action) => rule.action = Some(action),
            Self::Status(codes) => http(rule, "status")?.status = Some(codes),
            Self::Body(text) => http(rule, "body")?.body = Some(text),
        }
        Ok(())
    }
}

fn http<'a>(rule: &'a mut RawProbeRule, key: &str) -> Result<&'a mut RawHttpTarget, String> {
    let http = rule.http.as_mut();
    http.ok_or_else(|| format!("{key} is a setting of http probes only"))
}

fn parse_target(text: &str) -> Result<TargetArg, String> {
    if text == "none" {
        return Ok(TargetArg::None);
    }
    if text.starts_with("https://") {
        return Err(
            "https is not supported: use exec: with a client that speaks it, such as curl"
                .to_owned(),
        );
    }
    if let Some(command) = text.strip_prefix("exec:") {
        return Ok(TargetArg::Exec(command.trim().to_owned()));
    }
    if let Some(rest) = text.strip_prefix("http://") {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = host_and_port(authority, Some(80))?;
        let path = if path.is_empty() { "/" } else { path }.to_owned();
        return Ok(TargetArg::Http { host, port, path });
    }
    let authority = text.strip_prefix("tcp://").ok_or(TARGET_RULE)?;
    let (host, port) = host_and_port(authority, None)?;
    Ok(TargetArg::Tcp { host, port })
}

/// `127.0.0.1:80`, `[::1]:80`, `:80`.
fn host_and_port(text: &str, default: Option<i64>) -> Result<(Option<String>, i64), String> {
    let is_bracketed = text.ends_with(']');
    let (host, port) = match text.rsplit_once(':').filter(|_| !is_bracketed) {
        Some((host, port)) => (host, port.parse().ok()),
        None => (text, default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = Some(host.to_owned()).filter(|host| !host.is_empty());
    let port = port.ok_or_else(|| format!("{TARGET_RULE}, not {text:?}: the port is missing"))?;
    Ok((host, port))
}

fn parse_setting(text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    let number = || {
        let number = value.parse::<i64>();
        number.map_err(|_| format!("{key} must be a whole number, not {value:?}"))
    };
    let secs = || parse_secs(value).map_err(|rule| format!("{key}: {rule}"));
    Ok(match key {
        "interval" => Setting::Interval(secs()?),
        "timeout" => Setting::Timeout(secs()?),
        "delay" => Setting::Delay(secs()?),
        "successes" => Setting::Successes(number()?),
        "failures" => Setting::Failures(number()?),
        "action" => Setting::Action(ProbeAction::parse(value).ok_or_else(|| {
            let known = ProbeAction::ALL.map(ProbeAction::as_str).join(", ");
            format!("action must be one of {known}, not {value:?}")
        })?),
        "status" => {
            let codes = value.split(',').map(StatusCodes::parse);
            Setting::Status(codes.collect::<Result<_, _>>()?)
        }
        "body" => Setting::Body(value.to_owned()),
        _ => return Err(format!("must be one of {SETTINGS}, not {key:?}")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn applied(ready: &str, settings: &[&str]) -> Result<Value, String> {
        let args = ProbeArgs {
            ready: Some(parse_target(ready)?),
            ready_set: settings
                .iter()
                .map(|text| parse_setting(text))
                .collect::<Result<_, _>>()?,
            ..ProbeArgs::default()
        };
        let mut spec = RawSpec::default();
        args.apply(&mut spec).map_err(|e| e.what().to_owned())?;
        let probes = serde_json::to_value(spec.probes.unwrap()).unwrap();
        Ok(without_null(probes["ready"].clone()))
    }

    fn without_null(value: Value) -> Value {
        match value {
            Value::Object(fields) => fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_null(value)))
                .collect(),
            value => value,
        }
    }

    #[test]
    fn each_form_of_a_probe_is_read() {
        for (text, expected) in [
            (
                "http://10.0.0.1:8080/a?b",
                json!({"http": {"host": "10.0.0.1", "port": 8080, "path": "/a?b"}}),
            ),
            (
                "http://x",
                json!({"http": {"host": "x", "port": 80, "path": "/"}}),
            ),
            ("http://:81/", json!({"http": {"port": 81, "path": "/"}})),
            (
                "http://[::1]/",
                json!({"http": {"host": "::1", "port": 80, "path": "/"}}),
            ),
            (
                "tcp://[::1]:5432",
                json!({"tcp": {"host": "::1", "port": 5432}}),
            ),
            ("tcp://:5432", json!({"tcp": {"port": 5432}})),
            ("exec: pg_isready -q", json!({"exec": "pg_isready -q"})),
        ] {
            assert_eq!(applied(text, &[]).unwrap(), expected, "{text}");
        }
        let settings = [
            "interval=2s",
            "timeout=1m",
            "delay=3s",
            "successes=2",
            "failures=4",
            "action=none",
            "status=200,3xx",
            "body=a=b",
        ];
        assert_eq!(
            applied("http://:1/", &settings).unwrap(),
            json!({"http": {"port": 1, "path": "/", "status": [200, "3xx"], "body": "a=b"},
                "interval": 2, "timeout": 60, "delay": 3, "successes": 2, "failures": 4, "action": "none"})
        );
        assert_eq!(applied("none", &[]).unwrap(), Value::Null);
    }

    #[test]
    fn bad_forms_are_refused_with_the_rule() {
        for (text, settings, rule) in [
            ("https://x/", vec![], "https is not supported"),
            ("tcp://x", vec![], "the port is missing"),
            ("http://x:y/", vec![], "the port is missing"),
            ("pg_isready", vec![], "must be http://"),
            ("tcp://:1", vec!["status=200"], "of http probes only"),
            (
                "tcp://:1",
                vec!["action=stop"],
                "must be one of none, restart, event",
            ),
            ("tcp://:1", vec!["port=2"], "must be one of interval"),
            (
                "tcp://:1",
                vec!["failures=x"],
                "failures must be a whole number",
            ),
            ("tcp://:1", vec!["interval"], "must be KEY=VALUE"),
            ("http://:1/", vec!["status=20"], "must be a status code"),
        ] {
            let said = applied(text, &settings).unwrap_err();
            assert!(said.contains(rule), "{text} {settings:?}: {said}");
        }
    }
}
