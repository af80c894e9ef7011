//! A supervisor that is one program and whatever it starts: most are.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

use super::stage::Stage;
use super::{Keeper, Started, usage};

#[derive(Debug)]
pub(super) struct Tree {
    child: Child,
    stderr: PathBuf,
}

/// Starts a program in the stage's folder. `farewell` is the signal that makes it end with all its processes, sent by the
/// kernel should the bench be gone before it could do so itself.
pub(super) fn start(stage: &Stage, program: &Command, farewell: &str) -> anyhow::Result<Started> {
    let told_at = Instant::now();
    let keeper = Box::new(spawn(stage, program, farewell)?);
    Ok(Started { keeper, told_at })
}

pub(super) fn spawn(stage: &Stage, program: &Command, farewell: &str) -> anyhow::Result<Tree> {
    let stderr = stage.dir().join("stderr");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", farewell, "--"]);
    command.arg(program.get_program()).args(program.get_args());
    for (key, value) in program.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    // A group of its own: Ctrl-C is the bench's to take.
    let child = command
        .process_group(0)
        .current_dir(stage.dir())
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
}

impl Keeper for Tree {
    fn failure(&mut self) -> anyhow::Result<()> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(());
        };
        let said = std::fs::read_to_string(&self.stderr).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        bail!("it ended with {status}: {}", last.unwrap_or("no word"))
    }

    fn pids(&self) -> anyhow::Result<Vec<i32>> {
        Ok(usage::tree(self.pid(), "sleeper"))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
