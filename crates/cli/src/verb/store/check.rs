//! `muster store check`: reads a backup to its end.

use std::path::{Path, PathBuf};

use ::backup::{BackupError, Reader};

use super::super::Context;
use super::backup::document;
use super::passphrase::{PassphraseArgs, Purpose};
use super::progress::Progress;
use crate::failure::{Exit, Failure, Kind, chain};
use crate::format::{bytes, moment, now};

pub(super) const EXAMPLES: &str = "\
Examples:
  muster store check /var/backups/muster.backup --passphrase-file /etc/muster/backup-passphrase
  Has a copy of the file arrived? Compare what both print:
    muster store check ./muster.backup -o json | jq -r .sha256
    sha256sum ./muster.backup

Reads all of it, and writes nothing.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let file = &args.file;
    let reader = open(file)?;
    let passphrase = args.passphrase.get(context, Purpose::Read)?;
    let header = reader.header().clone();
    let mut progress = Progress::new(&context.out);
    let (mut done, total) = (0, header.content_bytes());
    let read = reader.read(&passphrase, |_, piece| {
        done += piece.len() as u64;
        progress.show(|| format!("checking: {} of {}", bytes(done), bytes(total)));
        Ok(())
    });
    progress.clear();
    let read = read.map_err(|error| failure(file, &error))?;
    let text = format!(
        "{} is complete: made {}, revision {}, {}\nsha256 {}",
        file.display(),
        moment(model::UnixMillis(header.created_at_ms), now()),
        header.revision,
        bytes(read.bytes),
        read.sha256,
    );
    context.out.result(&document(file, &header, &read), text)?;
    Ok(Exit::Ok)
}

/// Opens a backup that this version can restore.
pub(super) fn open(file: &Path) -> Result<Reader, Failure> {
    let reader = Reader::open(file).map_err(|error| failure(file, &error))?;
    let (found, known) = (reader.header().schema_version, store::newest_schema());
    if found > known {
        return Err(Failure::usage(format!(
            "{}: its store has schema version {found}, this program knows {known} at most",
            file.display()
        ))
        .advise(format!(
            "use muster {} or newer, which made it",
            reader.header().version
        )));
    }
    Ok(reader)
}

pub(super) fn failure(file: &Path, error: &BackupError) -> Failure {
    let kind = match error {
        BackupError::Read(error) if error.kind() == std::io::ErrorKind::NotFound => Kind::NotFound,
        BackupError::NotABackup | BackupError::TooNew { .. } | BackupError::WrongPassphrase => {
            Kind::Usage
        }
        _ => Kind::Failed,
    };
    let failure = Failure::new(kind, format!("{}: {}", file.display(), chain(error)));
    match error {
        BackupError::Damaged { .. }
        | BackupError::Truncated { .. }
        | BackupError::TooLong
        | BackupError::BadHeader(_)
        | BackupError::BadKeyDerivation => {
            failure.advise("take another copy of it, or an older backup")
        }
        BackupError::WrongPassphrase => {
            failure.advise("nothing was changed; use the passphrase that this backup was made with")
        }
        BackupError::Write(_) => failure.advise("nothing was changed; is the disk full?"),
        _ => failure,
    }
}
