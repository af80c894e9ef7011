//! The paths of the programs, and the users that they run as.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::EngineError;

/// Has a folder for each installed version of PostgreSQL.
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";
/// PostgreSQL refuses to run as root; its package creates this user.
const POSTGRES_USER: &str = "postgres";
/// Not in every user's `PATH`.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"];

/// The folder with the programs of the newest PostgreSQL.
pub(crate) fn postgres() -> Result<PathBuf, EngineError> {
    let versions = std::fs::read_dir(POSTGRES_VERSIONS).into_iter().flatten();
    let installed = versions.flatten().filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path().join("bin");
        folder.join("initdb").exists().then_some((version, folder))
    });
    let newest = installed.max().map(|(_, folder)| folder);
    newest
        .or_else(|| Some(on_path("initdb")?.parent()?.to_owned()))
        .ok_or(EngineError::Missing {
            program: "postgres",
            package: "postgresql",
        })
}

pub(crate) fn nats_server() -> Result<PathBuf, EngineError> {
    on_path("nats-server").ok_or(EngineError::Missing {
        program: "nats-server",
        package: "nats-server",
    })
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from));
    let mut candidates = folders.map(|folder| folder.join(program));
    candidates.find(|candidate| candidate.is_file())
}

/// The user that a server runs as.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RunAs {
    SameUser,
    PostgresUser,
}

impl RunAs {
    /// The user that PostgreSQL runs as.
    pub(crate) fn for_postgres() -> Self {
        if rustix::process::geteuid().is_root() {
            Self::PostgresUser
        } else {
            Self::SameUser
        }
    }

    pub(crate) fn command(self, program: &Path) -> Command {
        match self {
            Self::SameUser => Command::new(program),
            Self::PostgresUser => {
                let mut command = Command::new("setpriv");
                let user = format!("--reuid={POSTGRES_USER}");
                let group = format!("--regid={POSTGRES_USER}");
                command.args([&user, &group, "--init-groups", "--"]);
                command.arg(program);
                command
            }
        }
    }

    /// Makes this user the owner of a path.
    pub(crate) fn chown(self, path: &Path) -> Result<(), EngineError> {
        match self {
            Self::SameUser => Ok(()),
            Self::PostgresUser => {
                let user = nix::unistd::User::from_name(POSTGRES_USER).ok().flatten();
                let user = user.ok_or(EngineError::Missing {
                    program: "the user postgres",
                    package: "postgresql",
                })?;
                std::os::unix::fs::chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
                    .map_err(EngineError::io("change the owner of", path))
            }
        }
    }
}

/// Runs a program to its end, and answers its output.
pub(crate) fn run(command: &mut Command) -> Result<String, EngineError> {
    let program = command.get_program().to_owned();
    let ran = command.stdin(std::process::Stdio::null()).output();
    let ran = ran.map_err(EngineError::io("run", Path::new(&program)))?;
    let output = String::from_utf8_lossy(&ran.stdout).into_owned();
    if ran.status.success() {
        return Ok(output);
    }
    Err(EngineError::Failed {
        program: format!("{command:?}"),
        output: output + &String::from_utf8_lossy(&ran.stderr),
    })
}
