//! Probes of API requests: every field optional, numbers also as strings.

use serde::{Deserialize, Serialize};

use super::{
    HttpTarget, ProbeAction, ProbeKind, ProbeRule, ProbeTarget, Probes, StatusCodes, TcpTarget,
};
use crate::spec::raw::{MAX_SECS, command, within};
use crate::spec::{AutoType, Policy};
use crate::{Invalid, lenient};

/// How many successes or failures in a row a rule may ask for.
const MAX_IN_A_ROW: i64 = 100;
/// The longest path of a request, in bytes.
const MAX_HTTP_PATH: usize = 2048;
/// The longest text that a body must contain, in bytes. The agent reads 64 KiB of a body.
const MAX_BODY: usize = 1024;
/// How many status codes and ranges a rule may name.
const MAX_STATUS: usize = 16;
/// The longest host name, in bytes.
const MAX_HOST: usize = 253;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawProbes {
    #[serde(deserialize_with = "lenient::object")]
    pub ready: Option<RawProbeRule>,
    #[serde(deserialize_with = "lenient::object")]
    pub live: Option<RawProbeRule>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawProbeRule {
    pub exec: Option<String>,
    #[serde(deserialize_with = "lenient::object")]
    pub tcp: Option<RawTcpTarget>,
    #[serde(deserialize_with = "lenient::object")]
    pub http: Option<RawHttpTarget>,
    #[serde(deserialize_with = "lenient::int")]
    pub interval: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub timeout: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub successes: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub failures: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pub delay: Option<i64>,
    pub action: Option<ProbeAction>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawTcpTarget {
    #[serde(deserialize_with = "lenient::int")]
    pub port: Option<i64>,
    pub host: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawHttpTarget {
    #[serde(deserialize_with = "lenient::int")]
    pub port: Option<i64>,
    pub path: Option<String>,
    pub host: Option<String>,
    pub status: Option<Vec<StatusCodes>>,
    pub body: Option<String>,
}

impl RawProbes {
    /// Validates; errors name the field relative to `probes`.
    pub(in crate::spec) fn complete(self, policy: &Policy) -> Result<Probes, Invalid> {
        let complete = |kind: ProbeKind, rule: Option<RawProbeRule>| {
            rule.map(|rule| rule.complete(kind, policy))
                .transpose()
                .map_err(|e| e.within(kind.as_str()))
        };
        Ok(Probes {
            ready: complete(ProbeKind::Ready, self.ready)?,
            live: complete(ProbeKind::Live, self.live)?,
        })
    }
}

impl RawProbeRule {
    fn complete(self, kind: ProbeKind, policy: &Policy) -> Result<ProbeRule, Invalid> {
        let field = "";
        ensure!(
            policy.auto_type == AutoType::Resident,
            field,
            "needs monitor_policy.auto_type 1 (resident): a periodic or one-shot process ends by itself"
        );
        let exec = command("exec", self.exec)?;
        let target = match (exec.is_empty(), self.tcp, self.http) {
            (false, None, None) => ProbeTarget::Exec(exec),
            (true, Some(tcp), None) => {
                ProbeTarget::Tcp(tcp.complete().map_err(|e| e.within("tcp"))?)
            }
            (true, None, Some(http)) => {
                ProbeTarget::Http(http.complete().map_err(|e| e.within("http"))?)
            }
            (true, None, None) | (false, _, _) | (true, Some(_), Some(_)) => {
                return Err(Invalid::new(
                    field,
                    "must have exactly one of exec, tcp and http",
                ));
            }
        };
        let number = |field, value, least, most| {
            within(field, value, least, most).map(|number| number.map(|number| number as u32))
        };
        let delay = number("delay", self.delay, 0, MAX_SECS)?;
        ensure!(
            kind == ProbeKind::Live || delay.unwrap_or(0) < policy.op_timeout,
            "delay",
            "must be less than monitor_policy.op_timeout, which is {} s: a start waits for this probe",
            policy.op_timeout
        );
        Ok(ProbeRule {
            target,
            interval: number("interval", self.interval, 1, MAX_SECS)?,
            timeout: number("timeout", self.timeout, 1, MAX_SECS)?,
            successes: number("successes", self.successes, 1, MAX_IN_A_ROW)?,
            failures: number("failures", self.failures, 1, MAX_IN_A_ROW)?,
            delay,
            action: self.action,
        })
    }
}

impl RawTcpTarget {
    fn complete(self) -> Result<TcpTarget, Invalid> {
        Ok(TcpTarget {
            port: port(self.port)?,
            host: host(self.host)?,
        })
    }
}

impl RawHttpTarget {
    fn complete(self) -> Result<HttpTarget, Invalid> {
        let path = self.path.unwrap_or_default();
        ensure!(!path.is_empty(), "path", "is required, such as /healthz");
        ensure!(
            path.starts_with('/'),
            "path",
            "must begin with '/', such as /healthz; https is not supported: use exec with a client that speaks it, such as curl"
        );
        ensure!(
            path.len() <= MAX_HTTP_PATH && path.bytes().all(|b| b.is_ascii_graphic()),
            "path",
            "must be at most {MAX_HTTP_PATH} printable ASCII characters without blanks; write others as %XX"
        );
        let status = self.status.unwrap_or_default();
        ensure!(
            status.len() <= MAX_STATUS,
            "status",
            "must be at most {MAX_STATUS} codes and ranges"
        );
        let body = self.body.filter(|body| !body.is_empty());
        ensure!(
            body.as_ref().is_none_or(|body| body.len() <= MAX_BODY),
            "body",
            "must be at most {MAX_BODY} bytes"
        );
        Ok(HttpTarget {
            port: port(self.port)?,
            path,
            host: host(self.host)?,
            status,
            body,
        })
    }
}

fn port(port: Option<i64>) -> Result<u16, Invalid> {
    let port = within("port", port, 1, i64::from(u16::MAX))?;
    port.map(|port| port as u16)
        .ok_or_else(|| Invalid::required("port"))
}

/// A name or an address.
fn host(host: Option<String>) -> Result<Option<String>, Invalid> {
    let host = host.map(|host| host.trim().to_owned());
    let Some(host) = host.filter(|host| !host.is_empty()) else {
        return Ok(None);
    };
    let is_name = host
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':'));
    ensure!(
        is_name && host.len() <= MAX_HOST,
        "host",
        "must be an address or a host name, without scheme and port, not {host:?}"
    );
    Ok(Some(host))
}
