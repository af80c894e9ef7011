//! How a command ends: the exit codes that scripts rely on, and errors that say what to do next.

use std::fmt;
use std::process::ExitCode;

/// Shown in `muster --help`; [`Exit`] is the same list.
pub const EXIT_CODES: &str = "\
Exit codes:
    0  done; or nothing to do, because it was already running or already stopped
    1  some target failed; of a diff: something differs
    2  the command line or a file is wrong; nothing was changed; of apply --dry-run: something would change
    3  the server cannot be reached or cannot answer, or it refused the credentials or the role;
       of import: something was not carried over
    4  nothing of that name exists: no target of the operation is registered
    5  timed out while waiting; the task continues
  130  interrupted (Ctrl-C) while waiting; the task continues";

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Ok,
    SomeFailed,
    /// No target exists.
    NotFound,
    /// A plan that was only shown would change something.
    WouldChange,
    /// An import left something behind.
    NotCarriedOver,
}

impl Exit {
    pub fn some_failed(is_so: bool) -> Self {
        match is_so {
            true => Self::SomeFailed,
            false => Self::Ok,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Ok => Self::SUCCESS,
            Exit::SomeFailed => Self::from(1),
            Exit::NotFound => Self::from(4),
            Exit::WouldChange => Self::from(2),
            Exit::NotCarriedOver => Self::from(3),
        }
    }
}

/// Why a command could not do its work, by what the user can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It was tried and did not work.
    Failed,
    /// What was typed, or a file that it names, is wrong.
    Usage,
    /// No server, or one that cannot answer now.
    Unreachable,
    /// The server refuses this app or user.
    Refused,
    NotFound,
    TimedOut,
    /// Ctrl-C.
    Interrupted,
    /// The reader of our output is gone: `muster ps | head`.
    Closed,
}

impl Kind {
    pub fn code(self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable | Self::Refused => 3,
            Self::NotFound => 4,
            Self::TimedOut => 5,
            Self::Interrupted => 130,
        }
    }
}

#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    what: String,
    advice: Option<String>,
}

impl Failure {
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            advice: None,
        }
    }

    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Kind::Usage, what)
    }

    /// Adds what to do about it.
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same, but only where it is of this kind.
    pub fn advise_on(self, kind: Kind, advice: impl Into<String>) -> Self {
        match self.kind == kind {
            true => self.advise(advice),
            false => self,
        }
    }

    pub fn what(&self) -> &str {
        &self.what
    }

    pub fn code(&self) -> u8 {
        self.kind.code()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for line in self.advice.iter().flat_map(|advice| advice.lines()) {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl From<agent::config::ConfigError> for Failure {
    fn from(error: agent::config::ConfigError) -> Self {
        Self::usage(chain(&error))
    }
}

impl From<model::Invalid> for Failure {
    fn from(invalid: model::Invalid) -> Self {
        Self::usage(invalid.to_string())
    }
}

/// The whole chain of causes in one sentence.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
        cause = error.source();
    }
    text
}
