//! Addresses and credentials of NATS.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ServerAddr};

use crate::mailbox::Mailbox;
use crate::{MAX_LAG, ReplicaId};

/// A server that does not answer about three pings counts as gone; well before other replicas count this one as gone.
const PING_EVERY: Duration = Duration::from_secs(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Messages in the channel of the client. More wait in the outbox, which has a limit in bytes.
const MAX_COMMANDS: usize = 128;
/// Time between two attempts to connect.
const MIN_DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub struct NatsOptions {
    /// Servers of one NATS cluster: `nats://HOST:PORT`, or `tls://HOST:PORT` for encryption. A
    /// `USER:PASSWORD@` or `TOKEN@` before the host is for all of them.
    pub urls: Vec<String>,
    /// The installation: only replicas of the same one receive each other's messages.
    pub cluster: String,
    pub replica: ReplicaId,
    /// The certificate authorities of the NATS servers; None: those of the system.
    pub root_certificates: Option<PathBuf>,
    /// For NATS servers that require one.
    pub client_certificate: Option<ClientCertificate>,
    /// The transport while NATS is down.
    pub mailbox: Option<Arc<dyn Mailbox>>,
}

/// Files in PEM.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl NatsOptions {
    pub fn new(urls: Vec<String>, cluster: impl Into<String>, replica: ReplicaId) -> Self {
        Self {
            urls,
            cluster: cluster.into(),
            replica,
            root_certificates: None,
            client_certificate: None,
            mailbox: None,
        }
    }
}

/// A permanent error of the options.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    #[error("no address of a NATS server is given")]
    NoAddress,
    #[error("{address} is no address of a NATS server: use nats://HOST:PORT or tls://HOST:PORT")]
    Address { address: String },
    #[error(
        "the addresses of the NATS servers name different users: all of them must be reached as the same one"
    )]
    DifferentUsers,
    #[error("cannot read {}, which is to be used with NATS", path.display())]
    File {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("cannot use these settings for NATS")]
    Settings(#[source] async_nats::ConnectError),
}

/// The credentials in an address.
#[derive(Debug, Clone, PartialEq, Eq)]
enum User {
    Token(String),
    Named { user: String, password: String },
}

/// Starts to connect, and tries for ever.
pub(super) async fn connect<Done>(
    options: &NatsOptions,
    on_event: impl Fn(Event) -> Done + Send + Sync + 'static,
) -> Result<Client, NatsError>
where
    Done: Future<Output = ()> + Send + Sync + 'static,
{
    let (addresses, user) = addresses(&options.urls)?;
    let mut connect = ConnectOptions::new()
        .name(format!("muster {}", options.replica))
        .retry_on_initial_connect()
        .no_echo()
        .ping_interval(PING_EVERY)
        .connection_timeout(CONNECT_TIMEOUT)
        .subscription_capacity(MAX_LAG)
        .client_capacity(MAX_COMMANDS)
        .reconnect_delay_callback(delay)
        .event_callback(on_event);
    connect = match user {
        None => connect,
        Some(User::Token(token)) => connect.token(token),
        Some(User::Named { user, password }) => connect.user_and_password(user, password),
    };
    if let Some(path) = &options.root_certificates {
        check_readable(path)?;
        connect = connect.add_root_certificates(path.clone());
    }
    if let Some(ours) = &options.client_certificate {
        check_readable(&ours.certificate)?;
        check_readable(&ours.key)?;
        connect = connect.add_client_certificate(ours.certificate.clone(), ours.key.clone());
    }
    let client = connect.connect(addresses).await;
    client.map_err(NatsError::Settings)
}

fn delay(n_tries: usize) -> Duration {
    let doublings = u32::try_from(n_tries.saturating_sub(1)).unwrap_or(u32::MAX);
    let delay = MIN_DELAY.saturating_mul(2_u32.saturating_pow(doublings));
    delay.min(MAX_DELAY)
}

fn check_readable(path: &Path) -> Result<(), NatsError> {
    let read = std::fs::read(path).map(drop);
    read.map_err(|cause| NatsError::File {
        path: path.to_owned(),
        cause,
    })
}

/// The servers without their credentials, so that no log shows a password.
fn addresses(urls: &[String]) -> Result<(Vec<ServerAddr>, Option<User>), NatsError> {
    let (mut addresses, mut users) = (Vec::new(), Vec::new());
    for url in urls {
        let (address, user) = address(url).ok_or_else(|| NatsError::Address {
            address: without_user(url),
        })?;
        addresses.push(address);
        users.extend(user);
    }
    if addresses.is_empty() {
        return Err(NatsError::NoAddress);
    }
    if users.windows(2).any(|two| two[0] != two[1]) {
        return Err(NatsError::DifferentUsers);
    }
    Ok((addresses, users.pop()))
}

fn address(url: &str) -> Option<(ServerAddr, Option<User>)> {
    let address: ServerAddr = url.parse().ok()?;
    if address.is_websocket() || address.host().is_empty() {
        return None;
    }
    let user = match (address.username(), address.password()) {
        (None, None) => None,
        (Some(token), None) => Some(User::Token(percent_decoded(token)?)),
        (user, Some(password)) => Some(User::Named {
            user: percent_decoded(user.unwrap_or_default())?,
            password: percent_decoded(password)?,
        }),
    };
    let mut url = address.into_inner();
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    Some((ServerAddr::from_url(url).ok()?, user))
}

fn without_user(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, address)) => format!("…@{address}"),
        None => url.to_owned(),
    }
}

/// Decodes `%40` and the like.
fn percent_decoded(text: &str) -> Option<String> {
    let mut plain = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            _ => byte,
        });
    }
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(urls: &[&str]) -> Result<(Vec<ServerAddr>, Option<User>), NatsError> {
        addresses(&urls.iter().map(|&url| url.into()).collect::<Vec<_>>())
    }

    #[test]
    fn the_user_is_taken_out_of_the_addresses() {
        let (addresses, user) = urls(&["nats://ann:p%40ss@one:1", "tls://ann:p%40ss@two"]).unwrap();
        let shown = Vec::from_iter(addresses.iter().map(ServerAddr::as_url_str));
        assert_eq!(shown, ["nats://one:1", "tls://two"]);
        let (user_name, password) = ("ann".into(), "p@ss".into());
        let expected = User::Named {
            user: user_name,
            password,
        };
        assert_eq!(user, Some(expected));
        let (_, user) = urls(&["nats://secret@one", "nats://two"]).unwrap();
        assert_eq!(user, Some(User::Token("secret".into())));
    }

    #[test]
    fn a_refusal_does_not_show_the_password() {
        let refused = |given: &[&str]| urls(given).unwrap_err().to_string();
        assert!(refused(&[]).contains("no address"));
        assert!(refused(&["http://ann:secret@one"]).starts_with("…@one is no address"));
        assert!(refused(&["ws://one"]).contains("ws://one is no address"));
        assert!(refused(&["nats://a:b@one", "nats://c:d@two"]).contains("different users"));
    }

    #[test]
    fn the_delay_doubles_up_to_its_limit() {
        let delays = [0, 1, 2, 3, 4, 5, 6, 1000].map(|n| delay(n).as_millis());
        assert_eq!(delays, [50, 50, 100, 200, 400, 500, 500, 500]);
    }
}
