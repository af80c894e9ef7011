//! `upgrade`: replaces the binary of a running agent in place. It keeps its pid, its children and their exit codes.
//!
//! 1. find the agent by its data directory;
//! 2. check a copy of the new binary, keep the old one as `EXE.old`, rename (`binary`);
//! 3. SIGHUP: the agent executes the program at its path ([`crate::image`]);
//! 4. wait until it supervises again, and is connected if it was; else restore the old binary.
//!
//! Nothing here touches a managed process, nor the journal.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::Serialize;
use supervisor::OtherProcess;

mod binary;
mod relaunch;
pub(crate) mod state;

use crate::config::{self, ConfigError};
use crate::error::chain;
use crate::image::{RUN_FILE, RunFile};
use binary::{BinaryVersion, Swap};
use relaunch::Launch;
use state::StateFile;

/// How often `agent.run` is read.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// How long the old agent may take to start again.
const RESTART_OLD: Duration = Duration::from_secs(10);

/// Shown below `--help`.
pub const EXAMPLES: &str = "\
Examples:
  muster agent upgrade --binary ./muster              the agent in /var/lib/muster-agent
  muster-agent upgrade --binary ./muster-agent        the same for the small binary
  muster agent upgrade --data ~/data/agent            the file was replaced already
  muster agent upgrade --binary ./muster -o json      what was done, as JSON

The agent keeps its pid, and no process is touched.
If the new binary does not come up, the agent returns to the old one.";

#[derive(Debug, Clone, clap::Args)]
pub struct UpgradeArgs {
    /// The agent's data directory [env: MUSTER_AGENT_DATA] [default: /var/lib/muster-agent]
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// The agent's TOML file, for its data directory [env: MUSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// The new binary; without it the agent starts what is at its path already
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Refuse a binary of any other version
    #[arg(long, value_name = "VERSION", requires = "binary")]
    pub expect_version: Option<String>,
    /// The agent asks for this upgrade itself, because its server does: a new agent that does not connect, or that ends, is
    /// replaced by the old one, and the result is left in this folder.
    #[arg(long, hide = true, value_name = "DIR", requires = "binary")]
    pub state_dir: Option<PathBuf>,
    /// How long the new agent may take to start
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_timeout)]
    pub timeout: Duration,
}

/// The result of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Upgraded {
    pub pid: i32,
    pub from: String,
    pub to: String,
    pub exe: PathBuf,
    /// Where the old binary is kept, when it was replaced here.
    pub old: Option<PathBuf>,
    pub connected: bool,
}

impl std::fmt::Display for Upgraded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pid, from, to, .. } = self;
        match from == to {
            true => write!(f, "the agent (pid {pid}) started its binary again: {to}")?,
            false => write!(f, "the agent (pid {pid}) went from {from} to {to}")?,
        }
        match self.connected {
            true => f.write_str("; no process was touched"),
            false => f.write_str("; no process was touched; not connected to a server yet"),
        }
    }
}

/// Grouped by what the user can do.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("no agent that can be upgraded runs on {}: {why}", data.display())]
    NotRunning { data: PathBuf, why: String },
    #[error("{}: {why}; nothing was changed", path.display())]
    Refused { path: PathBuf, why: String },
    #[error("{} cannot be put in place; nothing was changed", path.display())]
    Swap { path: PathBuf, source: io::Error },
    #[error("the agent (pid {pid}) cannot be told; {then}")]
    Tell {
        pid: i32,
        then: String,
        source: io::Error,
    },
    #[error("{what}; {then}; no process was touched")]
    Failed { what: String, then: String },
    #[error("the new agent was not at work within {} s; {then}; no process was touched", after.as_secs())]
    TimedOut { after: Duration, then: String },
}

impl UpgradeError {
    /// The exit code, as `muster` defines them.
    pub fn code(&self) -> u8 {
        match self {
            Self::Tell { .. } | Self::Failed { .. } | Self::Swap { .. } => 1,
            Self::Config(_) | Self::Refused { .. } => 2,
            Self::NotRunning { .. } => 4,
            Self::TimedOut { .. } => 5,
        }
    }
}

pub fn upgrade(
    args: &UpgradeArgs,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Upgraded, UpgradeError> {
    let Some(folder) = &args.state_dir else {
        return replace(args, env);
    };
    // Ours, or that of the agent, which may be quicker.
    let begun = StateFile::begun_by_us(folder, args);
    let upgraded = replace(args, env);
    let why = upgraded.as_ref().err().map(|error| chain(error));
    if let Err(error) = begun.ended(why).write(folder) {
        tracing::error!(%error, "the result of the upgrade cannot be written");
    }
    upgraded
}

fn replace(
    args: &UpgradeArgs,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Upgraded, UpgradeError> {
    let data = config::resolve_data(args.data.as_deref(), args.config.as_deref(), env)?;
    let mut agent = RunningAgent::find(&data)?;
    if args.state_dir.is_some() {
        agent.launch = Launch::of(agent.before.pid).ok();
    }
    let exe = &agent.before.exe;
    let program = &agent.before.program;
    let swap = match &args.binary {
        Some(new) => {
            let expected = args.expect_version.as_deref();
            Some(Swap::make(new, exe, agent.before.pid, program, expected)?)
        }
        None => {
            BinaryVersion::of(exe)
                .and_then(|version| version.must_be(program))
                .map_err(|why| UpgradeError::Refused {
                    path: exe.clone(),
                    why,
                })?;
            None
        }
    };
    let old = swap.as_ref().map(|swap| swap.old().to_owned());
    if let Err(source) = agent.signal() {
        let then = agent.put_back(swap).unwrap_or_else(|said| said);
        let pid = agent.before.pid;
        return Err(UpgradeError::Tell { pid, then, source });
    }
    match agent.wait(&agent.before, args.timeout) {
        Ok(now) if agent.before.connected && !now.connected && args.state_dir.is_some() => {
            Err(agent.back_to_old(swap, NoNewAgent::NotConnected, args.timeout))
        }
        Ok(now) => Ok(Upgraded {
            pid: now.pid,
            from: agent.before.version,
            to: now.version,
            exe: now.exe,
            old,
            connected: now.connected,
        }),
        Err(lost) => Err(agent.back_to_old(swap, lost, args.timeout)),
    }
}

/// A live agent.
struct RunningAgent {
    data: PathBuf,
    before: RunFile,
    process: OtherProcess,
    /// How to start it again, if this has to.
    launch: Option<Launch>,
}

/// `agent.run` names a binary and a pid that are executed, replaced and signalled with the caller's privileges: directory
/// and file must belong to the caller.
fn check_owner(data: &Path) -> Result<(), String> {
    let me = rustix::process::geteuid().as_raw();
    for path in [data.to_owned(), data.join(RUN_FILE)] {
        // A missing file is reported where it is read.
        let owner = std::fs::metadata(&path).map_or(me, |found| found.uid());
        if owner != me {
            let path = path.display();
            return Err(format!(
                "{path} belongs to user {owner}, and this is user {me}: run the upgrade as that user"
            ));
        }
    }
    Ok(())
}

/// Why no new agent supervises.
enum NoNewAgent {
    /// The old image goes on.
    NotExecuted(String),
    Ended,
    NotConnected,
    TimedOut,
}

impl RunningAgent {
    fn find(data: &Path) -> Result<Self, UpgradeError> {
        let not_running = |why: String| UpgradeError::NotRunning {
            data: data.into(),
            why,
        };
        check_owner(data).map_err(not_running)?;
        let before = RunFile::read(data).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not_running(format!(
                "there is no {RUN_FILE} (the agent of muster up is in agent/ of its data directory)"
            )),
            _ => not_running(format!("{RUN_FILE} cannot be read: {error}")),
        })?;
        let pid = before.pid;
        let gone = || not_running(format!("the last one, process {pid}, has ended"));
        let looked = |error: io::Error| not_running(format!("process {pid}: {error}"));
        let process = OtherProcess::find(pid)
            .map_err(looked)?
            .filter(|process| process.start_time() == before.start_time)
            .ok_or_else(gone)?;
        let running = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(looked)?;
        // The path may have a suffix: deleted, or moved aside.
        let is_ours = |path: &Path| {
            let expected = before.exe.as_os_str().as_bytes();
            path.as_os_str().as_bytes().starts_with(expected)
        };
        if !is_ours(&running) {
            return Err(not_running(format!(
                "process {pid} runs {}, not {}",
                running.display(),
                before.exe.display()
            )));
        }
        let owner = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.uid());
        let writer = owner(&data.join(RUN_FILE)).map_err(looked)?;
        if writer != owner(&PathBuf::from(format!("/proc/{pid}"))).map_err(looked)? {
            return Err(not_running(format!(
                "{RUN_FILE} was not written by process {pid}"
            )));
        }
        Ok(Self {
            data: data.into(),
            before,
            process,
            launch: None,
        })
    }

    fn signal(&self) -> io::Result<()> {
        self.process.signal(Signal::HUP)
    }

    /// Waits for a later generation than `before`, and for its connection if there was one.
    fn wait(&self, before: &RunFile, patience: Duration) -> Result<RunFile, NoNewAgent> {
        let since = Instant::now();
        let mut at_work = None;
        loop {
            if self.process.ends_within(POLL_EVERY) {
                return Err(NoNewAgent::Ended);
            }
            let next = RunFile::read(&self.data)
                .ok()
                .filter(|now| now.pid == before.pid && now.generation > before.generation);
            if let Some(now) = next {
                if let Some(error) = now.exec_error {
                    return Err(NoNewAgent::NotExecuted(error));
                }
                if now.connected || !self.before.connected {
                    return Ok(now);
                }
                at_work = Some(now);
            }
            if since.elapsed() >= patience {
                return at_work.ok_or(NoNewAgent::TimedOut);
            }
        }
    }

    /// Restores the old binary, and tells what happened to the agent.
    fn back_to_old(
        &self,
        swap: Option<Swap>,
        lost: NoNewAgent,
        patience: Duration,
    ) -> UpgradeError {
        let restored = self.put_back(swap);
        match lost {
            NoNewAgent::NotExecuted(error) => UpgradeError::Failed {
                what: format!("the agent cannot start the new binary ({error}) and goes on"),
                then: restored.unwrap_or_else(|said| said),
            },
            NoNewAgent::Ended => UpgradeError::Failed {
                what: "the agent ended as the new binary".into(),
                then: restored.map_or_else(|said| said, |said| self.start_old(&said)),
            },
            NoNewAgent::NotConnected => UpgradeError::Failed {
                what: format!(
                    "the new agent did not connect to a server within {} s",
                    patience.as_secs()
                ),
                then: restored.map_or_else(|said| said, |said| self.restart_old(&said, patience)),
            },
            NoNewAgent::TimedOut => UpgradeError::TimedOut {
                after: patience,
                then: restored.map_or_else(|said| said, |said| self.restart_old(&said, patience)),
            },
        }
    }

    /// Restores the binary. Says what is at the agent's path now; an error if that is not the old binary.
    fn put_back(&self, swap: Option<Swap>) -> Result<String, String> {
        let old = &self.before.version;
        let exe = self.before.exe.display();
        match swap.map(Swap::undo) {
            None => Err(format!("{exe} is as it was found")),
            Some(Err(error)) => Err(format!("{exe} could not be put back to {old}: {error}")),
            Some(Ok(())) => Ok(format!("{exe} is {old} again")),
        }
    }

    /// Makes a hanging agent execute the old binary.
    fn restart_old(&self, restored: &str, patience: Duration) -> String {
        let patience = patience.min(RESTART_OLD);
        let now = RunFile::read(&self.data).unwrap_or_else(|_| self.before.clone());
        match (
            self.signal().map(|()| self.wait(&now, patience)),
            &self.launch,
        ) {
            (Ok(Ok(_)), _) => format!("{restored} and the agent runs it"),
            (_, None) => format!("{restored}, but the agent does not run it: restart the agent"),
            // Its processes do not end with it.
            (_, Some(_)) => {
                let _ = self.process.signal(Signal::KILL);
                self.process.ends_within(patience);
                self.start_old(restored)
            }
        }
    }

    /// Brings back an agent that has ended.
    fn start_old(&self, restored: &str) -> String {
        let Some(launch) = &self.launch else {
            return format!("{restored}: start it, unless its service manager does");
        };
        match launch.bring_back(&self.data, &self.before) {
            Ok(()) => format!("{restored} and the agent runs it"),
            Err(why) => format!("{restored}, but the agent does not run: {why}"),
        }
    }
}

/// `30s`, `2m`, `500ms`.
fn parse_timeout(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number
        .parse()
        .map_err(|_| "a number with its unit, as in 30s")?;
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        _ => Err("a number with its unit (ms, s or m), as in 30s".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::start_time;

    #[test]
    fn a_timeout_has_a_unit() {
        assert_eq!(parse_timeout("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_timeout("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_timeout("5ms"), Ok(Duration::from_millis(5)));
        for bad in ["", "30", "s", "-1s", "1h30"] {
            assert!(parse_timeout(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_run_file_of_another_process_is_not_an_agent() {
        let dir = tempfile::tempdir().unwrap();
        let error = RunningAgent::find(dir.path()).err().unwrap();
        assert_eq!(error.code(), 4, "{error}");
        let pid = i32::try_from(std::process::id()).unwrap();
        let ours = RunFile {
            pid,
            start_time: start_time(pid).unwrap(),
            program: "muster-agent".into(),
            version: "1.0.0".into(),
            exe: std::env::current_exe().unwrap(),
            generation: 1,
            connected: false,
            exec_error: None,
        };
        let found = |entry: &RunFile| {
            let text = serde_json::to_string(entry).unwrap();
            std::fs::write(dir.path().join(RUN_FILE), text).unwrap();
            RunningAgent::find(dir.path())
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        found(&ours).unwrap();
        let earlier = RunFile {
            start_time: ours.start_time - 1,
            ..ours.clone()
        };
        assert!(found(&earlier).unwrap_err().contains("has ended"));
        let other = RunFile {
            exe: "/bin/other".into(),
            ..ours
        };
        assert!(found(&other).unwrap_err().contains("not /bin/other"));
    }

    #[test]
    fn root_does_not_trust_a_run_file_of_another_user() {
        assert!(rustix::process::geteuid().is_root(), "this test needs root");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(RUN_FILE), "{}").unwrap();
        for path in [dir.path().join(RUN_FILE), dir.path().to_owned()] {
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            let error = RunningAgent::find(dir.path()).err().unwrap();
            assert_eq!(error.code(), 4, "{error}");
            let said = format!("{} belongs to user 65534", path.display());
            assert!(error.to_string().contains(&said), "{error}");
        }
    }
}
