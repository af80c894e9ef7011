//! Each server: its name, the connection, its certificate, its clock. All servers at the same time, each step with a limit.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use model::UnixMillis;
use model::host_check::HostCheck;
use rustls::{CertificateError, ClientConfig};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wire::enrol::Enrolled;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::identity::FoundIdentity;
use super::{CheckSubject, day};
use crate::config::ServerAddress;
use crate::enrol;
use crate::error::chain;
use crate::identity::Identity;
use crate::tls::{self, WRONG_CA};

/// For each of name, connection, handshake and answer.
const STEP: Duration = Duration::from_secs(3);
/// A name that takes longer delays every connection.
const SLOW_NAME: Duration = Duration::from_secs(1);
const CLOCK_OFF_MS: i64 = 10_000;
/// Certificates are backdated by two days.
const CLOCK_BAD_MS: i64 = 24 * 3600 * 1000;

#[derive(Debug, Default)]
pub(super) struct ServerChecks {
    pub(super) checks: Vec<HostCheck>,
    pub(super) left_out: Vec<String>,
}

/// By what the server is verified.
enum Trust<'a> {
    Enrolment(&'a Identity),
    Fingerprint,
    Nothing,
}

/// How far the server's clock is ahead, or why it is not known.
enum Clock {
    AheadMs(i64),
    NotTold,
    NotReached,
}

pub(super) fn check<G: Clone + Send + 'static>(
    subject: &CheckSubject,
    identity: &FoundIdentity,
    guard: &G,
) -> ServerChecks {
    if subject.servers.is_empty() {
        let left_out = "the servers and the clock: no server is configured (--server, MUSTER_SERVER, or `server` in the file of --config)";
        return ServerChecks {
            left_out: vec![left_out.to_owned()],
            ..ServerChecks::default()
        };
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let message = format!("cannot be checked: {error}");
            let check = HostCheck::no("servers", message, "the host is short of open files");
            return ServerChecks {
                checks: vec![check],
                ..ServerChecks::default()
            };
        }
    };
    runtime.block_on(all(subject, identity, guard))
}

async fn all<G: Clone + Send + 'static>(
    subject: &CheckSubject,
    identity: &FoundIdentity,
    guard: &G,
) -> ServerChecks {
    let identity = identity.enrolled();
    let fingerprint = subject.join.as_ref().and_then(|join| join.0.ca_sha256);
    let trust = match (identity, fingerprint) {
        (Some(identity), _) => Trust::Enrolment(identity),
        (None, Some(_)) => Trust::Fingerprint,
        (None, None) => Trust::Nothing,
    };
    let config = match identity {
        Some(identity) => tls::renewal_config(identity),
        None => tls::enrolment_config(fingerprint).map(|(config, _)| config),
    };
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let check = HostCheck::no("identity", chain(&error), "enrol again with a join token");
            return ServerChecks {
                checks: vec![check],
                ..ServerChecks::default()
            };
        }
    };
    let each = subject.servers.iter().map(|server| Probe {
        server,
        trust: &trust,
        config: &config,
        guard,
    });
    let found = join_all(each.map(Probe::run)).await;
    let mut all = ServerChecks::default();
    let mut clocks = Vec::new();
    for (checks, clock) in found {
        all.checks.extend(checks);
        clocks.push(clock);
    }
    match clock(&clocks) {
        Ok(check) => all.checks.push(check),
        Err(why) => all.left_out.push(format!("the clock: {why}")),
    }
    all
}

/// The checks of one server, each after the one before has succeeded.
struct Probe<'a, G> {
    server: &'a ServerAddress,
    trust: &'a Trust<'a>,
    config: &'a Arc<ClientConfig>,
    guard: &'a G,
}

impl<G: Clone + Send + 'static> Probe<'_, G> {
    async fn run(self) -> (Vec<HostCheck>, Clock) {
        let mut checks = Vec::new();
        let clock = self.steps(&mut checks).await.unwrap_or(Clock::NotReached);
        (checks, clock)
    }

    /// None when a step failed.
    async fn steps(&self, checks: &mut Vec<HostCheck>) -> Option<Clock> {
        let addresses = self.resolve(checks).await?;
        let stream = self.connect(&addresses, checks).await?;
        let stream = self.handshake(stream, checks).await?;
        self.ask(stream, checks).await
    }

    async fn resolve(&self, checks: &mut Vec<HostCheck>) -> Option<Vec<SocketAddr>> {
        let (host, port) = (self.server.host(), self.server.port());
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Some(vec![SocketAddr::new(ip, port)]);
        }
        let name = format!("name {host}");
        let started = Instant::now();
        let hint = "see /etc/resolv.conf and /etc/hosts, or give the server's address in place of its name";
        let addresses = match timeout(STEP, self.look_up()).await {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => {
                let message = format!("cannot be resolved: {}", plain(&error));
                checks.push(HostCheck::no(name, message, hint));
                return None;
            }
            Err(_) => {
                checks.push(HostCheck::no(name, too_slow("the name service"), hint));
                return None;
            }
        };
        let shown: Vec<String> = addresses.iter().map(|at| at.ip().to_string()).collect();
        let took = started.elapsed();
        let found = format!("{} in {} ms", shown.join(", "), took.as_millis());
        checks.push(match () {
            () if addresses.is_empty() => HostCheck::no(name, "has no address", hint),
            () if took > SLOW_NAME => HostCheck::degraded(name, found, hint),
            () => HostCheck::ok(name, found),
        });
        (!addresses.is_empty()).then_some(addresses)
    }

    /// On a thread of its own, which stays if the name service hangs.
    async fn look_up(&self) -> io::Result<Vec<SocketAddr>> {
        let (sender, addresses) = tokio::sync::oneshot::channel();
        let (host, port) = (self.server.host().to_owned(), self.server.port());
        let guard = self.guard.clone();
        std::thread::Builder::new()
            .name("check-name".into())
            .spawn(move || {
                let found = (host.as_str(), port).to_socket_addrs();
                // The reader may have given up.
                let _ = sender.send(found.map(Iterator::collect));
                drop(guard);
            })?;
        addresses
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the lookup failed")))
    }

    async fn connect(
        &self,
        addresses: &[SocketAddr],
        checks: &mut Vec<HostCheck>,
    ) -> Option<TcpStream> {
        let name = format!("connect {}", self.server);
        let started = Instant::now();
        let hint = "is the server up, is this its address for agents (--agents of the server), and does a firewall let it through?";
        match timeout(STEP, TcpStream::connect(addresses)).await {
            Ok(Ok(stream)) => {
                let message = format!("connected in {} ms", started.elapsed().as_millis());
                checks.push(HostCheck::ok(name, message));
                Some(stream)
            }
            Ok(Err(error)) => {
                let message = format!("cannot be reached: {}", plain(&error));
                checks.push(HostCheck::no(name, message, hint));
                None
            }
            Err(_) => {
                checks.push(HostCheck::no(name, too_slow("the server"), hint));
                None
            }
        }
    }

    async fn handshake(
        &self,
        stream: TcpStream,
        checks: &mut Vec<HostCheck>,
    ) -> Option<TlsStream<TcpStream>> {
        let name = format!("certificate {}", self.server);
        let connecting =
            TlsConnector::from(Arc::clone(self.config)).connect(tls::server_name(), stream);
        let stream = match timeout(STEP, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                let (message, hint) = refusal(&error);
                checks.push(HostCheck::no(name, message, hint));
                return None;
            }
            Err(_) => {
                let hint = "is this the server's address for agents (--agents of the server)?";
                checks.push(HostCheck::no(name, too_slow("the server"), hint));
                return None;
            }
        };
        let connection = stream.get_ref().1;
        if connection.alpn_protocol() != Some(wire::enrol::ALPN) {
            let message = "the server does not speak the protocol of agents";
            let hint =
                "is this its address for agents (--agents of the server), not the one for HTTPS?";
            checks.push(HostCheck::no(name, message, hint));
            return None;
        }
        let until = connection
            .peer_certificates()
            .and_then(|chain| chain.first())
            .and_then(|leaf| {
                let (_, certificate) = X509Certificate::from_der(leaf).ok()?;
                Some(certificate.validity().not_after.timestamp())
            });
        let until = until.map_or_else(String::new, |secs| {
            format!("; valid until {}", day(UnixMillis::from_secs(secs)))
        });
        checks.push(match self.trust {
            Trust::Enrolment(_) => {
                HostCheck::ok(name, format!("verified by the CA of the enrolment{until}"))
            }
            Trust::Fingerprint => {
                HostCheck::ok(name, format!("verified by the fingerprint in the join token{until}"))
            }
            Trust::Nothing => HostCheck::degraded(
                name,
                format!("not verified: neither enrolled, nor a join token with a fingerprint{until}"),
                "give the token of muster token create in MUSTER_JOIN_TOKEN to verify the server before anything is sent",
            ),
        });
        Some(stream)
    }

    /// Asks whether the server accepts the agent's certificate, and for its time.
    async fn ask(
        &self,
        stream: TlsStream<TcpStream>,
        checks: &mut Vec<HostCheck>,
    ) -> Option<Clock> {
        let name = format!("accepted by {}", self.server);
        let identity = match self.trust {
            Trust::Enrolment(identity) => Some(*identity),
            Trust::Fingerprint | Trust::Nothing => None,
        };
        let before = crate::session::now();
        let answer = timeout(STEP, enrol::probe(stream, identity)).await;
        let after = crate::session::now();
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                let hint = "see the log of the server; if it revoked this host, give the agent a new join token";
                checks.push(HostCheck::no(name, chain(&error), hint));
                return None;
            }
            Err(_) => {
                let hint = "the server is overloaded, or cannot reach its store";
                checks.push(HostCheck::no(name, too_slow("the server"), hint));
                return None;
            }
        };
        if identity.is_some() {
            checks.push(match answer.refused.as_str() {
                "" => HostCheck::ok(name, "the server accepts the agent's certificate"),
                refused => HostCheck::no(
                    name,
                    refused,
                    "start the agent with a new join token (muster token create)",
                ),
            });
        }
        Some(clock_of(&answer, before, after))
    }
}

fn clock_of(answer: &Enrolled, before: UnixMillis, after: UnixMillis) -> Clock {
    match answer.server_time_ms {
        0 => Clock::NotTold,
        server => Clock::AheadMs(server - (before.0 + (after.0 - before.0) / 2)),
    }
}

/// Judged by the server whose clock differs the least; `Err` says why there is none.
fn clock(clocks: &[Clock]) -> Result<HostCheck, &'static str> {
    let ahead = clocks.iter().filter_map(|clock| match clock {
        Clock::AheadMs(ms) => Some(*ms),
        Clock::NotTold | Clock::NotReached => None,
    });
    let Some(ahead) = ahead.min_by_key(|ms| ms.abs()) else {
        let is_old = clocks.iter().any(|clock| matches!(clock, Clock::NotTold));
        return Err(match is_old {
            true => "the server does not tell its time: it is older than this program",
            false => "no server could be asked",
        });
    };
    let found = match ahead {
        -999..=999 => "less than a second from the server's".to_owned(),
        1000.. => format!("{} s behind the server's", ahead / 1000),
        _ => format!("{} s ahead of the server's", -ahead / 1000),
    };
    let hint = "set the clock, and keep it with chrony or another NTP service";
    Ok(match ahead.abs() {
        ..CLOCK_OFF_MS => HostCheck::ok("clock", found),
        CLOCK_OFF_MS..CLOCK_BAD_MS => HostCheck::degraded(
            "clock",
            found,
            format!("times of events and schedules are wrong by as much: {hint}"),
        ),
        CLOCK_BAD_MS.. => HostCheck::no(
            "clock",
            found,
            format!("certificates are taken for expired: {hint}"),
        ),
    })
}

/// Why a handshake failed, and what to do.
fn refusal(error: &io::Error) -> (String, &'static str) {
    let cause = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::General(text)) if text == WRONG_CA => (
            text.clone(),
            "is the address right, and the token from this server? Nothing was sent",
        ),
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        )) => (
            "the server's certificate is not valid at this time".to_owned(),
            "compare the clocks of this host and of the server",
        ),
        Some(rustls::Error::InvalidCertificate(why)) => (
            format!(
                "the server's certificate is not signed by the CA that this agent trusts: {why:?}"
            ),
            "is the address right? If the server was installed anew, enrol again: new join token, and remove identity.toml from the data folder",
        ),
        Some(rustls::Error::InvalidMessage(_)) => (
            "the server does not speak TLS here".to_owned(),
            "is this its address for agents (--agents of the server), not the one for HTTP?",
        ),
        Some(other) => (
            format!("the handshake failed: {other}"),
            "is this the server's address for agents (--agents of the server)?",
        ),
        None => (
            format!("the handshake failed: {}", plain(error)),
            "is this the server's address for agents (--agents of the server)?",
        ),
    }
}

fn too_slow(who: &str) -> String {
    format!("{who} did not answer within {} s", STEP.as_secs())
}

/// Without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use model::host_check::CheckResult;

    use super::*;

    #[test]
    fn the_clock_is_judged_by_the_nearest_server() {
        let of = |clocks: &[Clock]| clock(clocks).unwrap();
        let check = of(&[
            Clock::AheadMs(50_000),
            Clock::AheadMs(-400),
            Clock::NotReached,
        ]);
        assert_eq!(check.result, CheckResult::Ok, "{check:?}");
        let check = of(&[Clock::AheadMs(50_000)]);
        assert_eq!(check.result, CheckResult::Degraded);
        assert_eq!(check.message, "50 s behind the server's");
        let check = of(&[Clock::AheadMs(-90_000_000)]);
        assert_eq!(check.result, CheckResult::No);
        assert_eq!(check.message, "90000 s ahead of the server's");
        assert!(clock(&[Clock::NotTold]).unwrap_err().contains("older"));
        assert!(clock(&[Clock::NotReached]).is_err());
    }
}
