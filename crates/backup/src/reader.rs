//! Reads a backup from its first byte to its last, and says what is wrong with one that is not as it was written.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use ring::digest::{Context, SHA256};

use crate::chunks::{CHUNK, ChunkKey, Position, TAG};
use crate::writer::{Written, to_hex};
use crate::{BackupError, Header};

/// A backup whose header was read.
#[derive(Debug)]
pub struct Reader {
    file: BufReader<Counted>,
    header: Header,
    header_bytes: Vec<u8>,
}

impl Reader {
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let file = File::open(path).map_err(BackupError::Read)?;
        let mut file = BufReader::new(Counted {
            file,
            digest: Context::new(&SHA256),
            n_bytes: 0,
        });
        let (header, header_bytes) = Header::read(&mut file)?;
        Ok(Self {
            file,
            header,
            header_bytes,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Passes the content of every file, in order and in pieces, to `take`, with the file's index. All of it is authenticated
    /// before it is passed on; whether it is complete is known only when this returns.
    pub fn read(
        mut self,
        passphrase: &str,
        mut take: impl FnMut(usize, &[u8]) -> io::Result<()>,
    ) -> Result<Written, BackupError> {
        let mut key = ChunkKey::new(self.header.key.key(passphrase)?);
        let mut chunk = Vec::with_capacity(CHUNK + TAG);
        if self.fill(&mut chunk, TAG)? < TAG {
            return Err(BackupError::Truncated { after: 0 });
        }
        if key
            .open(&mut chunk, &self.header_bytes, Position::More)
            .is_none()
        {
            return Err(BackupError::WrongPassphrase);
        }
        let mut files = Files::new(&self.header);
        loop {
            let n = self.fill(&mut chunk, CHUNK + TAG)?;
            let after = files.n_taken;
            if n < TAG {
                return Err(BackupError::Truncated { after });
            }
            let position = match self.is_at_end()? {
                true => Position::Last,
                false => Position::More,
            };
            let Some(plain) = key.open(&mut chunk, &[], position) else {
                // A file that was cut, between two chunks or within one, has less content than it should.
                let content = after + (n - TAG) as u64;
                let is_cut = position == Position::Last && content < self.header.content_bytes();
                return Err(match is_cut {
                    true => BackupError::Truncated { after },
                    false => BackupError::Damaged { after },
                });
            };
            files.take(plain, &mut take)?;
            if position == Position::Last {
                break;
            }
        }
        files.finish()?;
        let counted = self.file.into_inner();
        Ok(Written {
            bytes: counted.n_bytes,
            sha256: to_hex(counted.digest.finish().as_ref()),
        })
    }

    /// Reads up to `limit` bytes; fewer only at the end.
    fn fill(&mut self, chunk: &mut Vec<u8>, limit: usize) -> Result<usize, BackupError> {
        chunk.clear();
        let mut limited = self.file.by_ref().take(limit as u64);
        limited.read_to_end(chunk).map_err(BackupError::Read)
    }

    fn is_at_end(&mut self) -> Result<bool, BackupError> {
        use std::io::BufRead;
        let more = self.file.fill_buf().map_err(BackupError::Read)?;
        Ok(more.is_empty())
    }
}

/// Divides the content among the files of the header.
struct Files {
    left: Vec<u64>,
    at: usize,
    n_taken: u64,
}

impl Files {
    fn new(header: &Header) -> Self {
        Self {
            left: header.files.iter().map(|file| file.bytes).collect(),
            at: 0,
            n_taken: 0,
        }
    }

    fn take(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(usize, &[u8]) -> io::Result<()>,
    ) -> Result<(), BackupError> {
        while !bytes.is_empty() {
            let left = self.left.get_mut(self.at).ok_or(BackupError::TooLong)?;
            let n = usize::try_from(*left)
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            let (now, later) = bytes.split_at(n);
            if n > 0 {
                take(self.at, now).map_err(BackupError::Write)?;
            }
            *left -= n as u64;
            self.n_taken += n as u64;
            if *left == 0 {
                self.at += 1;
            }
            bytes = later;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), BackupError> {
        match self.left.iter().all(|left| *left == 0) {
            true => Ok(()),
            false => Err(BackupError::Truncated {
                after: self.n_taken,
            }),
        }
    }
}

/// Digests what is read.
struct Counted {
    file: File,
    digest: Context,
    n_bytes: u64,
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted")
            .field("n_bytes", &self.n_bytes)
            .finish_non_exhaustive()
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.digest.update(&buffer[..n]);
        self.n_bytes += n as u64;
        Ok(n)
    }
}
