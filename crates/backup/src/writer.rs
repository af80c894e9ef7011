//! Writes a backup beside its place, and moves it there when it is complete and on the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use crate::chunks::{CHUNK, ChunkKey, Position};
use crate::{BackupError, Header};

/// A backup under way. Dropped before [`Writer::finish`], it leaves nothing behind.
pub struct Writer {
    temporary: Temporary,
    file: BufWriter<File>,
    key: ChunkKey,
    chunk: Vec<u8>,
    /// Bytes that the header announces and that were not written yet.
    missing: u64,
    digest: Context,
    n_bytes: u64,
}

/// Without the content.
impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("temporary", &self.temporary)
            .field("n_bytes", &self.n_bytes)
            .finish_non_exhaustive()
    }
}

/// A complete backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    /// Of the whole file, in hexadecimal: what `sha256sum` prints.
    pub sha256: String,
}

/// Removed when it is dropped.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // It may have been renamed.
        std::fs::remove_file(&self.0).ok();
    }
}

impl Writer {
    /// `target` is where the backup will be. The content of the files in the header follows with [`Write`].
    pub fn create(target: &Path, header: &Header, passphrase: &str) -> Result<Self, BackupError> {
        let temporary = target.with_added_extension("part");
        // A crash may have left one.
        std::fs::remove_file(&temporary).ok();
        let file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&temporary)
            .map_err(BackupError::Write)?;
        let head = header.to_bytes();
        let mut writer = Self {
            temporary: Temporary(temporary),
            file: BufWriter::new(file),
            key: ChunkKey::new(header.key.key(passphrase)?),
            chunk: Vec::with_capacity(CHUNK),
            missing: header.content_bytes(),
            digest: Context::new(&SHA256),
            n_bytes: 0,
        };
        writer.put(&head).map_err(BackupError::Write)?;
        // An empty chunk: if it opens, the passphrase is right and the header is as it was.
        let mut empty = Vec::new();
        writer.key.seal(&mut empty, &head, Position::More);
        writer.put(&empty).map_err(BackupError::Write)?;
        Ok(writer)
    }

    /// Writes the rest, syncs, and moves the file to its place.
    pub fn finish(mut self, target: &Path) -> Result<Written, BackupError> {
        let finished = (|| {
            if self.missing > 0 {
                return Err(io::Error::other("the content is shorter than announced"));
            }
            self.seal(Position::Last)?;
            self.file.flush()?;
            self.file.get_ref().sync_all()?;
            std::fs::rename(&self.temporary.0, target)?;
            let folder = target.parent().filter(|it| !it.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        })();
        finished.map_err(BackupError::Write)?;
        let digest = self.digest.finish();
        Ok(Written {
            bytes: self.n_bytes,
            sha256: to_hex(digest.as_ref()),
        })
    }

    fn seal(&mut self, position: Position) -> io::Result<()> {
        let mut chunk = std::mem::take(&mut self.chunk);
        self.key.seal(&mut chunk, &[], position);
        self.put(&chunk)?;
        chunk.clear();
        self.chunk = chunk;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.digest.update(bytes);
        self.n_bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.missing {
            return Err(io::Error::other("the content is longer than announced"));
        }
        // A full chunk waits for the next byte: only then it is known that it is not the last.
        if self.chunk.len() == CHUNK && !bytes.is_empty() {
            self.seal(Position::More)?;
        }
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        self.missing -= taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
