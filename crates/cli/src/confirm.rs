//! Asks a person at a terminal before something is removed. A script is not asked.

use std::io::{BufRead, IsTerminal, Write};

use crate::failure::{Failure, Kind};
use crate::terminal_safe;

/// Whether a person can answer.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks; anything but yes is no. Without a terminal the answer is yes.
pub fn confirm(question: &str) -> Result<(), Failure> {
    if !can_ask() {
        return Ok(());
    }
    let mut stderr = std::io::stderr().lock();
    let mut line = String::new();
    let asked =
        write!(stderr, "{} [y/N] ", terminal_safe::text(question)).and_then(|()| stderr.flush());
    let answered = asked.and_then(|()| std::io::stdin().lock().read_line(&mut line));
    match (answered, line.trim().to_ascii_lowercase().as_str()) {
        (Ok(_), "y" | "yes") => Ok(()),
        _ => Err(Failure::new(Kind::Failed, "not done").advise("--yes does it without asking")),
    }
}
