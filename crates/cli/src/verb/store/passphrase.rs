//! The passphrase of a backup: from a file, from the environment, or typed. Never from the command line, where every user of
//! the machine could read it.

use std::io::IsTerminal;

use super::super::{Context, environment};
use crate::failure::Failure;
use crate::password;

const VARIABLE: &str = "MUSTER_BACKUP_PASSPHRASE";
/// The fewest characters.
const SHORTEST: usize = 8;
/// A longer file is not a passphrase.
const LONGEST: u64 = 4096;

#[derive(Debug, clap::Args)]
pub(super) struct PassphraseArgs {
    /// A file whose first line is the passphrase of the backup [env: MUSTER_BACKUP_PASSPHRASE has the passphrase itself]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<String>,
}

/// Whether the passphrase is made up now, and must be typed twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Write,
    Read,
}

impl PassphraseArgs {
    pub(super) fn get(&self, context: &Context, purpose: Purpose) -> Result<String, Failure> {
        let passphrase = match (&self.passphrase_file, environment(VARIABLE)) {
            (Some(file), _) => from_file(file)?,
            (None, Some(passphrase)) if !passphrase.is_empty() => passphrase,
            (None, _) if std::io::stdin().is_terminal() => ask(context, purpose)?,
            (None, _) => {
                return Err(Failure::usage(
                    "a backup needs a passphrase, and there is no terminal to ask on",
                )
                .advise(format!("give --passphrase-file FILE, or set {VARIABLE}")));
            }
        };
        match purpose == Purpose::Write && passphrase.chars().count() < SHORTEST {
            true => Err(Failure::usage(format!(
                "the passphrase must have at least {SHORTEST} characters: with it, a thief of the file has the keys of the fleet"
            ))),
            false => Ok(passphrase),
        }
    }
}

fn from_file(file: &str) -> Result<String, Failure> {
    use std::io::Read;
    let bad = |what: String| Failure::usage(format!("--passphrase-file {file}: {what}"));
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|e| bad(e.to_string()))?;
    let read = opened.take(LONGEST).read_to_string(&mut text);
    read.map_err(|e| bad(e.to_string()))?;
    match text.lines().next().unwrap_or_default() {
        "" => Err(bad("its first line is empty".to_owned())),
        line => Ok(line.to_owned()),
    }
}

fn ask(context: &Context, purpose: Purpose) -> Result<String, Failure> {
    let passphrase = password::ask(&context.out, "passphrase of the backup: ")?;
    if purpose == Purpose::Write
        && password::ask(&context.out, "the same passphrase again: ")? != passphrase
    {
        return Err(Failure::usage("the two passphrases differ"));
    }
    Ok(passphrase)
}
