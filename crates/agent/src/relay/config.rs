//! The settings of a relay: flag, else environment variable, else file, else default.

use std::net::SocketAddr;
use std::time::Duration;

use model::Invalid;
use relay::{HttpDoor, Settings, WAIT_FOR_SERVER};

use crate::config::parse_servers;
use crate::config::source::{ConfigError, Key, Sources};
use crate::log::{LogFormat, LogLevel};

const DEFAULT_LISTEN: &str = "[::]:7101";
const DEFAULT_CONNECTIONS: usize = 20_000;
const DEFAULT_PER_ADDRESS: usize = 2_048;
/// With one, a long frame of one agent delays the others behind it more; more than a few cost system calls.
const DEFAULT_MULTIPLEX: usize = 2;
const MAX_MULTIPLEX: usize = 64;
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Agent and server end a session after 35 silent seconds themselves.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Below this a relay would end sessions that are only quiet.
const MIN_IDLE_SECS: usize = 40;

const LISTEN: Key = Key::new("listen", "MUSTER_RELAY_LISTEN");
const SERVER: Key = Key::new("server", "MUSTER_SERVER");
const HTTP_LISTEN: Key = Key::new("http_listen", "MUSTER_RELAY_HTTP_LISTEN");
const HTTP_SERVER: Key = Key::new("http_server", "MUSTER_RELAY_HTTP_SERVER");
const METRICS_LISTEN: Key = Key::new("metrics_listen", "MUSTER_RELAY_METRICS_LISTEN");
const MAX_CONNECTIONS: Key = Key::new("max_connections", "MUSTER_RELAY_MAX_CONNECTIONS");
const MAX_PER_ADDRESS: Key = Key::new("max_per_address", "MUSTER_RELAY_MAX_PER_ADDRESS");
const MULTIPLEX: Key = Key::new("multiplex", "MUSTER_RELAY_MULTIPLEX");
const CONNECT_TIMEOUT: Key = Key::new("connect_timeout", "MUSTER_RELAY_CONNECT_TIMEOUT");
const IDLE_TIMEOUT: Key = Key::new("idle_timeout", "MUSTER_RELAY_IDLE_TIMEOUT");
const LOG: Key = Key::new("log", "MUSTER_LOG");
const LOG_FORMAT: Key = Key::new("log_format", "MUSTER_LOG_FORMAT");
const KEYS: [Key; 12] = [
    LISTEN,
    SERVER,
    HTTP_LISTEN,
    HTTP_SERVER,
    METRICS_LISTEN,
    MAX_CONNECTIONS,
    MAX_PER_ADDRESS,
    MULTIPLEX,
    CONNECT_TIMEOUT,
    IDLE_TIMEOUT,
    LOG,
    LOG_FORMAT,
];

/// Shown below the help of `muster-agent relay` and `muster relay`.
pub const EXAMPLES: &str = "\
Examples:
  In a network that cannot reach the servers, on a machine that can:
    muster relay --listen '[::]:7101' --server r1:7101,r2:7101
  The servers accept it when they know its address:
    muster server --relays 10.8.0.5,10.8.0.6
  Agents there connect to it as if it were a server; with two relays they fail over:
    muster-agent --server 10.8.0.5:7101,10.8.0.6:7101 --ip 10.8.0.7
  The API as well, to install agents:
    muster relay --server r1:7101,r2:7101 --http-listen '[::]:7100' --http-server r1:7100,r2:7100
  What would it use?
    muster relay --config /etc/muster/relay.toml --print-config

The same relay is in both programs: muster relay and muster-agent relay. It forwards TLS untouched,
so it needs no certificate, and can neither read nor speak for an agent.
A flag counts before its environment variable, the variable before the file, the file before the
default. Keys of the file, at its top or in a table [relay]: listen, server, http_listen,
http_server, metrics_listen, max_connections, max_per_address, multiplex, connect_timeout,
idle_timeout, log, log_format.";

/// The flags, as `muster-agent relay` and `muster relay` share them.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RelayArgs {
    /// Where agents connect; port 0: any [env: MUSTER_RELAY_LISTEN] [default: port 7101 of all addresses]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Where the servers listen for agents, separated by commas; each connection goes to the next one [env: MUSTER_SERVER]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub server: Vec<String>,
    /// A second address, whose connections go to the API of the servers; port 0: any [env: MUSTER_RELAY_HTTP_LISTEN]
    #[arg(long, value_name = "ADDR")]
    pub http_listen: Option<String>,
    /// Where the API of the servers listens, separated by commas [env: MUSTER_RELAY_HTTP_SERVER]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub http_server: Vec<String>,
    /// Where metrics for Prometheus are served, at /metrics; port 0: any [env: MUSTER_RELAY_METRICS_LISTEN]
    #[arg(long, value_name = "ADDR")]
    pub metrics_listen: Option<String>,
    /// Connections at the same time; each needs an open file, or two without --multiplex [env: MUSTER_RELAY_MAX_CONNECTIONS] [default: 20000]
    #[arg(long, value_name = "N")]
    pub max_connections: Option<String>,
    /// The same from one address [env: MUSTER_RELAY_MAX_PER_ADDRESS] [default: 2048]
    #[arg(long, value_name = "N")]
    pub max_per_address: Option<String>,
    /// Connections to each server that carry all agents; 0: each agent has a connection of its own
    /// [env: MUSTER_RELAY_MULTIPLEX] [default: 2]
    #[arg(long, value_name = "N")]
    pub multiplex: Option<String>,
    /// Seconds to wait for a server before the next one is tried [env: MUSTER_RELAY_CONNECT_TIMEOUT] [default: 5]
    #[arg(long, value_name = "SECONDS")]
    pub connect_timeout: Option<String>,
    /// Seconds without a byte in either direction after which an agent's connection is closed
    /// [env: MUSTER_RELAY_IDLE_TIMEOUT] [default: 90]
    #[arg(long, value_name = "SECONDS")]
    pub idle_timeout: Option<String>,
    /// A TOML file with the same settings [env: MUSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// off, error, warn, info, debug or trace [env: MUSTER_LOG] [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// text or json [env: MUSTER_LOG_FORMAT] [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Print the resulting configuration as TOML, and exit
    #[arg(long)]
    pub print_config: bool,
}

/// A valid configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayConfig {
    pub settings: Settings,
    pub log: LogLevel,
    pub log_format: LogFormat,
}

impl RelayConfig {
    /// Resolves every value. `env` reads an environment variable.
    pub fn resolve(
        args: &RelayArgs,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let sources = Sources::open(args.config.as_deref(), &env, &["relay"], &KEYS)?;
        let address = |key: Key, flag: &Option<String>| {
            sources.pick(key, flag.as_deref(), |text| parse_listen(key.name, text))
        };
        let servers = |key: Key, flag: &[String]| {
            let given = (!flag.is_empty()).then(|| flag.join(","));
            sources.pick(key, given.as_deref(), parse_servers)
        };
        let number = |key: Key, flag: &Option<String>, range: (usize, usize)| {
            sources.pick(key, flag.as_deref(), |text| {
                parse_number(key.name, text, range)
            })
        };
        let seconds = |key: Key, flag: &Option<String>, range| {
            let secs = number(key, flag, range)?;
            Ok::<_, ConfigError>(secs.map(|secs| Duration::from_secs(secs as u64)))
        };
        let http_listen = address(HTTP_LISTEN, &args.http_listen)?;
        let http_servers = servers(HTTP_SERVER, &args.http_server)?;
        let http = match (http_listen, http_servers) {
            (Some(listen), Some(servers)) => Some(HttpDoor { listen, servers }),
            (None, None) => None,
            (Some(_), None) => return Err(ConfigError::missing(HTTP_SERVER)),
            (None, Some(_)) => return Err(ConfigError::missing(HTTP_LISTEN)),
        };
        let listen = match address(LISTEN, &args.listen)? {
            Some(listen) => listen,
            None => DEFAULT_LISTEN.parse().expect("the default is an address"),
        };
        let settings = Settings {
            listen,
            servers: servers(SERVER, &args.server)?.ok_or_else(|| ConfigError::missing(SERVER))?,
            http,
            metrics: address(METRICS_LISTEN, &args.metrics_listen)?,
            max_connections: number(MAX_CONNECTIONS, &args.max_connections, (1, 1_000_000))?
                .unwrap_or(DEFAULT_CONNECTIONS),
            max_per_address: number(MAX_PER_ADDRESS, &args.max_per_address, (1, 1_000_000))?
                .unwrap_or(DEFAULT_PER_ADDRESS),
            multiplex: number(MULTIPLEX, &args.multiplex, (0, MAX_MULTIPLEX))?
                .unwrap_or(DEFAULT_MULTIPLEX),
            connect_timeout: seconds(CONNECT_TIMEOUT, &args.connect_timeout, (1, 60))?
                .unwrap_or(DEFAULT_CONNECT_TIMEOUT),
            wait_for_server: WAIT_FOR_SERVER,
            idle_timeout: seconds(IDLE_TIMEOUT, &args.idle_timeout, (MIN_IDLE_SECS, 86_400))?
                .unwrap_or(DEFAULT_IDLE_TIMEOUT),
        };
        Ok(Self {
            settings,
            log: sources
                .pick(LOG, args.log.as_deref(), LogLevel::parse)?
                .unwrap_or_default(),
            log_format: sources
                .pick(LOG_FORMAT, args.log_format.as_deref(), LogFormat::parse)?
                .unwrap_or_default(),
        })
    }

    /// The configuration as a TOML file that would give it again.
    pub fn to_table(&self) -> toml::Table {
        let settings = &self.settings;
        let list = |servers: &[String]| -> toml::Value {
            let texts = servers.iter().map(|server| server.clone().into());
            toml::Value::Array(texts.collect())
        };
        let number = |n: usize| toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        let seconds = |time: Duration| number(time.as_secs() as usize);
        let mut table = toml::Table::new();
        let mut put = |key: Key, value: toml::Value| table.insert(key.name.into(), value);
        put(LISTEN, settings.listen.to_string().into());
        put(SERVER, list(&settings.servers));
        if let Some(http) = &settings.http {
            put(HTTP_LISTEN, http.listen.to_string().into());
            put(HTTP_SERVER, list(&http.servers));
        }
        if let Some(metrics) = settings.metrics {
            put(METRICS_LISTEN, metrics.to_string().into());
        }
        put(MAX_CONNECTIONS, number(settings.max_connections));
        put(MAX_PER_ADDRESS, number(settings.max_per_address));
        put(MULTIPLEX, number(settings.multiplex));
        put(CONNECT_TIMEOUT, seconds(settings.connect_timeout));
        put(IDLE_TIMEOUT, seconds(settings.idle_timeout));
        put(LOG, self.log.as_str().into());
        put(LOG_FORMAT, self.log_format.as_str().into());
        table
    }
}

fn parse_listen(field: &str, text: &str) -> Result<SocketAddr, Invalid> {
    text.trim().parse().map_err(|_| {
        let rule = format!("must be IP:PORT, an IPv6 address in brackets, not {text:?}");
        Invalid::new(field, rule)
    })
}

fn parse_number(field: &str, text: &str, (least, most): (usize, usize)) -> Result<usize, Invalid> {
    let number = text.trim().parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            let rule = format!("must be a whole number from {least} to {most}, not {text:?}");
            Invalid::new(field, rule)
        })
}
