//! `muster store backup`: everything of a store in one encrypted file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::backup::{BackupError, FileEntry, Header, KeyDerivation, Reader, Writer, Written};
use serde_json::json;
use store::{SnapshotInfo, Store};

use super::super::server::runtime;
use super::super::{Context, environment};
use super::passphrase::{PassphraseArgs, Purpose};
use super::place::{self, BESIDE, DATABASE};
use super::progress::Progress;
use crate::config::{StorePlace, resolve_store};
use crate::failure::{Exit, Failure, Kind, chain};
use crate::format::{bytes, now};

pub(super) const EXAMPLES: &str = "\
Examples:
  Each night, while the server runs (in the crontab of the user that runs the server):
    muster store backup /var/backups/muster.backup --passphrase-file /etc/muster/backup-passphrase
  With a passphrase that is typed:
    muster store backup ./muster.backup
  For a script:
    muster store backup ./muster.backup --passphrase-file ./passphrase -o json

The file holds all of the store, encrypted: processes, topology, tasks, users, and the keys of the
fleet's certificate authority, with which agents stay enrolled. Keep the passphrase elsewhere: without it
the backup is worthless, and with it a thief can act as server and agents.
A store on PostgreSQL is backed up with pg_dump; this command prints how.";

/// How often the size of the copy is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const PIECE: usize = 256 * 1024;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to write; a backup that is there is replaced when the new one is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// The store [env: MUSTER_STORE] [default: SQLite in the data directory]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The server's settings file, which may name both [env: MUSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let place = resolve_store(
        args.store.as_deref(),
        args.config.as_deref(),
        context.data(),
        &environment,
    )?;
    let (data, database) = match place {
        StorePlace::Sqlite { data, file } => (data, file),
        StorePlace::Postgres { url, shown } => return Err(by_pg_dump(&url, &shown, &args.file)),
    };
    if !place::has_store(&database)? {
        let what = format!("there is no store at {}", database.display());
        return Err(Failure::new(Kind::NotFound, what)
            .advise("name the data directory of the server: --data DIR"));
    }
    if let Err(BackupError::NotABackup) = Reader::open(&args.file) {
        let what = format!(
            "{} is there, and is no backup of muster",
            args.file.display()
        );
        return Err(Failure::usage(what).advise("name another file: only a backup is replaced"));
    }
    let passphrase = args.passphrase.get(context, Purpose::Write)?;
    let mut progress = Progress::new(&context.out);
    let copy = PlainCopy::make(&database, &mut progress);
    progress.clear();
    let copy = copy?;
    let written = copy.encrypt(&data, &args.file, &passphrase, &mut progress);
    progress.clear();
    let (header, written) = written.map_err(|error| {
        let what = format!("{}: {}", args.file.display(), chain(&error));
        Failure::new(Kind::Failed, what)
            .advise("nothing was changed; does the folder exist, and is there room?")
    })?;
    let text = format!(
        "wrote {}: {} up to revision {}\nsha256 {}",
        args.file.display(),
        bytes(written.bytes),
        header.revision,
        written.sha256,
    );
    context
        .out
        .result(&document(&args.file, &header, &written), text)?;
    Ok(Exit::Ok)
}

pub(super) fn document(file: &Path, header: &Header, written: &Written) -> serde_json::Value {
    json!({
        "file": file,
        "bytes": written.bytes,
        "sha256": written.sha256,
        "created_at": header.created_at_ms,
        "revision": header.revision,
        "schema_version": header.schema_version,
        "version": header.version,
        "content_bytes": header.content_bytes(),
    })
}

/// PostgreSQL has its own tools; says how to call them, after a look at what they will save.
fn by_pg_dump(url: &str, shown: &str, file: &Path) -> Failure {
    let keys = runtime().and_then(|runtime| {
        runtime.block_on(async {
            let store = Store::open(url).await.map_err(|error| {
                Failure::new(Kind::Failed, format!("{shown}: {}", chain(&error)))
            })?;
            let ca = store.setting("ca").await;
            store.close().await;
            ca.map_err(|error| Failure::new(Kind::Failed, chain(&error)))
        })
    });
    let keys = match keys {
        Ok(Some(_)) => "the keys of the certificate authority are in it, and so in the dump",
        Ok(None) => "no server has started on it yet: it has no keys",
        Err(failure) => return failure,
    };
    Failure::usage(format!(
        "the store is PostgreSQL, which has its own tools for backups; nothing was written. {keys}"
    ))
    .advise(format!(
        "pg_dump --format=custom --no-owner --file={} '{shown}'",
        file.display()
    ))
}

/// A copy of the database in plain text, in the data directory; removed when it is dropped.
struct PlainCopy {
    path: PathBuf,
    info: SnapshotInfo,
}

impl Drop for PlainCopy {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

impl PlainCopy {
    fn make(database: &Path, progress: &mut Progress<'_>) -> Result<Self, Failure> {
        let failed = |what: String| {
            let what = format!("cannot copy {}: {what}", database.display());
            Failure::new(Kind::Failed, what).advise(
                "the copy lies beside it for a moment: is there room, and are you the user of the server, or root?",
            )
        };
        let path = database.with_added_extension("backup");
        // A crash may have left one.
        std::fs::remove_file(&path).ok();
        let created = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path);
        created.map_err(|e| failed(e.to_string()))?;
        let mut copy = Self {
            path,
            info: SnapshotInfo {
                revision: model::change::Revision(0),
                schema_version: 0,
            },
        };
        let runtime = runtime()?;
        let made = runtime.block_on(async {
            let total = store::size_of(database).await?;
            let copying = store::snapshot(database, &copy.path);
            tokio::pin!(copying);
            loop {
                tokio::select! {
                    made = &mut copying => return made,
                    () = tokio::time::sleep(LOOK_EVERY) => {
                        let done = std::fs::metadata(&copy.path).map_or(0, |it| it.len());
                        progress.show(|| format!("copying: {} of {}", bytes(done), bytes(total)));
                    }
                }
            }
        });
        copy.info = made.map_err(|error| failed(chain(&error)))?;
        Ok(copy)
    }

    fn encrypt(
        &self,
        data: &Path,
        target: &Path,
        passphrase: &str,
        progress: &mut Progress<'_>,
    ) -> Result<(Header, Written), BackupError> {
        let beside = BESIDE.map(|name| (name, std::fs::read(data.join(name)).ok()));
        let beside = beside
            .into_iter()
            .filter_map(|(name, content)| Some((name, content?)));
        let beside: Vec<(&str, Vec<u8>)> = beside.collect();
        let mut database = File::open(&self.path).map_err(BackupError::Read)?;
        let size = database.metadata().map_err(BackupError::Read)?.len();
        let entry = |name: &str, bytes: u64| FileEntry {
            name: name.to_owned(),
            bytes,
        };
        let mut files = vec![entry(DATABASE, size)];
        files.extend(
            beside
                .iter()
                .map(|(name, content)| entry(name, content.len() as u64)),
        );
        let header = Header {
            created_at_ms: now().0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema_version: self.info.schema_version,
            revision: self.info.revision.0,
            files,
            key: KeyDerivation::fresh()?,
        };
        let mut writer = Writer::create(target, &header, passphrase)?;
        let mut piece = vec![0; PIECE];
        let mut done = 0;
        loop {
            let n = database.read(&mut piece).map_err(BackupError::Read)?;
            if n == 0 {
                break;
            }
            writer.write_all(&piece[..n]).map_err(BackupError::Write)?;
            done += n as u64;
            progress.show(|| format!("encrypting: {} of {}", bytes(done), bytes(size)));
        }
        for (_, content) in &beside {
            writer.write_all(content).map_err(BackupError::Write)?;
        }
        let written = writer.finish(target)?;
        Ok((header, written))
    }
}
