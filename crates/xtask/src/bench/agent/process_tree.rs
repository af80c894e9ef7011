//! A supervisor that is one program and its children, as most are.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

use super::sandbox::Sandbox;
use super::{Started, Supervisor};
use crate::usage;

#[derive(Debug)]
pub(super) struct Tree {
    child: Child,
    stderr: PathBuf,
}

/// Starts a program in the sandbox's folder. The kernel sends it `stop_signal`, which ends it with all its processes, if the
/// bench exits first.
pub(super) fn start(
    sandbox: &Sandbox,
    program: &Command,
    stop_signal: &str,
) -> anyhow::Result<Started> {
    let requested_at = Instant::now();
    let supervisor = Box::new(spawn(sandbox, program, stop_signal)?);
    Ok(Started {
        supervisor,
        requested_at,
    })
}

pub(super) fn spawn(
    sandbox: &Sandbox,
    program: &Command,
    stop_signal: &str,
) -> anyhow::Result<Tree> {
    let stderr = sandbox.dir().join("stderr");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", stop_signal, "--"]);
    command.arg(program.get_program()).args(program.get_args());
    for (key, value) in program.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    // A process group of its own: Ctrl-C is for the bench.
    let child = command
        .process_group(0)
        .current_dir(sandbox.dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&stderr)?)
        .spawn()
        .with_context(|| format!("cannot start {}", program.get_program().display()))?;
    Ok(Tree { child, stderr })
}

impl Tree {
    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Supervisor for Tree {
    fn failure(&mut self) -> anyhow::Result<()> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(());
        };
        let said = std::fs::read_to_string(&self.stderr).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        bail!("it ended with {status}: {}", last.unwrap_or("no message"))
    }

    fn pids(&self) -> anyhow::Result<Vec<i32>> {
        Ok(usage::tree(self.pid(), "sleeper"))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.kill();
    }
}
