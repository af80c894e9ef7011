//! The data folder of a new server. `initdb` takes half a second, so it runs once for each machine and version, and the result is
//! copied.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::EngineError;
use crate::postgres::USER;
use crate::programs::{self, RunAs};

/// Must be raised whenever [`make`] changes.
const GENERATION: u32 = 1;

/// Makes `data` a copy of the template.
pub(super) fn copy(programs: &Path, run_as: RunAs, data: &Path) -> Result<(), EngineError> {
    let template = template(programs, run_as)?;
    let mut command = Command::new("cp");
    command.args(["-a", "--reflink=auto"]);
    programs::run(command.arg(template).arg(data)).map(drop)
}

fn template(programs: &Path, run_as: RunAs) -> Result<PathBuf, EngineError> {
    let version = programs::run(Command::new(programs.join("postgres")).arg("--version"))?;
    let version = version.split_whitespace().nth(2).unwrap_or("unknown");
    let user = rustix::process::geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("muster-engines-postgres-{user}"));
    std::fs::create_dir_all(&folder).map_err(EngineError::io("make", &folder))?;
    run_as.chown(&folder)?;
    let template = folder.join(format!("{version}-{GENERATION}"));
    let lock_path = folder.join("lock");
    let lock = File::options().create(true).append(true).open(&lock_path);
    let lock = lock.map_err(EngineError::io("open", &lock_path))?;
    lock.lock().map_err(EngineError::io("lock", &lock_path))?;
    if !template.exists() {
        let half_done = folder.join("half-done");
        // Left by a killed process.
        let _ = std::fs::remove_dir_all(&half_done);
        make(programs, run_as, &half_done)?;
        std::fs::rename(&half_done, &template).map_err(EngineError::io("name", &template))?;
    }
    Ok(template)
}

fn make(programs: &Path, run_as: RunAs, data: &Path) -> Result<(), EngineError> {
    let mut command = run_as.command(&programs.join("initdb"));
    command.current_dir("/").arg("-D").arg(data);
    command.args(["-U", USER, "--auth=trust", "--no-sync", "--no-instructions"]);
    command.args(["--locale=C", "--encoding=UTF8"]);
    programs::run(&mut command).map(drop)
}
