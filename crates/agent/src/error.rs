//! Errors that end an agent.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::config::ConfigError;
use crate::data::DataError;
use crate::enrol::EnrolError;
use crate::identity::IdentityError;
use crate::supervisor_link::SupervisorGone;
use crate::tls::TlsError;

/// Exit code of errors that a restart cannot cure: the user has to change something first.
const USER_MUST_FIX: u8 = 2;

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Enrol(#[from] EnrolError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Supervisor(#[from] supervisor::SupervisorError),
    #[error(transparent)]
    SupervisorGone(#[from] SupervisorGone),
    #[error("the agent cannot run here")]
    Io(#[from] io::Error),
}

impl AgentError {
    /// Prints the error with its causes on standard error, and returns the exit code.
    pub fn print(&self) -> ExitCode {
        print(self);
        match self {
            Self::Config(_) | Self::Data(_) | Self::Identity(_) | Self::Enrol(_) => {
                ExitCode::from(USER_MUST_FIX)
            }
            _ => ExitCode::FAILURE,
        }
    }
}

/// Prints an error with its causes on standard error.
pub fn print(error: &dyn Error) {
    // A closed stderr is no reason to fail.
    let _ = writeln!(io::stderr(), "muster agent: {}", chain(error));
}

/// An error with its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
