//! Why a server cannot be started or stopped.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(
        "{program} is missing: install the Debian package {package}, or all that tests need with `scripts/setup test`"
    )]
    Missing {
        program: &'static str,
        package: &'static str,
    },
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{program} failed: {output}")]
    Failed { program: String, output: String },
    #[error("{program} is not {state} after {}", seconds(.after))]
    Late {
        program: String,
        state: &'static str,
        after: std::time::Duration,
    },
}

impl EngineError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io {
            action,
            path,
            cause,
        }
    }
}

fn seconds(after: &std::time::Duration) -> String {
    format!("{} s", after.as_secs())
}
