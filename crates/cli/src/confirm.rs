//! The one rule about asking first, for every verb.
//!
//! A verb asks before it removes something for good, and before it interrupts more than one process. It asks on a terminal;
//! without one it needs `--yes` and does nothing otherwise, so that a script never does by accident what a person would have
//! been asked about.

use std::io::{BufRead, IsTerminal, Write};

use crate::failure::{Failure, Kind};
use crate::terminal_safe;

/// Shown in `muster --help`.
pub const WHEN: &str = "\
Asking first:
  Verbs that remove something (rm, unregister, delete, logins end, agent revoke, hosts remove, group set
  --none, topology remove, an import that takes processes out), apply and import --adopt, and verbs that interrupt more than one process (stop,
  restart and kill, also of jobs, job release --then restart, update --roll, rollback and job revert) ask first. Without a terminal to ask on they need
  --yes, and end with 2 and change nothing without it. To stop or restart one process on one
  host, nothing is asked.";

#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct ConfirmArgs {
    /// Do not ask first; needed where there is no terminal to ask on
    #[arg(short, long)]
    yes: bool,
}

impl ConfirmArgs {
    /// Whether the question is answered already.
    pub fn is_given(self) -> bool {
        self.yes
    }

    /// The same, with the question answered: it was asked about the whole.
    pub fn given(self) -> Self {
        Self { yes: true }
    }

    /// Asks whether to do what `what` says, such as `stop 3 processes`; anything but yes is no.
    pub fn ask(self, what: &str) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return Err(Failure::usage(format!("not done: {what}"))
                .advise("there is no terminal to ask on; --yes does it without asking"));
        }
        let mut stderr = std::io::stderr().lock();
        let mut line = String::new();
        let asked =
            write!(stderr, "{}? [y/N] ", terminal_safe::text(what)).and_then(|()| stderr.flush());
        let answered = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
        match (answered, line.trim().to_ascii_lowercase().as_str()) {
            (Ok(_), "y" | "yes") => Ok(()),
            _ => Err(Failure::new(Kind::Failed, "not done").advise("--yes does it without asking")),
        }
    }
}
