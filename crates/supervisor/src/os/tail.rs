//! Reads a file that another process writes, from its last lines on: logs, and spools.
//!
//! A log is opened with the rights of the process's user. The reader follows the writer: a file that replaced it is read
//! from its beginning, and so is a file that was truncated. Nothing of it is kept in memory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::regular;
use super::rights::OsRights;

/// How far back the last lines are searched.
const MAX_TAIL: u64 = 8 * 1024 * 1024;
const BLOCK: usize = 64 * 1024;

/// Where reading ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadUntil {
    /// At the end of the file as it was opened.
    CurrentEnd,
    /// Never: reading goes on with what is written later.
    Cancelled,
}

/// What happened to a file that was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// It is the same file.
    Unchanged,
    /// It was truncated or replaced: reading starts at its beginning.
    Restarted,
    /// It does not exist any more.
    Removed,
}

/// A file that is being read.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    rights: OsRights,
    file: File,
    position: u64,
    end: Option<u64>,
}

impl Log {
    /// Opens it at its last lines. A spool may begin with a hole.
    pub(crate) fn open(
        path: PathBuf,
        rights: OsRights,
        is_spool: bool,
        tail_lines: u32,
        until: ReadUntil,
    ) -> io::Result<Self> {
        let file = open(&path, &rights)?;
        let size = file.metadata()?.len();
        let position = last_lines(&file, size, tail_lines, is_spool)?;
        Ok(Self {
            path,
            rights,
            file,
            position,
            end: match until {
                ReadUntil::CurrentEnd => Some(size),
                ReadUntil::Cancelled => None,
            },
        })
    }

    /// The next bytes, at most `max`; none at the end.
    pub fn read(&mut self, max: usize) -> io::Result<Vec<u8>> {
        let left = self
            .end
            .map_or(u64::MAX, |end| end.saturating_sub(self.position));
        let max = max.min(usize::try_from(left).unwrap_or(usize::MAX));
        let bytes = regular::read_at(&self.file, self.position, max)?;
        self.position += bytes.len() as u64;
        Ok(bytes)
    }

    /// Checks whether the file was truncated or replaced, and follows once all of it was read.
    pub fn follow_writer(&mut self) -> io::Result<FileChange> {
        let ours = self.file.metadata()?;
        if ours.len() > self.position {
            // Read the rest of this file first.
            return Ok(FileChange::Unchanged);
        }
        let found = self.rights.with(|| fs::metadata(&self.path));
        let found = match found {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(FileChange::Removed);
            }
            Err(error) => return Err(error),
        };
        if (found.dev(), found.ino()) != (ours.dev(), ours.ino()) {
            self.file = open(&self.path, &self.rights)?;
            self.position = 0;
            return Ok(FileChange::Restarted);
        }
        if ours.len() < self.position {
            self.position = 0;
            return Ok(FileChange::Restarted);
        }
        Ok(FileChange::Unchanged)
    }
}

fn open(path: &Path, rights: &OsRights) -> io::Result<File> {
    rights.with(|| {
        regular::open(
            &fs::canonicalize(path)?,
            OFlags::RDONLY | OFlags::NOFOLLOW,
            0,
        )
    })
}

/// The offset of the last lines, searched backwards from the end.
fn last_lines(file: &File, size: u64, lines: u32, is_spool: bool) -> io::Result<u64> {
    if lines == 0 {
        return Ok(size);
    }
    let floor = size.saturating_sub(MAX_TAIL);
    let mut block = vec![0; BLOCK];
    let mut at = size;
    let mut found = 0;
    while at > floor {
        let length = (at - floor).min(BLOCK as u64) as usize;
        let from = at - length as u64;
        let block = &mut block[..length];
        file.read_exact_at(block, from)?;
        for (index, byte) in block.iter().enumerate().rev() {
            let after = from + index as u64 + 1;
            let is_hole = *byte == 0 && is_spool;
            // The newline at the very end ends the last line and begins none.
            let ends_line = *byte == b'\n' && after < size;
            found += u32::from(ends_line);
            if is_hole || found == lines {
                return Ok(after);
            }
        }
        at = from;
    }
    Ok(floor)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn log(text: &[u8], lines: u32, until: ReadUntil) -> (tempfile::TempDir, Log) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, text).unwrap();
        let log = Log::open(path, OsRights::Agent, true, lines, until).unwrap();
        (dir, log)
    }

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        for (text, lines, tail) in [
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\nc\n", 9, "a\nb\nc\n"),
            ("a\nb\n", 0, ""),
            ("\n\n\n", 2, "\n\n"),
            ("", 5, ""),
        ] {
            let (_dir, mut log) = log(text.as_bytes(), lines, ReadUntil::CurrentEnd);
            assert_eq!(
                log.read(100).unwrap(),
                tail.as_bytes(),
                "{lines} of {text:?}"
            );
        }
    }

    #[test]
    fn a_line_longer_than_a_block_is_whole_and_a_longer_tail_is_bounded() {
        let line = [vec![b'x'; 3 * BLOCK], b"\n".to_vec()].concat();
        let text = [b"before\n".to_vec(), line.clone()].concat();
        let (_dir, mut file) = log(&text, 1, ReadUntil::CurrentEnd);
        assert_eq!(file.read(usize::MAX).unwrap(), line);
        let text = vec![b'y'; MAX_TAIL as usize + 10];
        let (_dir, mut file) = log(&text, 1, ReadUntil::CurrentEnd);
        assert_eq!(file.read(usize::MAX).unwrap().len(), MAX_TAIL as usize);
    }

    #[test]
    fn the_hole_in_a_spool_is_not_shown() {
        let text = [vec![0; 5000], b"kept\nlines\n".to_vec()].concat();
        let (_dir, mut log) = log(&text, 100, ReadUntil::CurrentEnd);
        assert_eq!(log.read(100).unwrap(), b"kept\nlines\n");
    }

    #[test]
    fn later_writes_are_read_only_when_following() {
        for (until, then) in [
            (ReadUntil::CurrentEnd, &b""[..]),
            (ReadUntil::Cancelled, b"b\n"),
        ] {
            let (dir, mut log) = log(b"a\n", 5, until);
            assert_eq!(log.read(100).unwrap(), b"a\n");
            let path = dir.path().join("log");
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(b"b\n").unwrap();
            assert_eq!(log.read(100).unwrap(), then);
        }
    }

    #[test]
    fn a_truncated_or_replaced_file_is_read_from_its_beginning() {
        let (dir, mut log) = log(b"old\n", 5, ReadUntil::Cancelled);
        let path = dir.path().join("log");
        assert_eq!(log.read(100).unwrap(), b"old\n");
        assert_eq!(log.follow_writer().unwrap(), FileChange::Unchanged);
        fs::write(&path, "").unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Restarted);
        fs::rename(&path, dir.path().join("log.1")).unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Removed);
        fs::write(&path, "new\n").unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Restarted);
        assert_eq!(log.read(100).unwrap(), b"new\n");
    }

    #[test]
    fn a_removed_file_is_read_to_its_end_before_its_successor() {
        let (dir, mut log) = log(b"", 5, ReadUntil::Cancelled);
        let path = dir.path().join("log");
        fs::write(&path, "last words\n").unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Unchanged);
        assert_eq!(log.read(100).unwrap(), b"last words\n");
        assert_eq!(log.follow_writer().unwrap(), FileChange::Removed);
    }

    #[test]
    fn a_directory_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let error = Log::open(
            dir.path().to_owned(),
            OsRights::Agent,
            true,
            1,
            ReadUntil::CurrentEnd,
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "it is not a file");
    }
}
