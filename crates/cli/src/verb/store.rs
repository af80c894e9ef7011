//! `muster store`: copies, backs up and restores a store.

mod after_restore;
mod backup;
mod check;
mod copy;
mod passphrase;
mod place;
mod progress;
mod restore;

use super::Context;
use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Copy everything into an empty store, and check that it arrived
    #[command(after_help = copy::EXAMPLES)]
    Copy(copy::Args),
    /// Write everything into one encrypted file, while the server runs
    #[command(after_help = backup::EXAMPLES)]
    Backup(backup::Args),
    /// Make a data directory from a backup
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::Args),
    /// Make a store safe to serve that other tools restored
    #[command(after_help = after_restore::EXAMPLES)]
    AfterRestore(after_restore::Args),
    /// Check that a backup is complete and undamaged
    #[command(after_help = check::EXAMPLES)]
    Check(check::Args),
}

pub const EXAMPLES: &str = "\
Examples:
  muster store backup /var/backups/muster.backup --passphrase-file /etc/muster/backup-passphrase
  muster store check /var/backups/muster.backup --passphrase-file /etc/muster/backup-passphrase
  muster store restore /var/backups/muster.backup --passphrase-file /etc/muster/backup-passphrase
  muster store copy sqlite:/var/lib/muster/muster.db postgres://muster@db/muster";

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::Copy(args) => copy::run(&context.out, args),
        Action::Backup(args) => backup::run(context, args),
        Action::Restore(args) => restore::run(context, args),
        Action::AfterRestore(args) => after_restore::run(context, args),
        Action::Check(args) => check::run(context, args),
    }
}
