//! The agent's configuration: flag, else environment variable, else file, else default.
//!
//! Every value is parsed from text, so that one rule serves all sources and an error can name its source. Opens nothing but
//! the file.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use model::{AgentId, Invalid};
use supervisor::{AllowedPaths, ControlGroups};
use wire::enrol::JoinToken;

mod address;
mod amount;
mod release;
pub mod source;

pub use address::ServerAddress;
pub(crate) use amount::memory_text;
pub use source::ConfigError;

use crate::log::{LogFormat, LogLevel};
use source::{Key, Sources};

const DEFAULT_DATA: &str = "/var/lib/muster-agent";

const SERVER: Key = Key::new("server", "MUSTER_SERVER");
const DATA: Key = Key::new("data", "MUSTER_AGENT_DATA");
const IP: Key = Key::new("ip", "MUSTER_IP");
const CLOUD_ID: Key = Key::new("cloud_id", "MUSTER_CLOUD_ID");
const AGENT_ID: Key = Key::new("agent_id", "MUSTER_AGENT_ID");
const JOIN: Key = Key::new("join", "MUSTER_JOIN_TOKEN");
const MEMORY_MAX: Key = Key::new("memory_max", "MUSTER_AGENT_MEMORY_MAX");
const CPU_MAX: Key = Key::new("cpu_max", "MUSTER_AGENT_CPU_MAX");
const OUTPUT_RUNS: Key = Key::new("output_runs", "MUSTER_OUTPUT_RUNS");
const OUTPUT_MAX: Key = Key::new("output_max", "MUSTER_OUTPUT_MAX");
const CGROUPS: Key = Key::new("cgroups", "MUSTER_CGROUPS");
const RELEASE: Key = Key::new("release", "MUSTER_RELEASE");
const RELEASE_PATHS: Key = Key::new("release_paths", "MUSTER_RELEASE_PATHS");
const LOG: Key = Key::new("log", "MUSTER_LOG");
const LOG_FORMAT: Key = Key::new("log_format", "MUSTER_LOG_FORMAT");
const KEYS: [Key; 15] = [
    SERVER,
    DATA,
    IP,
    CLOUD_ID,
    AGENT_ID,
    JOIN,
    MEMORY_MAX,
    CPU_MAX,
    OUTPUT_RUNS,
    OUTPUT_MAX,
    CGROUPS,
    RELEASE,
    RELEASE_PATHS,
    LOG,
    LOG_FORMAT,
];

/// Shown below `--help`.
pub const EXAMPLES: &str = "\
Examples:
  First start, with the token that the server printed:
    MUSTER_JOIN_TOKEN=… muster-agent --server 10.0.0.1:7101 --data /var/lib/muster-agent
  Later starts need no token:
    muster-agent --server 10.0.0.1:7101
  Several replicas; the agent connects to one of them:
    muster-agent --server r1:7101,r2:7101,r3:7101
  From a file (keys: server, data, ip, cloud_id, agent_id, join, memory_max, cpu_max, output_runs,
  output_max, cgroups, release, release_paths, log, log_format; at the top or in a table [agent]):
    muster-agent --config /etc/muster/agent.toml
  What would it use?
    muster-agent --config /etc/muster/agent.toml --print-config
  Does the server take the token? The host joins, and the agent starts later:
    MUSTER_JOIN_TOKEN=… muster-agent --config /etc/muster/agent.toml --join-only

A flag counts before its environment variable, the variable before the file, the file before the
default.
Stopping the agent leaves every process running.";

/// The flags, as `muster-agent` and `muster agent` share them.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AgentArgs {
    /// Where servers listen for agents, separated by commas; each agent tries them in a random order [env: MUSTER_SERVER]
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub server: Vec<String>,
    /// Where identity and journal are kept [env: MUSTER_AGENT_DATA] [default: /var/lib/muster-agent]
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// The address that this host is known by; only for enrolment [env: MUSTER_IP]
    /// [default: the one by which it reaches the server]
    #[arg(long, value_name = "IP")]
    pub ip: Option<String>,
    /// The cloud area that this host lies in [env: MUSTER_CLOUD_ID] [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub cloud_id: Option<String>,
    /// An id for this agent; without it the server chooses one [env: MUSTER_AGENT_ID]
    #[arg(long, value_name = "ID")]
    pub agent_id: Option<String>,
    /// Token for enrolment; better given in the environment, where other users cannot read it [env: MUSTER_JOIN_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub join: Option<String>,
    /// Memory that the agent itself may use; beyond that it restarts itself in place [env: MUSTER_AGENT_MEMORY_MAX]
    /// [default: 256MiB]
    #[arg(long, value_name = "BYTES")]
    pub memory_max: Option<String>,
    /// Percent of one core that the agent itself may use; beyond that it samples processes less often
    /// [env: MUSTER_AGENT_CPU_MAX] [default: 50]
    #[arg(long, value_name = "PERCENT")]
    pub cpu_max: Option<String>,
    /// Of how many runs of each process the output is kept, 1 to 20 [env: MUSTER_OUTPUT_RUNS] [default: 3]
    #[arg(long, value_name = "N")]
    pub output_runs: Option<String>,
    /// How much of the output of one run is kept, on disk; when there is more, at least the last half of this stays
    /// [env: MUSTER_OUTPUT_MAX] [default: 1MiB]
    #[arg(long, value_name = "BYTES")]
    pub output_max: Option<String>,
    /// auto: a control group for each process, where the host offers them; off: none [env: MUSTER_CGROUPS]
    /// [default: auto]
    #[arg(long, value_name = "USE")]
    pub cgroups: Option<String>,
    /// on: the server may write and read configuration files on this host; off: it may not [env: MUSTER_RELEASE]
    /// [default: on]
    #[arg(long, value_name = "USE")]
    pub release: Option<String>,
    /// Folders in and below which the server may do so; without them, anywhere [env: MUSTER_RELEASE_PATHS]
    #[arg(long, value_name = "DIR", value_delimiter = ',')]
    pub release_paths: Vec<String>,
    /// A TOML file with the same settings [env: MUSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// off, error, warn, info, debug or trace [env: MUSTER_LOG] [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// text or json [env: MUSTER_LOG_FORMAT] [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Print the resulting configuration as TOML, without secrets, and exit
    #[arg(long)]
    pub print_config: bool,
    /// Join with the token and exit: leaves an identity in the data directory, or everything as it was
    #[arg(long, conflicts_with = "print_config")]
    pub join_only: bool,
}

/// A valid configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    /// At least one; each agent shuffles them.
    pub servers: Vec<ServerAddress>,
    pub data: PathBuf,
    /// For enrolment only: the identity on disk has it afterwards.
    pub ip: Option<IpAddr>,
    pub cloud: Option<u32>,
    pub agent_id: Option<AgentId>,
    pub join: Option<Join>,
    /// Bytes that the agent itself may use.
    pub memory_max: u64,
    /// Percent of one core that the agent itself may use.
    pub cpu_max: u32,
    /// Of how many runs of a process the output is kept, and how many bytes of each.
    pub output_runs: u32,
    pub output_max: u64,
    pub cgroups: ControlGroups,
    /// Where the server may write and read configuration files.
    pub release: AllowedPaths,
    pub log: LogLevel,
    pub log_format: LogFormat,
}

/// A join token that `Debug` does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Join(pub JoinToken);

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Join(***)")
    }
}

impl AgentConfig {
    /// Resolves every value. `env` reads an environment variable.
    pub fn resolve(
        args: &AgentArgs,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let config = Self::resolve_so_far(args, env)?;
        match config.servers.is_empty() {
            true => Err(ConfigError::missing(SERVER)),
            false => Ok(config),
        }
    }

    /// The same for a check before there is a configuration: there may be no server.
    pub(crate) fn resolve_so_far(
        args: &AgentArgs,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let sources = Sources::open(args.config.as_deref(), &env, &["agent"], &KEYS)?;
        let given = (!args.server.is_empty()).then(|| args.server.join(","));
        let servers = sources.pick(SERVER, given.as_deref(), address::parse_list)?;
        let join = |text: &str| JoinToken::parse(text).map(Join);
        Ok(Self {
            servers: servers.unwrap_or_default(),
            data: pick_data(&sources, args.data.as_deref())?,
            ip: sources.pick(IP, args.ip.as_deref(), model::host::parse_ip)?,
            cloud: sources.pick(CLOUD_ID, args.cloud_id.as_deref(), parse_cloud)?,
            agent_id: sources.pick(AGENT_ID, args.agent_id.as_deref(), AgentId::parse)?,
            join: sources.pick(JOIN, args.join.as_deref(), join)?,
            memory_max: sources
                .pick(MEMORY_MAX, args.memory_max.as_deref(), amount::parse_memory)?
                .unwrap_or(amount::DEFAULT_MEMORY),
            cpu_max: sources
                .pick(CPU_MAX, args.cpu_max.as_deref(), amount::parse_cpu)?
                .unwrap_or(amount::DEFAULT_CPU),
            output_runs: sources
                .pick(OUTPUT_RUNS, args.output_runs.as_deref(), amount::parse_runs)?
                .unwrap_or(supervisor::DEFAULT_OUTPUT_RUNS),
            output_max: sources
                .pick(OUTPUT_MAX, args.output_max.as_deref(), amount::parse_output)?
                .unwrap_or(supervisor::DEFAULT_OUTPUT_MAX),
            cgroups: sources
                .pick(CGROUPS, args.cgroups.as_deref(), ControlGroups::parse)?
                .unwrap_or_default(),
            release: release::pick(&sources, args)?,
            log: sources
                .pick(LOG, args.log.as_deref(), LogLevel::parse)?
                .unwrap_or_default(),
            log_format: sources
                .pick(LOG_FORMAT, args.log_format.as_deref(), LogFormat::parse)?
                .unwrap_or_default(),
        })
    }

    /// The configuration as a TOML file, without the secret.
    pub fn to_toml(&self) -> String {
        let mut table = toml::Table::new();
        let servers = self.servers.iter().map(|s| s.to_string().into()).collect();
        table.insert("server".into(), toml::Value::Array(servers));
        table.insert("data".into(), self.data.display().to_string().into());
        if let Some(ip) = self.ip {
            table.insert("ip".into(), ip.to_string().into());
        }
        if let Some(cloud) = self.cloud {
            table.insert("cloud_id".into(), i64::from(cloud).into());
        }
        if let Some(id) = &self.agent_id {
            table.insert("agent_id".into(), id.to_string().into());
        }
        if self.join.is_some() {
            table.insert("join".into(), "***".into());
        }
        table.insert("memory_max".into(), memory_text(self.memory_max).into());
        table.insert("cpu_max".into(), i64::from(self.cpu_max).into());
        table.insert("output_runs".into(), i64::from(self.output_runs).into());
        table.insert("output_max".into(), memory_text(self.output_max).into());
        table.insert("cgroups".into(), self.cgroups.as_str().into());
        release::show(&self.release, &mut table);
        table.insert("log".into(), self.log.as_str().into());
        table.insert("log_format".into(), self.log_format.as_str().into());
        table.to_string()
    }
}

/// Resolves the data directory alone, for commands about a running agent.
pub fn resolve_data(
    data: Option<&str>,
    config: Option<&str>,
    env: impl Fn(&str) -> Option<String>,
) -> Result<PathBuf, ConfigError> {
    let sources = Sources::open(config, &env, &["agent"], &KEYS)?;
    pick_data(&sources, data)
}

fn pick_data(sources: &Sources<'_>, flag: Option<&str>) -> Result<PathBuf, ConfigError> {
    let data = sources.pick(DATA, flag, parse_data)?;
    Ok(data.unwrap_or_else(|| DEFAULT_DATA.into()))
}

fn parse_data(text: &str) -> Result<PathBuf, Invalid> {
    match text.trim().is_empty() {
        true => Err(Invalid::required("data")),
        false => Ok(text.into()),
    }
}

/// Parses addresses of servers, separated by commas; each stays the text that it was.
pub(crate) fn parse_servers(text: &str) -> Result<Vec<String>, Invalid> {
    let servers = address::parse_list(text)?;
    Ok(servers.iter().map(ToString::to_string).collect())
}

/// Parses a cloud area id.
pub fn parse_cloud(text: &str) -> Result<u32, Invalid> {
    text.trim()
        .parse()
        .map_err(|_| Invalid::new("cloud_id", format!("must be a whole number, not {text:?}")))
        .and_then(model::host::parse_cloud)
}
