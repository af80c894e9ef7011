//! The journal: what must survive the agent, in an append-only file of checksummed records, and a lock on its directory.
//!
//! ```text
//! journal  = "MUSTERJ1" record*
//! record   = length: u32 LE, crc32 of payload: u32 LE, payload
//! payload  = JSON array of entries, all valid or none
//! ```
//!
//! An incomplete record at the end was being written when the agent died: it is cut off. A complete record with a wrong
//! checksum is damage, also at the end: the file is set aside, everything before the damage counts, and the agent goes on
//! knowing that more may have happened.
//!
//! A second file reserves disk space. When the disk is full, the agent removes it, so that accepted operations can be
//! journalled to their end; until there is room for it again, the agent accepts no operation.
//!
//! `append` writes; `sync` makes durable (fsync). A killed agent loses nothing that was written, a host that loses power
//! nothing that was synced.

pub(crate) mod entry;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::os::durable;
use entry::Entry;

const MAGIC: &[u8; 8] = b"MUSTERJ1";
const HEADER: usize = 8;
/// Disk space that is reserved for the results of accepted operations.
const RESERVE: usize = 256 * 1024;
/// The largest record that is read.
const MAX_RECORD: usize = 64 * 1024 * 1024;

/// How much of a journal could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// The last record was incomplete: nothing was done about it.
    Torn,
    /// Up to a damaged record: the agent may have acted on records behind it.
    Damaged,
}

#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    file: Arc<File>,
    length: u64,
    /// The length after the last rewrite.
    base_length: u64,
    /// Up to where it is durable.
    synced_length: u64,
    /// The last write failed: the file lacks an entry.
    behind: bool,
    has_reserve: bool,
}

/// A sync under way.
pub(crate) struct Syncing {
    done: durable::SyncDone,
    file: Arc<File>,
    length: u64,
}

/// A sync that has ended.
#[derive(Debug)]
pub(crate) struct Synced {
    result: io::Result<()>,
    file: Arc<File>,
    length: u64,
}

impl Syncing {
    /// Waits for its end. Cancel-safe.
    pub(crate) async fn wait(&mut self) -> Synced {
        Synced {
            result: (&mut self.done).await,
            file: Arc::clone(&self.file),
            length: self.length,
        }
    }
}

impl Journal {
    /// Opens the journal in `dir` and reads every entry.
    pub(crate) fn open(dir: &Path) -> io::Result<(Self, Vec<Entry>, Extent)> {
        let path = dir.join("journal");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (entries, good, extent) = match read(&bytes) {
            Reading::Whole(entries) => (entries, bytes.len(), Extent::Whole),
            Reading::Torn(entries, good) => {
                // A new journal has nothing to cut off.
                if good < bytes.len() {
                    tracing::warn!(
                        path = %path.display(),
                        bytes = bytes.len() - good,
                        "the end of the journal was not written whole: cut off"
                    );
                }
                (entries, good, Extent::Torn)
            }
            Reading::Damaged(entries, good) => {
                let aside = set_aside(&path)?;
                tracing::error!(
                    path = %path.display(),
                    aside = %aside.display(),
                    at = good,
                    entries = entries.len(),
                    "THE JOURNAL IS DAMAGED: what stands before the damage counts, the file was set aside"
                );
                (entries, good, Extent::Damaged)
            }
        };
        let mut journal = Self {
            dir: dir.to_owned(),
            file: Arc::new(file),
            length: good as u64,
            base_length: 0,
            synced_length: 0,
            behind: false,
            has_reserve: false,
        };
        journal.file.set_len(journal.length)?;
        if journal.length < HEADER as u64 {
            journal.file.set_len(0)?;
            journal.file.write_all_at(MAGIC, 0)?;
            journal.length = HEADER as u64;
        }
        journal.sync()?;
        journal.keep_reserve();
        sync_directory(dir)?;
        Ok((journal, entries, extent))
    }

    /// Appends entries as one record. After an error the file is as it was.
    pub(crate) fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut record = Vec::with_capacity(512);
        encode(entries, &mut record)?;
        let mut written = self.file.write_all_at(&record, self.length);
        if written.is_err() && self.give_up_reserve() {
            written = self.file.write_all_at(&record, self.length);
        }
        if let Err(error) = written {
            self.behind = true;
            // An incomplete record must not stay before the next one.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += record.len() as u64;
        Ok(())
    }

    /// Makes everything written so far durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.synced_length < self.length {
            durable::sync(&self.file)?;
            self.synced_length = self.length;
        }
        Ok(())
    }

    /// Begins to sync everything written so far, on another thread.
    pub(crate) fn begin_sync(&self) -> Syncing {
        Syncing {
            done: durable::begin(&self.file),
            file: Arc::clone(&self.file),
            length: self.length,
        }
    }

    /// Takes the result of a sync. Everything that it covers is durable, unless this is an error.
    pub(crate) fn end_sync(&mut self, ended: Synced) -> io::Result<()> {
        ended.result?;
        // A rewrite since then has synced more than this.
        if Arc::ptr_eq(&ended.file, &self.file) {
            self.synced_length = self.synced_length.max(ended.length);
        }
        Ok(())
    }

    /// Reserves the disk space, if it is not reserved; false when the disk is full.
    pub(crate) fn keep_reserve(&mut self) -> bool {
        if !self.has_reserve {
            let path = self.dir.join("reserve");
            // Real blocks: a sparse file would reserve nothing.
            let kept = fs::write(&path, vec![0x55; RESERVE]);
            if let Err(error) = &kept {
                tracing::error!(path = %path.display(), %error, "no room is left: no operation is taken on");
                let _ = fs::remove_file(&path);
            }
            self.has_reserve = kept.is_ok();
        }
        self.has_reserve
    }

    fn give_up_reserve(&mut self) -> bool {
        let had = std::mem::take(&mut self.has_reserve);
        had && fs::remove_file(self.dir.join("reserve")).is_ok()
    }

    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Whether most of the file is superseded.
    pub(crate) fn wants_rewriting(&self, bound: u64) -> bool {
        self.length > bound.max(self.base_length.saturating_mul(4))
    }

    /// Writes everything that counts into a new file, which replaces the old one.
    pub(crate) fn rewrite(&mut self, entries: impl Iterator<Item = Entry>) -> io::Result<()> {
        let path = self.dir.join("journal.new");
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        let mut writer = io::BufWriter::new(&file);
        writer.write_all(MAGIC)?;
        let mut length = HEADER as u64;
        let mut record = Vec::new();
        for entry in entries {
            record.clear();
            encode(&[entry], &mut record)?;
            writer.write_all(&record)?;
            length += record.len() as u64;
        }
        writer.flush()?;
        drop(writer);
        durable::sync(&file)?;
        fs::rename(&path, self.dir.join("journal"))?;
        sync_directory(&self.dir)?;
        self.file = Arc::new(file);
        self.length = length;
        self.base_length = length;
        self.synced_length = length;
        self.behind = false;
        Ok(())
    }
}

/// Every readable entry, for checks of the simulation.
#[cfg(fake_os)]
pub(crate) fn entries(dir: &Path) -> Vec<Entry> {
    match read(&fs::read(dir.join("journal")).unwrap_or_default()) {
        Reading::Whole(entries) | Reading::Torn(entries, _) | Reading::Damaged(entries, _) => {
            entries
        }
    }
}

/// Locks the directory; `None` when another agent uses it.
pub(crate) fn lock(dir: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.join("lock"))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn encode(entries: &[Entry], record: &mut Vec<u8>) -> io::Result<()> {
    record.extend_from_slice(&[0; HEADER]);
    serde_json::to_writer(&mut *record, entries)?;
    let payload = record.len() - HEADER;
    if payload > MAX_RECORD {
        return Err(io::Error::other("too large for the journal"));
    }
    let crc = crc32fast::hash(&record[HEADER..]);
    record[..4].copy_from_slice(&(payload as u32).to_le_bytes());
    record[4..HEADER].copy_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// The entries that were read, and up to which offset the file is valid.
enum Reading {
    Whole(Vec<Entry>),
    Torn(Vec<Entry>, usize),
    Damaged(Vec<Entry>, usize),
}

fn read(bytes: &[u8]) -> Reading {
    let mut entries = Vec::new();
    if bytes.len() < HEADER {
        return match MAGIC.starts_with(bytes) {
            true => Reading::Torn(entries, 0),
            false => Reading::Damaged(entries, 0),
        };
    }
    if &bytes[..HEADER] != MAGIC {
        return Reading::Damaged(entries, 0);
    }
    let mut at = HEADER;
    while at < bytes.len() {
        let rest = &bytes[at..];
        // After a power loss a file may end with zeros.
        if rest.iter().all(|byte| *byte == 0) {
            return Reading::Torn(entries, at);
        }
        let Some((head, payload)) = rest.split_at_checked(HEADER) else {
            return Reading::Torn(entries, at);
        };
        let (length, crc) = words(head);
        if length == 0 || length > MAX_RECORD {
            return Reading::Damaged(entries, at);
        }
        let Some(payload) = payload.get(..length) else {
            let is_whole = crc32fast::hash(payload) == crc;
            return match is_whole || holds_record(payload) {
                // Only its length is damaged.
                true => Reading::Damaged(entries, at),
                false => Reading::Torn(entries, at),
            };
        };
        if crc32fast::hash(payload) != crc {
            return Reading::Damaged(entries, at);
        }
        match serde_json::from_slice::<Vec<Entry>>(payload) {
            Ok(more) => entries.extend(more),
            Err(error) => {
                tracing::error!(%error, at, "a journal record that this version cannot read");
                return Reading::Damaged(entries, at);
            }
        }
        at += HEADER + length;
    }
    Reading::Whole(entries)
}

/// The length and the checksum in front of a record.
fn words(head: &[u8]) -> (usize, u32) {
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    (word(0) as usize, word(4))
}

/// Whether a complete record begins somewhere in these bytes. Quick, because text decodes to no valid length.
fn holds_record(bytes: &[u8]) -> bool {
    let mut windows = bytes.windows(HEADER).enumerate();
    windows.any(|(at, head)| {
        let (length, crc) = words(head);
        let payload = bytes[at + HEADER..].get(..length);
        payload.is_some_and(|payload| !payload.is_empty() && crc32fast::hash(payload) == crc)
    })
}

fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let stamp = crate::os::clock::unix().0;
    let aside = path.with_file_name(format!("journal.damaged-{stamp}"));
    fs::copy(path, &aside)?;
    Ok(aside)
}

fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
