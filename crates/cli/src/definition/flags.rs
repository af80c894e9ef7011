//! The flags of `register` and `update`.

mod order;
mod probes;
mod supervision;

use std::path::Path;

use model::spec::RawSpec;
use model::spec::raw::RawConfigFile;

use order::OrderArgs;
use probes::ProbeArgs;
use supervision::SupervisionArgs;

use super::Definition;
use crate::failure::Failure;
use crate::format;
use crate::input::read_text;

/// The largest file of variables: what a spec may hold is less.
const MAX_ENV_FILE: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub struct SpecArgs {
    /// Base name of the program, as /proc shows it [default: first word of the start command]
    #[arg(long, value_name = "NAME", help_heading = "Identity")]
    proc_name: Option<String>,
    /// Where its commands run [default: the current directory]
    #[arg(long, value_name = "DIR", help_heading = "Identity")]
    setup_path: Option<String>,
    /// Its pid file [default: SETUP_PATH/NAME.pid]
    #[arg(long, value_name = "FILE", help_heading = "Identity")]
    pid_path: Option<String>,
    /// Its configuration, for information
    #[arg(long, value_name = "PATH", help_heading = "Identity")]
    config_path: Option<String>,
    /// Where its output goes, and what counts as its disk usage
    #[arg(
        long,
        visible_alias = "log",
        value_name = "PATH",
        help_heading = "Identity"
    )]
    log_path: Option<String>,
    /// Who it runs as [default: you]
    #[arg(long, value_name = "NAME", help_heading = "Identity")]
    user: Option<String>,

    /// Starts it; may daemonise or stay in the foreground
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    start: Option<String>,
    /// Stops it [default: SIGTERM]
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    stop: Option<String>,
    /// Restarts it [default: stop, then start]
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    restart: Option<String>,
    /// Makes it read its configuration again [default: SIGHUP]
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    reload: Option<String>,
    /// Ends it by force [default: SIGKILL]
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    kill: Option<String>,
    /// Prints its version
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    version_cmd: Option<String>,
    /// Succeeds while it is healthy
    #[arg(
        long,
        visible_alias = "health",
        value_name = "COMMAND",
        help_heading = "Commands"
    )]
    health_cmd: Option<String>,

    /// At most this much processor, in percent of the whole machine; 0: no limit
    #[arg(long, value_name = "PERCENT", help_heading = "Limits")]
    cpu: Option<f64>,
    /// At most this much memory, in percent of the whole machine; 0: no limit
    #[arg(long, value_name = "PERCENT", help_heading = "Limits")]
    mem: Option<f64>,
    /// Killed and restarted above this many open descriptors
    #[arg(long, value_name = "N", help_heading = "Limits")]
    fd_max: Option<i64>,
    /// At most this much under its log path (500M, 2G)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    log_bytes_max: Option<i64>,
    /// At most this much a second over TCP (10M)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    net_max: Option<i64>,
    /// The kernel keeps it and its children below this much memory (100M, 2G)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    memory_max: Option<i64>,
    /// The kernel keeps it below this much processor, in percent of the whole machine
    #[arg(long, value_name = "PERCENT", help_heading = "Limits")]
    cpu_max: Option<f64>,
    /// The kernel lets it have at most this many processes and threads
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pids_max: Option<i64>,
    /// How many descriptors it may open (RLIMIT_NOFILE, `ulimit -n`)
    #[arg(long, value_name = "N", help_heading = "Limits")]
    nofile: Option<i64>,
    /// How many processes its user may have (RLIMIT_NPROC, `ulimit -u`)
    #[arg(long, value_name = "N", help_heading = "Limits")]
    nproc: Option<i64>,
    /// The largest core file (RLIMIT_CORE, `ulimit -c`); 0: none
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    core: Option<i64>,

    /// A variable of its environment; may be given several times
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = parse_pair, help_heading = "Environment")]
    env: Vec<(String, String)>,
    /// A file with a variable in each line, KEY=VALUE; --env wins over it
    #[arg(long, value_name = "FILE", help_heading = "Environment")]
    env_file: Vec<String>,
    /// Remove a variable
    #[arg(long, value_name = "KEY", help_heading = "Environment")]
    unset_env: Vec<String>,
    /// Priority from -20 (first) to 19 (last)
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        help_heading = "Environment"
    )]
    nice: Option<i64>,
    /// Permissions that its new files do not get, in octal digits
    #[arg(long, value_name = "MODE", help_heading = "Environment")]
    umask: Option<String>,
    /// Rotate its log at this size (10M)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Environment")]
    log_max_bytes: Option<i64>,
    /// How many rotated logs are kept
    #[arg(long, value_name = "N", help_heading = "Environment")]
    log_keep: Option<i64>,

    /// Restarted when it dies, run by a crontab rule, or run once [default: resident]
    #[arg(long, value_enum, help_heading = "Policy")]
    auto_type: Option<AutoTypeArg>,
    /// When a periodic process runs: minute hour day month weekday, in the host's time zone; without it only when asked
    #[arg(long, value_name = "RULE", help_heading = "Policy")]
    crontab: Option<String>,
    /// How long it must stay alive to count as started [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Policy")]
    start_check: Option<i64>,
    /// How long until a stop is checked [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Policy")]
    stop_check: Option<i64>,
    /// Failed restarts in a row before giving up [default: 4]
    #[arg(long, value_name = "N", help_heading = "Policy")]
    retries: Option<i64>,
    /// How long between two restarts [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Policy")]
    interval: Option<i64>,
    /// How long a command may take [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Policy")]
    op_timeout: Option<i64>,
    /// Id for alarms
    #[arg(long, value_name = "N", help_heading = "Policy")]
    report_id: Option<i64>,
    /// A configuration file whose content is watched, for changes or against an MD5; may be given several times
    #[arg(long, value_name = "PATH[:MD5]", value_parser = parse_config_file, help_heading = "Policy")]
    config_file: Vec<(String, String)>,

    #[command(flatten)]
    supervision: SupervisionArgs,
    #[command(flatten)]
    order: OrderArgs,

    #[command(flatten)]
    probes: ProbeArgs,

    /// A label; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    label: Vec<(String, String)>,
    /// Remove a label
    #[arg(long, value_name = "KEY")]
    unset_label: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum AutoTypeArg {
    Resident,
    Periodic,
    OneShot,
}

impl AutoTypeArg {
    pub(super) fn number(self) -> i64 {
        match self {
            Self::Periodic => 0,
            Self::Resident => 1,
            Self::OneShot => 2,
        }
    }
}

/// A given value replaces the one before.
fn put<T: Clone>(slot: &mut Option<T>, value: &Option<T>) {
    if let Some(value) = value {
        *slot = Some(value.clone());
    }
}

impl SpecArgs {
    /// Overwrites fields of a definition by the flags.
    pub fn apply(&self, definition: &mut Definition) -> Result<(), Failure> {
        let identity = definition.spec.identity.get_or_insert_default();
        put(&mut identity.proc_name, &self.proc_name);
        put(
            &mut identity.setup_path,
            &absolute(self.setup_path.as_deref())?,
        );
        put(&mut identity.pid_path, &absolute(self.pid_path.as_deref())?);
        put(
            &mut identity.config_path,
            &absolute(self.config_path.as_deref())?,
        );
        put(&mut identity.log_path, &absolute(self.log_path.as_deref())?);
        put(&mut identity.user, &self.user);

        let control = definition.spec.control.get_or_insert_default();
        put(&mut control.start_cmd, &self.start);
        put(&mut control.stop_cmd, &self.stop);
        put(&mut control.restart_cmd, &self.restart);
        put(&mut control.reload_cmd, &self.reload);
        put(&mut control.kill_cmd, &self.kill);
        put(&mut control.version_cmd, &self.version_cmd);
        put(&mut control.health_cmd, &self.health_cmd);

        let limits = definition.spec.resource.get_or_insert_default();
        put(&mut limits.cpu, &self.cpu);
        put(&mut limits.mem, &self.mem);

        self.apply_runtime(&mut definition.spec)?;
        self.apply_policy(definition);
        self.supervision.apply(&mut definition.spec);
        self.probes.apply(&mut definition.spec)?;
        self.order.apply(&mut definition.spec);
        for key in &self.unset_label {
            definition.labels.remove(key);
        }
        definition.labels.extend(self.label.iter().cloned());
        Ok(())
    }

    fn apply_runtime(&self, spec: &mut RawSpec) -> Result<(), Failure> {
        let mut runtime = spec.runtime.take().unwrap_or_default();
        for (slot, value) in [
            (&mut runtime.fd_max, self.fd_max),
            (&mut runtime.log_bytes_max, self.log_bytes_max),
            (&mut runtime.net_max, self.net_max),
            (&mut runtime.memory_max, self.memory_max),
            (&mut runtime.pids_max, self.pids_max),
            (&mut runtime.nofile, self.nofile),
            (&mut runtime.nproc, self.nproc),
            (&mut runtime.core, self.core),
            (&mut runtime.nice, self.nice),
            (&mut runtime.log_max_bytes, self.log_max_bytes),
            (&mut runtime.log_keep, self.log_keep),
        ] {
            put(slot, &value);
        }
        put(&mut runtime.cpu_max, &self.cpu_max);
        put(&mut runtime.umask, &self.umask);
        for file in &self.env_file {
            runtime.env.extend(environment_of(file)?);
        }
        for name in &self.unset_env {
            runtime.env.remove(name);
        }
        runtime.env.extend(self.env.iter().cloned());
        spec.runtime = Some(runtime);
        Ok(())
    }

    fn apply_policy(&self, definition: &mut Definition) {
        // A file may use either name.
        let spec = &mut definition.spec;
        let policy = match &mut spec.alive_monitor_policy {
            Some(policy) if spec.monitor_policy.is_none() => policy,
            _ => spec.monitor_policy.get_or_insert_default(),
        };
        put(
            &mut policy.auto_type,
            &self.auto_type.map(AutoTypeArg::number),
        );
        put(&mut policy.crontab_rule, &self.crontab);
        put(&mut policy.start_check_secs, &self.start_check);
        put(&mut policy.stop_check_secs, &self.stop_check);
        put(&mut policy.start_retries, &self.retries);
        put(&mut policy.start_interval, &self.interval);
        put(&mut policy.op_timeout, &self.op_timeout);
        if self.report_id.is_some() {
            spec.warn_report_policy.get_or_insert_default().report_id = self.report_id;
        }
        if !self.config_file.is_empty() {
            let file = |(path, md5): &(String, String)| {
                Some(RawConfigFile {
                    path: Some(path.clone()),
                    md5: Some(md5.clone()),
                })
            };
            spec.configmap = Some(self.config_file.iter().map(file).collect());
        }
    }

    /// Whether no flag was given at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A relative path is relative to the current directory.
fn absolute(path: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Ok(path.map(str::to_owned));
    };
    let bad = |e: std::io::Error| Failure::usage(format!("{path:?} cannot be made absolute: {e}"));
    let whole = std::path::absolute(Path::new(path)).map_err(bad)?;
    whole
        .to_str()
        .map(|text| Some(text.to_owned()))
        .ok_or_else(|| Failure::usage(format!("{path:?} is not UTF-8")))
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must be KEY=VALUE".to_owned()),
    }
}

/// Bytes, as specs have them.
pub(super) fn parse_size(text: &str) -> Result<i64, String> {
    format::parse_size(text).map(|bytes| bytes as i64)
}

/// Whole seconds, as specs have them.
pub(super) fn parse_secs(text: &str) -> Result<i64, String> {
    format::parse_duration(text).map(|duration| duration.as_secs() as i64)
}

/// The variables of a file: `KEY=VALUE` in each line, as systemd and docker read them. Blank lines and those that begin with
/// `#` are skipped, and so is `export` before a name; quotes around a whole value are removed. Nothing is expanded.
fn environment_of(file: &str) -> Result<Vec<(String, String)>, Failure> {
    let text = read_text(file, MAX_ENV_FILE)
        .map_err(|e| Failure::usage(format!("{file}: cannot be read: {e}")))?;
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let (name, value) = parse_pair(line).map_err(|rule| {
            Failure::usage(format!("{file}: line {}: {rule}: {line:?}", index + 1))
        })?;
        let value = value.trim();
        let unquoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        variables.push((
            name.trim_end().to_owned(),
            unquoted.unwrap_or(value).to_owned(),
        ));
    }
    Ok(variables)
}

fn parse_config_file(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once(':') {
        Some((path, md5)) if path.starts_with('/') && md5.len() == 32 => {
            Ok((path.to_owned(), md5.to_owned()))
        }
        _ if text.starts_with('/') => Ok((text.to_owned(), String::new())),
        _ => Err(
            "must be PATH or PATH:MD5, the path absolute, the sum 32 hexadecimal digits".to_owned(),
        ),
    }
}
