//! The settings of `muster server` and `muster up`: flag, else environment variable, else file, else default.
//!
//! Every value is text until it has been checked, so a bad one stops the command before anything is opened.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::config::parse_cloud;
use agent::config::source::{Key, Sources};
use agent::log::{LogFormat, LogLevel};
use model::{Host, Invalid};

mod agent_listener;
mod api_listener;

pub use agent_listener::AgentListenerArgs;
pub use api_listener::ApiListenerArgs;

use crate::failure::Failure;
use crate::home;

const DEFAULT_HTTP: &str = "127.0.0.1:7100";
const DEFAULT_AGENTS: &str = "127.0.0.1:7101";
/// The fewest characters of a secret.
const MIN_SECRET: usize = 8;
const DEFAULT_REFRESH: Duration = Duration::from_secs(60);
const DEFAULT_IP: &str = "127.0.0.1";

const DATA: Key = Key::new("data", "MUSTER_DATA");
const HTTP: Key = Key::new("http", "MUSTER_HTTP");
const AGENTS: Key = Key::new("agents", "MUSTER_AGENTS");
const STORE: Key = Key::new("store", "MUSTER_STORE");
const BUS: Key = Key::new("bus", "MUSTER_BUS");
const BUS_CA: Key = Key::new("bus_ca", "MUSTER_BUS_CA");
const APP_CODE: Key = Key::new("app_code", "MUSTER_APP_CODE");
const APP_SECRET: Key = Key::new("app_secret", "MUSTER_APP_SECRET");
const JOIN_TOKEN: Key = Key::new("join_token", "MUSTER_JOIN_TOKEN");
const CMDB_URL: Key = Key::new("cmdb", "MUSTER_CMDB_URL");
const CMDB_APP_CODE: Key = Key::new("cmdb_app_code", "MUSTER_CMDB_APP_CODE");
const CMDB_APP_SECRET: Key = Key::new("cmdb_app_secret", "MUSTER_CMDB_APP_SECRET");
const CMDB_USER: Key = Key::new("cmdb_user", "MUSTER_CMDB_USER");
const CMDB_REFRESH: Key = Key::new("cmdb_refresh", "MUSTER_CMDB_REFRESH");
const LOG: Key = Key::new("log", "MUSTER_LOG");
const LOG_FORMAT: Key = Key::new("log_format", "MUSTER_LOG_FORMAT");
const IP: Key = Key::new("ip", "MUSTER_IP");
const CLOUD_ID: Key = Key::new("cloud_id", "MUSTER_CLOUD_ID");

/// The keys that a file may hold; the last two are for `up` alone.
pub const KEYS: [Key; 29] = [
    DATA,
    HTTP,
    AGENTS,
    STORE,
    BUS,
    BUS_CA,
    agent_listener::CERT_DAYS,
    agent_listener::RATE,
    agent_listener::RELAYS,
    agent_listener::RELAYED_AGENTS,
    agent_listener::DRAIN_TIMEOUT,
    api_listener::TLS_CERT,
    api_listener::TLS_KEY,
    api_listener::CONNECTIONS,
    api_listener::PER_ADDRESS,
    api_listener::ORIGIN,
    api_listener::OUTGOING_CA,
    APP_CODE,
    APP_SECRET,
    JOIN_TOKEN,
    CMDB_URL,
    CMDB_APP_CODE,
    CMDB_APP_SECRET,
    CMDB_USER,
    CMDB_REFRESH,
    LOG,
    LOG_FORMAT,
    IP,
    CLOUD_ID,
];

/// Shown below the help of both verbs.
pub const SOURCES: &str = "\
A flag counts before its environment variable, the variable before the file, the file before the
default. Keys of the file, at its top or in a table [server]: data, http, agents, store, bus,
bus_ca, http_tls_cert, http_tls_key, http_connections, http_connections_per_address, http_origin,
outgoing_ca, agent_cert_days, agent_rate, relays, relayed_agents, drain_timeout, app_code, app_secret, join_token,
cmdb, cmdb_app_code, cmdb_app_secret, cmdb_user, cmdb_refresh, log, log_format; for muster up also
ip and cloud_id.

MUSTER_APP_CODE, MUSTER_APP_SECRET and MUSTER_JOIN_TOKEN (or the file) set the first app and the
first join token, which the server generates otherwise. MUSTER_CMDB_APP_CODE,
MUSTER_CMDB_APP_SECRET and MUSTER_CMDB_USER are the server's credentials at the CMDB. None of them
is a flag, because other users can read the flags of a process.";

#[derive(Debug, Clone, Default, clap::Args)]
pub struct ServerArgs {
    /// Where the API listens; port 0: any [env: MUSTER_HTTP] [default: 127.0.0.1:7100]
    #[arg(long, value_name = "ADDR")]
    pub http: Option<String>,
    /// Where agents connect; port 0: any [env: MUSTER_AGENTS] [default: 127.0.0.1:7101]
    #[arg(long, value_name = "ADDR")]
    pub agents: Option<String>,
    /// Where the data is stored: sqlite:/FILE, or postgres://USER@HOST/DATABASE for several replicas
    /// [env: MUSTER_STORE] [default: SQLite in the data directory]
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// NATS servers for messages between replicas: nats://HOST:PORT, separated by commas [env: MUSTER_BUS] [default: in the store]
    #[arg(long, value_name = "URLS")]
    pub bus: Option<String>,
    /// A PEM file with the CAs to trust for tls:// NATS servers [env: MUSTER_BUS_CA]
    #[arg(long, value_name = "FILE")]
    pub bus_ca: Option<String>,
    #[command(flatten)]
    pub agent_listener: AgentListenerArgs,
    #[command(flatten)]
    pub api_listener: ApiListenerArgs,
    /// A BlueKing CMDB that topology comes from: http://HOST[:PORT] [env: MUSTER_CMDB_URL]
    #[arg(long, value_name = "URL")]
    pub cmdb: Option<String>,
    /// Seconds between two reads of the CMDB [env: MUSTER_CMDB_REFRESH] [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub cmdb_refresh: Option<String>,
    /// A TOML file with the same settings [env: MUSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// off, error, warn, info, debug or trace [env: MUSTER_LOG] [default: info; warn for up]
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// text or json [env: MUSTER_LOG_FORMAT] [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Print the resulting configuration as TOML (or JSON with -o json), without secrets, and exit
    #[arg(long)]
    pub print_config: bool,
}

/// A configuration in which every value is right.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub server: server::Config,
    pub log: LogLevel,
    pub log_format: LogFormat,
}

/// The same with the only host of `up`.
#[derive(Debug, Clone)]
pub struct UpConfig {
    pub server: ServerConfig,
    pub host: Host,
}

impl ServerConfig {
    /// Reads and checks every value. `env` reads one environment variable.
    pub fn resolve(
        args: &ServerArgs,
        data: Option<&str>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let sources = Sources::open(args.config.as_deref(), env, &["server"], &KEYS)?;
        Self::pick(args, data, env, &sources, LogLevel::Info)
    }

    fn pick(
        args: &ServerArgs,
        data: Option<&str>,
        env: &dyn Fn(&str) -> Option<String>,
        sources: &Sources<'_>,
        default_log: LogLevel,
    ) -> Result<Self, Failure> {
        let address = |key: Key, flag: &Option<String>, default: &str| {
            let given = sources.pick(key, flag.as_deref(), |text| parse_address(key.name, text))?;
            match given {
                Some(address) => Ok::<_, Failure>(address),
                None => Ok(parse_address(key.name, default)?),
            }
        };
        let http = address(HTTP, &args.http, DEFAULT_HTTP)?;
        let agents = address(AGENTS, &args.agents, DEFAULT_AGENTS)?;
        if http == agents && http.port() != 0 {
            return Err(Failure::usage(format!(
                "--http and --agents are both {http}: give each its own port"
            )));
        }
        let server = server::Config {
            data: sources
                .pick(DATA, data, parse_directory)?
                .unwrap_or_else(|| home::default_data(env)),
            http,
            agents,
            agent_listener: agent_listener::pick(&args.agent_listener, sources)?,
            http_listener: api_listener::pick(&args.api_listener, sources)?,
            outgoing_ca: api_listener::pick_outgoing_ca(&args.api_listener, sources)?,
            store_url: sources.pick(STORE, args.store.as_deref(), parse_store)?,
            bus: sources
                .pick(BUS, args.bus.as_deref(), parse_bus)?
                .unwrap_or_default(),
            bus_ca: sources.pick(BUS_CA, args.bus_ca.as_deref(), |text| {
                parse_text("bus_ca", text).map(PathBuf::from)
            })?,
            app_code: sources.pick(APP_CODE, None, |text| {
                model::access::parse_handle("app_code", text)
            })?,
            app_secret: sources.pick(APP_SECRET, None, |text| parse_secret("app_secret", text))?,
            join_token: sources.pick(JOIN_TOKEN, None, |text| parse_secret("join_token", text))?,
            cmdb: Self::cmdb(args, sources)?,
        };
        Ok(Self {
            server,
            log: sources
                .pick(LOG, args.log.as_deref(), LogLevel::parse)?
                .unwrap_or(default_log),
            log_format: sources
                .pick(LOG_FORMAT, args.log_format.as_deref(), LogFormat::parse)?
                .unwrap_or_default(),
        })
    }

    fn cmdb(
        args: &ServerArgs,
        sources: &Sources<'_>,
    ) -> Result<Option<server::CmdbConfig>, Failure> {
        let url = sources.pick(CMDB_URL, args.cmdb.as_deref(), parse_cmdb_url)?;
        let text = |key: Key| sources.pick(key, None, |text| parse_text(key.name, text));
        let (code, secret) = (text(CMDB_APP_CODE)?, text(CMDB_APP_SECRET)?);
        let user = text(CMDB_USER)?;
        let refresh = sources.pick(CMDB_REFRESH, args.cmdb_refresh.as_deref(), parse_refresh)?;
        let Some(url) = url else {
            return Ok(None);
        };
        let (Some(app_code), Some(app_secret)) = (code, secret) else {
            return Err(Failure::usage(
                "a CMDB needs credentials: set MUSTER_CMDB_APP_CODE and MUSTER_CMDB_APP_SECRET, or cmdb_app_code and \
                 cmdb_app_secret in the file"
                    .to_owned(),
            ));
        };
        Ok(Some(server::CmdbConfig {
            url,
            app_code,
            app_secret,
            user_name: user.unwrap_or_else(|| "admin".to_owned()),
            refresh_every: refresh.unwrap_or(DEFAULT_REFRESH),
        }))
    }

    /// The configuration as a file that would give it again, but for the secrets.
    pub fn to_table(&self) -> toml::Table {
        let server = &self.server;
        let mut table = toml::Table::new();
        let mut put = |key: Key, text: Option<String>| {
            if let Some(text) = text {
                table.insert(key.name.into(), text.into());
            }
        };
        put(DATA, Some(server.data.display().to_string()));
        put(HTTP, Some(server.http.to_string()));
        put(AGENTS, Some(server.agents.to_string()));
        put(STORE, server.store_url.as_deref().map(without_password));
        let bus: Vec<String> = server.bus.iter().map(|url| without_password(url)).collect();
        put(BUS, (!bus.is_empty()).then(|| bus.join(",")));
        put(BUS_CA, server.bus_ca.as_deref().map(to_text));
        agent_listener::show(&server.agent_listener, &mut put);
        api_listener::show(server, &mut put);
        put(APP_CODE, server.app_code.clone());
        let hidden = |secret: &Option<String>| secret.as_ref().map(|_| "***".to_owned());
        put(APP_SECRET, hidden(&server.app_secret));
        put(JOIN_TOKEN, hidden(&server.join_token));
        if let Some(cmdb) = &server.cmdb {
            put(CMDB_URL, Some(cmdb.url.clone()));
            put(CMDB_APP_CODE, Some(cmdb.app_code.clone()));
            put(CMDB_APP_SECRET, Some("***".to_owned()));
            put(CMDB_USER, Some(cmdb.user_name.clone()));
            let secs = cmdb.refresh_every.as_secs().to_string();
            put(CMDB_REFRESH, Some(secs));
        }
        put(LOG, Some(self.log.as_str().to_owned()));
        put(LOG_FORMAT, Some(self.log_format.as_str().to_owned()));
        table
    }
}

impl UpConfig {
    pub fn resolve(
        args: &ServerArgs,
        (ip, cloud_id): (Option<&str>, Option<&str>),
        data: Option<&str>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let sources = Sources::open(args.config.as_deref(), env, &["up", "server"], &KEYS)?;
        let ip = sources.pick(IP, ip, model::host::parse_ip)?;
        let cloud = sources.pick(CLOUD_ID, cloud_id, parse_cloud)?;
        let ip = match ip {
            Some(ip) => ip,
            None => model::host::parse_ip(DEFAULT_IP)?,
        };
        Ok(Self {
            server: ServerConfig::pick(args, data, env, &sources, LogLevel::Warn)?,
            host: Host::new(cloud.unwrap_or(0), ip),
        })
    }

    pub fn to_table(&self) -> toml::Table {
        let mut table = self.server.to_table();
        table.insert(IP.name.into(), self.host.ip.to_string().into());
        table.insert(CLOUD_ID.name.into(), i64::from(self.host.cloud).into());
        table
    }
}

/// Where the store of a server on this machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    Sqlite {
        data: PathBuf,
        file: PathBuf,
    },
    Postgres {
        url: String,
        /// Without a password.
        shown: String,
    },
}

/// Finds the store as `muster server` would, for commands that work on it directly.
pub fn resolve_store(
    store: Option<&str>,
    config: Option<&str>,
    data: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<StorePlace, Failure> {
    let sources = Sources::open(config, env, &["server"], &KEYS)?;
    let data = sources
        .pick(DATA, data, parse_directory)?
        .unwrap_or_else(|| home::default_data(env));
    let url = sources.pick(STORE, store, parse_store)?;
    Ok(match url {
        None => StorePlace::Sqlite {
            file: data.join("muster.db"),
            data,
        },
        Some(url) => match url.strip_prefix("sqlite:") {
            Some(path) => StorePlace::Sqlite {
                data,
                file: path.strip_prefix("//").unwrap_or(path).into(),
            },
            None => StorePlace::Postgres {
                shown: without_password(&url),
                url,
            },
        },
    })
}

fn to_text(path: &Path) -> String {
    path.display().to_string()
}

fn parse_number(field: &str, text: &str, most: u32) -> Result<u32, Invalid> {
    match text.trim().parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        Ok(_) | Err(_) => Err(Invalid::new(
            field,
            format!("must be a whole number from 1 to {most}, not {text:?}"),
        )),
    }
}

/// An address to listen on; `localhost` is understood, other names are not.
fn parse_address(field: &str, text: &str) -> Result<SocketAddr, Invalid> {
    let text = text.trim();
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map_err(|_| {
        let rule = format!("must be IP:PORT, an IPv6 address in brackets, not {text:?}");
        Invalid::new(field, rule)
    })
}

fn parse_cmdb_url(text: &str) -> Result<String, Invalid> {
    // The address follows the rules of a webhook's.
    model::webhook::WebhookUrl::parse(text)
        .map(|_| text.trim().trim_end_matches('/').to_owned())
        .map_err(|invalid| Invalid::new("cmdb", invalid.rule))
}

fn parse_refresh(text: &str) -> Result<Duration, Invalid> {
    match text.trim().parse() {
        Ok(secs @ 1..=86_400) => Ok(Duration::from_secs(secs)),
        Ok(_) | Err(_) => Err(Invalid::new(
            "cmdb_refresh",
            format!("must be seconds from 1 to 86400, not {text:?}"),
        )),
    }
}

fn parse_store(text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    let schemes = ["sqlite:", "postgres:", "postgresql:"];
    let place = schemes
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .map(|place| place.trim_start_matches('/'));
    match place {
        Some(place) if !place.is_empty() => Ok(text.to_owned()),
        // The value may hold a password, so the message does not show it.
        Some(_) | None => Err(Invalid::new(
            "store",
            "must be sqlite:/path/to/file.db or postgres://USER@HOST/DATABASE",
        )),
    }
}

fn parse_bus(text: &str) -> Result<Vec<String>, Invalid> {
    let urls = text.split(',').map(str::trim).filter(|url| !url.is_empty());
    let urls: Vec<String> = urls.map(str::to_owned).collect();
    let is_good = |url: &String| {
        let place = url.strip_prefix("nats://").or(url.strip_prefix("tls://"));
        place.is_some_and(|place| !place.is_empty())
    };
    match !urls.is_empty() && urls.iter().all(is_good) {
        true => Ok(urls),
        false => Err(Invalid::new(
            "bus",
            "must be nats://HOST:PORT or tls://HOST:PORT, several with commas between",
        )),
    }
}

/// `scheme://user:***@host/…`: a URL without its password. NATS tokens stand in the place of the user.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (before, after) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let after = match after.contains("password") {
        true => after.split('?').next().unwrap_or_default(),
        false => after,
    };
    match before.rsplit_once('@') {
        None => format!("{scheme}://{before}{after}"),
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:***@{host}{after}"),
            None if scheme.starts_with("postgres") => format!("{scheme}://{user}@{host}{after}"),
            None => format!("{scheme}://***@{host}{after}"),
        },
    }
}

/// Absolute, so that the printed configuration is valid in every directory.
fn parse_directory(text: &str) -> Result<PathBuf, Invalid> {
    let path = parse_text("data", text)?;
    std::path::absolute(&path).map_err(|e| Invalid::new("data", format!("{path:?}: {e}")))
}

/// Long enough not to be guessed, and without characters that a shell, a header or a file would change.
fn parse_secret(field: &str, text: &str) -> Result<String, Invalid> {
    match text.len() >= MIN_SECRET && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err(Invalid::new(
            field,
            format!("must be at least {MIN_SECRET} printable ASCII characters without blanks"),
        )),
    }
}

fn parse_text(field: &str, text: &str) -> Result<String, Invalid> {
    match text.trim() {
        "" => Err(Invalid::required(field)),
        text => Ok(text.to_owned()),
    }
}
