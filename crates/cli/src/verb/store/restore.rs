//! `muster store restore`: a data directory from a backup.
//!
//! Everything is written and checked beside the place where it belongs; only then it takes the place of what is there, which
//! stays in a folder beside it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ::backup::{BackupError, Header, Reader};
use serde_json::json;
use store::{Restored, Store};

use super::super::server::runtime;
use super::super::{Context, environment};
use super::check::{failure, open};
use super::passphrase::{PassphraseArgs, Purpose};
use super::place::{self, BESIDE, DATABASE};
use super::progress::Progress;
use crate::config::{StorePlace, resolve_store};
use crate::failure::{Exit, Failure, Kind, chain};
use crate::format::{bytes, counted, moment, now};

pub(super) const EXAMPLES: &str = "\
Examples:
  On a new machine, before its server starts:
    muster store restore ./muster.backup --data /var/lib/muster
  In place of what is there, after the server was stopped:
    muster store restore ./muster.backup --data /var/lib/muster --force
  Into PostgreSQL: restore into a folder, then copy
    muster store restore ./muster.backup --data ./restored
    muster store copy sqlite:./restored/muster.db postgres://muster@db/muster

Agents come back by themselves: they trust the restored authority. What happened after the backup is not
in it: hosts that joined since have to join again, processes registered since keep running and are
forgotten, and what was revoked or deleted since is valid again. Operations that were under way are ended
as unknown, and jobs that were under way are paused.";

/// Folders in the data directory: of a restore under way, and of what a restore replaced.
const UNDER_WAY: &str = "restore-under-way";
const REPLACED: &str = "replaced-by-restore";
/// What SQLite keeps beside its file.
const WITH_DATABASE: [&str; 2] = ["muster.db-wal", "muster.db-shm"];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Replace the store that is there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let reader = open(&args.file)?;
    let place = resolve_store(None, None, context.data(), &environment)?;
    let StorePlace::Sqlite { data, .. } = place else {
        return Err(Failure::usage(
            "a backup is restored into a data directory, not into PostgreSQL",
        )
        .advise("unset MUSTER_STORE, name a folder with --data DIR, then muster store copy"));
    };
    let fresh = FreshFolder::note(&data);
    let _lock = place::lock(&data)?;
    let is_there = data.join(DATABASE).exists();
    if is_there && !args.force {
        let what = format!("there is a store in {}", data.display());
        return Err(Failure::usage(what).advise(
            "--force replaces it, and keeps it aside; --data DIR names another directory",
        ));
    }
    let passphrase = args.passphrase.get(context, Purpose::Read)?;
    let header = reader.header().clone();
    let under_way = UnderWay::begin(&data)?;
    let mut progress = Progress::new(&context.out);
    let unpacked = under_way.unpack(reader, &passphrase, &mut progress);
    progress.clear();
    unpacked.map_err(|error| failure(&args.file, &error))?;
    let restored = under_way.make_servable(&args.file, &header)?;
    let replaced = under_way.move_in()?;
    fresh.keep();
    let document = json!({
        "data": data,
        "revision": restored.revision.0,
        "backup_revision": header.revision,
        "created_at": header.created_at_ms,
        "ended_operations": restored.ended_operations,
        "paused_jobs": restored.paused_jobs,
        "replaced": replaced,
    });
    let mut text = format!(
        "restored {} from a backup made {}",
        data.display(),
        moment(model::UnixMillis(header.created_at_ms), now())
    );
    if restored.ended_operations > 0 || restored.paused_jobs > 0 {
        text.push_str(&format!(
            "\n{} under way then ended as unknown, {} paused (muster job list)",
            counted(restored.ended_operations, "operation"),
            counted(restored.paused_jobs, "job"),
        ));
    }
    if let Some(replaced) = &replaced {
        let folder = replaced.display();
        text.push_str(&format!(
            "\nwhat was there before is in {folder}: remove it when all is well"
        ));
    }
    context.out.result(&document, text)?;
    Ok(Exit::Ok)
}

/// A data directory that was not there before; removed when it is dropped, unless it is kept.
struct FreshFolder(Option<PathBuf>);

impl FreshFolder {
    fn note(data: &Path) -> Self {
        Self((!data.exists()).then(|| data.to_owned()))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for FreshFolder {
    fn drop(&mut self) {
        if let Some(data) = &self.0 {
            std::fs::remove_file(place::lock_of(data)).ok();
            // Only if nothing else is in it.
            std::fs::remove_dir(data).ok();
        }
    }
}

/// The folder in which a restore is prepared; removed when it is dropped.
struct UnderWay {
    data: PathBuf,
    folder: PathBuf,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl UnderWay {
    fn begin(data: &Path) -> Result<Self, Failure> {
        let folder = data.join(UNDER_WAY);
        // A crash may have left one.
        std::fs::remove_dir_all(&folder).ok();
        let under_way = Self {
            data: data.to_owned(),
            folder,
        };
        let made = DirBuilder::new().mode(0o700).create(&under_way.folder);
        made.map_err(|e| under_way.failed(&e))?;
        Ok(under_way)
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let what = format!("cannot write in {}: {error}", self.data.display());
        Failure::new(Kind::Failed, what).advise("nothing was changed; is the disk full?")
    }

    fn unpack(
        &self,
        reader: Reader,
        passphrase: &str,
        progress: &mut Progress<'_>,
    ) -> Result<(), BackupError> {
        let header = reader.header().clone();
        let total = header.content_bytes();
        let known = |name: &str| name == DATABASE || BESIDE.contains(&name);
        let mut files = Vec::new();
        for entry in &header.files {
            // A newer version may have more; it would also have a newer format if that mattered.
            let file = match known(&entry.name) {
                true => Some(create(&self.folder.join(&entry.name)).map_err(BackupError::Write)?),
                false => None,
            };
            files.push(file);
        }
        let mut done = 0;
        reader.read(passphrase, |index, piece| {
            done += piece.len() as u64;
            progress.show(|| format!("restoring: {} of {}", bytes(done), bytes(total)));
            match files.get_mut(index) {
                Some(Some(file)) => file.write_all(piece),
                Some(None) | None => Ok(()),
            }
        })?;
        for file in files.iter().flatten() {
            file.sync_all().map_err(BackupError::Write)?;
        }
        Ok(())
    }

    /// Checks the database, brings it up to date, and makes it safe beside agents that have seen more.
    fn make_servable(&self, file: &Path, header: &Header) -> Result<Restored, Failure> {
        let failed = |what: String| {
            Failure::new(Kind::Failed, format!("{}: {what}", file.display()))
                .advise("nothing was changed")
        };
        let database = self.folder.join(DATABASE);
        if !header.files.iter().any(|entry| entry.name == DATABASE) {
            return Err(failed("it holds no database".to_owned()));
        }
        runtime()?.block_on(async {
            let checked = store::check_snapshot(&database).await;
            checked.map_err(|error| failed(chain(&error)))?;
            let store = Store::open(&format!("sqlite:{}", database.display())).await;
            let store = store.map_err(|error| failed(chain(&error)))?;
            let restored = store.begin_anew(now()).await;
            store.close().await;
            restored.map_err(|error| failed(chain(&error)))
        })
    }

    /// Replaces the files in the data directory; returns the folder with what was there.
    fn move_in(&self) -> Result<Option<PathBuf>, Failure> {
        // Without its database, a log of SQLite may still be there, and must not be read into the new one.
        let mut database = [DATABASE].into_iter().chain(WITH_DATABASE);
        let is_there = database.any(|name| self.data.join(name).exists());
        let aside = is_there.then(|| self.data.join(format!("{REPLACED}-{}", now().0)));
        let mut moved = Vec::new();
        let done = self.replace(aside.as_deref(), &mut moved);
        if let Err(error) = done {
            // Backwards, so that each place is free again.
            for (from, to) in moved.iter().rev() {
                std::fs::rename(to, from).ok();
            }
            return Err(self.failed(&error));
        }
        Ok(aside)
    }

    fn replace(&self, aside: Option<&Path>, moved: &mut Vec<(PathBuf, PathBuf)>) -> io::Result<()> {
        let mut rename = |from: PathBuf, to: PathBuf| {
            std::fs::rename(&from, &to)?;
            moved.push((from, to));
            io::Result::Ok(())
        };
        let is_new = |name: &str| self.folder.join(name).exists();
        if let Some(aside) = aside {
            DirBuilder::new().mode(0o700).create(aside)?;
            let names = [DATABASE].into_iter().chain(WITH_DATABASE).chain(BESIDE);
            for name in names {
                let place = self.data.join(name);
                // What the backup does not have stays: the address of the server, for example.
                let is_replaced = !BESIDE.contains(&name) || is_new(name);
                if is_replaced && place.exists() {
                    rename(place, aside.join(name))?;
                }
            }
        }
        let owner = std::fs::metadata(&self.data)?;
        // The database last: while it is not there, a server that starts finds nothing old to serve.
        for name in BESIDE
            .into_iter()
            .chain([DATABASE])
            .filter(|name| is_new(name))
        {
            let (from, to) = (self.folder.join(name), self.data.join(name));
            if rustix::process::geteuid().is_root() {
                // The server may run as another user, who owns the directory.
                std::os::unix::fs::chown(&from, Some(owner.uid()), Some(owner.gid()))?;
            }
            if !to.exists() || name == DATABASE {
                rename(from, to)?;
            }
        }
        File::open(&self.data)?.sync_all()
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(path)
}
