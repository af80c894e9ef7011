//! `muster store copy`: copies a store without a server.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde_json::json;
use store::{CopiedTable, CopyError, CopyProgress, CopyStep};

use super::super::server::runtime;
use super::place;
use super::progress::Progress;
use crate::failure::{Exit, Failure, Kind, chain};
use crate::format::{count, counted};
use crate::out::Out;

pub(super) const EXAMPLES: &str = "\
Examples:
  From one server to several: stop the server, then
    muster store copy sqlite:/var/lib/muster/muster.db postgres://muster@db/muster
    muster server --data /var/lib/muster --store postgres://muster@db/muster --bus nats://n1:4222
  And back: stop all servers, then
    muster store copy postgres://muster@db/muster sqlite:/var/lib/muster/muster.db

Stop every server first: what is written to FROM meanwhile is not copied. A server that runs on a
SQLite file is noticed; one that runs on PostgreSQL is not. TO must be empty, and stays so if the copy
fails. Leave the password out of the address: PGPASSWORD and ~/.pgpass are read.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// sqlite:/path/to/file.db or postgres://USER@HOST/DATABASE
    #[arg(value_name = "FROM")]
    from: String,
    /// The same, of a store that has nothing in it
    #[arg(value_name = "TO")]
    to: String,
}

pub(super) fn run(out: &Out, args: &Args) -> Result<Exit, Failure> {
    let Args { from, to } = args;
    // Hold the locks to the end, so that no server starts on either file meanwhile.
    let files: BTreeMap<_, _> = [from, to]
        .into_iter()
        .filter_map(|url| lock_file(url))
        .collect();
    let locks: Result<Vec<_>, Failure> = files
        .iter()
        .map(|(lock, file)| acquire(lock, file))
        .collect();
    let _locks = locks?;
    let mut progress = Progress::new(out);
    let copied = runtime()?.block_on(store::copy(from, to, &mut |now| {
        progress.show(|| line(now))
    }));
    progress.clear();
    let tables = copied.map_err(|error| failure(&error))?;
    let n_rows: u64 = tables.iter().map(|table| table.n_rows).sum();
    let text = format!(
        "copied {} of {}; both sides are the same",
        counted(n_rows, "row"),
        counted(tables.len(), "table"),
    );
    out.result(&document(&tables, n_rows), text)?;
    Ok(Exit::Ok)
}

fn document(tables: &[CopiedTable], n_rows: u64) -> serde_json::Value {
    let tables = tables.iter().map(|table| {
        json!({
            "table": table.table,
            "rows": table.n_rows,
            "sha256": table.sha256,
        })
    });
    json!({"rows": n_rows, "tables": Vec::from_iter(tables)})
}

/// The lock that a server holds while it runs on a SQLite file, and the file. Files of one directory share a lock.
fn lock_file(url: &str) -> Option<(PathBuf, PathBuf)> {
    let path = url.strip_prefix("sqlite:")?;
    let file = Path::new(path.strip_prefix("//").unwrap_or(path));
    let folder = file.parent().unwrap_or(Path::new(""));
    Some((place::lock_of(folder), file.to_owned()))
}

/// None where no server has ever run.
fn acquire(lock: &Path, file: &Path) -> Result<Option<File>, Failure> {
    let lock_file = match File::open(lock) {
        Ok(lock_file) => lock_file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            let what = format!("cannot open {}: {e}", lock.display());
            return Err(Failure::new(Kind::Failed, what));
        }
    };
    match flock(&lock_file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock_file)),
        Err(_) => Err(place::in_use(file)),
    }
}

fn failure(error: &CopyError) -> Failure {
    let kind = match error {
        CopyError::NoSource { .. } => Kind::NotFound,
        CopyError::NotEmpty { .. } | CopyError::OtherSchema { .. } => Kind::Usage,
        CopyError::Source(_) | CopyError::Target(_) | CopyError::Differs { .. } => Kind::Failed,
    };
    let failure = Failure::new(kind, chain(error));
    match error {
        CopyError::NotEmpty { .. } => failure.advise("name a new file or a new database"),
        CopyError::OtherSchema { .. } => failure
            .advise("start this version of muster server once on both, or begin with a new target"),
        CopyError::Differs { .. } => failure.advise(
            "the target was left empty: was the source written to? stop every server and try again",
        ),
        CopyError::NoSource { .. } | CopyError::Source(_) | CopyError::Target(_) => failure,
    }
}

fn line(now: CopyProgress<'_>) -> String {
    let verb = match now.step {
        CopyStep::Copying => "copying",
        CopyStep::Checking => "checking",
    };
    format!("{verb} {}: {} so far", now.table, count(now.n_rows))
}
