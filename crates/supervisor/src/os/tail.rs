//! Reads output that another process writes, from its last lines on: logs, spools, the kept output of several runs.
//!
//! A log is opened with the rights of the process's user. The reader follows the writer: a file that replaced it is read
//! from its beginning, and so is a file that was truncated; the output of the next run follows that of the one before.
//! Nothing of it is kept in memory but a begun line.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{LinePattern, UnixMillis};
use rustix::fs::OFlags;

use super::kept_runs::{self, RunId};
use super::last_lines::{BLOCK, LineFilter, after_hole, last_lines};
use super::rights::OsRights;
use super::{output_times, regular};

/// How many blocks without a matching line are read at a time.
const MAX_BLOCKS: usize = 16;

/// Where reading ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadUntil {
    /// At the end of the output as it was opened.
    CurrentEnd,
    /// Never: reading goes on with what is written later.
    Cancelled,
}

/// What a read has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogRead {
    Bytes(Vec<u8>),
    /// No line matched so far; there is more to read.
    Skipped,
    /// Everything was read.
    End,
}

/// What happened to output that was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// It is the same file.
    Unchanged,
    /// It was truncated or replaced, or another run began: reading starts at the beginning of that.
    Restarted,
    /// It does not exist any more.
    Removed,
}

/// A piece of output to read: a file, or a part of one.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    pub(crate) rights: OsRights,
    pub(crate) from: u64,
    /// It ends here, whatever is written later.
    pub(crate) to: Option<u64>,
    /// The run that wrote it, and the folder with the outputs of its process.
    pub(crate) run: Option<(RunId, PathBuf)>,
    /// A file of the agent, which may begin with a hole; otherwise a log.
    pub(crate) is_spool: bool,
}

/// Which output to read, and how. Opening it may read much of it: not on the thread of the runner.
#[derive(Debug)]
pub(crate) struct LogPlan {
    /// At least one; oldest first.
    pub(crate) segments: Vec<Segment>,
    pub(crate) since: Option<UnixMillis>,
    pub(crate) pattern: Option<LinePattern>,
    pub(crate) tail_lines: u32,
    pub(crate) until: ReadUntil,
}

/// Output that is being read.
#[derive(Debug)]
pub struct Log {
    /// The first is being read; the last may be followed.
    parts: VecDeque<Part>,
    pattern: Option<LinePattern>,
    filter: LineFilter,
    /// The bytes read so far do not end in a newline.
    is_within_line: bool,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    rights: OsRights,
    file: File,
    position: u64,
    end: Option<u64>,
    run: Option<(RunId, PathBuf)>,
    is_spool: bool,
}

impl LogPlan {
    /// Opens it at its last lines.
    pub(crate) fn open(self) -> Result<Log, String> {
        let n_segments = self.segments.len();
        let mut parts = VecDeque::new();
        for (index, segment) in self.segments.into_iter().enumerate() {
            let shown = format!("{}{}", segment.path.display(), segment.rights.shown());
            match Part::open(segment, self.since, self.until) {
                Ok(part) => parts.push_back(part),
                // An earlier run may be removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound && index + 1 < n_segments => {
                }
                Err(error) => return Err(format!("cannot read {shown}: {error}")),
            }
        }
        let mut left = self.tail_lines;
        for index in (0..parts.len()).rev() {
            let part = &mut parts[index];
            let last = part.skip_to_last_lines(left, self.pattern.as_ref());
            let last =
                last.map_err(|error| format!("cannot read {}: {error}", part.path.display()))?;
            left -= last.min(left);
            if left == 0 {
                parts.drain(..index);
                break;
            }
        }
        Ok(Log {
            parts,
            pattern: self.pattern,
            filter: LineFilter::default(),
            is_within_line: false,
        })
    }
}

impl Part {
    fn open(segment: Segment, since: Option<UnixMillis>, until: ReadUntil) -> io::Result<Self> {
        let file = open(&segment.path, &segment.rights)?;
        let found = file.metadata()?;
        let size = found.len();
        let to = segment.to.unwrap_or(u64::MAX).min(size);
        let mut from = match segment.from > size {
            // It was truncated since.
            true => 0,
            false => segment.from,
        };
        if let Some(since) = since {
            from = from.max(written_since(&segment, &found, since).min(to));
        }
        if segment.is_spool {
            from = after_hole(&file, from)?;
        }
        Ok(Self {
            path: segment.path,
            rights: segment.rights,
            file,
            position: from.min(to),
            end: match (until, segment.to) {
                (ReadUntil::Cancelled, None) => None,
                (ReadUntil::CurrentEnd, None) | (_, Some(_)) => Some(to),
            },
            run: segment.run,
            is_spool: segment.is_spool,
        })
    }

    /// Moves on to the last lines; returns how many these are.
    fn skip_to_last_lines(&mut self, lines: u32, pattern: Option<&LinePattern>) -> io::Result<u32> {
        let size = self.file.metadata()?.len();
        let to = self.end.unwrap_or(size).min(size).max(self.position);
        let last = last_lines(&self.file, self.position, to, lines, pattern)?;
        self.position = last.offset;
        Ok(last.count)
    }

    fn read(&mut self, max: usize) -> io::Result<Vec<u8>> {
        if self.is_spool {
            // The writer may be far ahead, and what lies between was freed.
            let at = after_hole(&self.file, self.position)?;
            self.position = at.min(self.end.unwrap_or(at));
        }
        let left = self
            .end
            .map_or(u64::MAX, |end| end.saturating_sub(self.position));
        let max = max.min(usize::try_from(left).unwrap_or(usize::MAX));
        let bytes = regular::read_at(&self.file, self.position, max)?;
        self.position += bytes.len() as u64;
        Ok(bytes)
    }

    /// Switches to the output of the next run, if there is one.
    fn turn_to_next_run(&mut self) -> io::Result<Option<FileChange>> {
        let Some((run, folder)) = &self.run else {
            return Ok(None);
        };
        if !self.is_spool {
            return Ok(None);
        }
        let Some(next) = kept_runs::next_after(folder, run.number) else {
            return Ok(None);
        };
        if next.is_log {
            return Ok(Some(FileChange::Removed));
        }
        self.file = open(&next.path, &self.rights)?;
        self.path = next.path;
        self.position = 0;
        self.run = Some((next.id, folder.clone()));
        Ok(Some(FileChange::Restarted))
    }
}

/// The offset from which on a segment was written after `since`, as far as is known.
fn written_since(segment: &Segment, found: &fs::Metadata, since: UnixMillis) -> u64 {
    let last_write = found.mtime() * 1000 + found.mtime_nsec() / 1_000_000;
    if last_write < since.0 {
        return u64::MAX;
    }
    match &segment.run {
        Some((run, folder)) if run.began < since => {
            let offset =
                output_times::offset_since(&kept_runs::times_path(folder, run.number), since);
            // A log that was truncated after its last check.
            if offset > found.len() { 0 } else { offset }
        }
        Some(_) | None => 0,
    }
}

impl Log {
    /// The next bytes, not many more than `max`.
    pub fn read(&mut self, max: usize) -> io::Result<LogRead> {
        let mut out = Vec::new();
        for _ in 0..MAX_BLOCKS {
            let is_last = self.parts.len() == 1;
            let Some(part) = self.parts.front_mut() else {
                return Ok(LogRead::End);
            };
            let bytes = part.read(max.min(BLOCK))?;
            if bytes.is_empty() {
                let is_followed = part.end.is_none();
                if is_last && is_followed {
                    return Ok(LogRead::End);
                }
                self.end_line(&mut out, !is_last);
                if is_last {
                    return Ok(match out.is_empty() {
                        true => LogRead::End,
                        false => LogRead::Bytes(out),
                    });
                }
                self.parts.pop_front();
                continue;
            }
            match &self.pattern {
                None => out = [out, bytes].concat(),
                Some(pattern) => self.filter.lines(&bytes, pattern, |line, is_match| {
                    if is_match {
                        out.extend_from_slice(line);
                    }
                }),
            }
            if let Some(last) = out.last() {
                self.is_within_line = *last != b'\n';
                return Ok(LogRead::Bytes(out));
            }
        }
        Ok(LogRead::Skipped)
    }

    /// At the end of a part: a begun line, and a newline before the next part.
    fn end_line(&mut self, out: &mut Vec<u8>, has_next: bool) {
        if let Some(pattern) = &self.pattern {
            self.filter.end(pattern, |line, is_match| {
                if is_match {
                    out.extend_from_slice(line);
                }
            });
        }
        let is_within_line = match out.last() {
            Some(last) => *last != b'\n',
            None => self.is_within_line,
        };
        self.is_within_line = is_within_line;
        if is_within_line && has_next {
            out.push(b'\n');
            self.is_within_line = false;
        }
    }

    /// The run that is being read, of output that the agent keeps.
    pub fn run_number(&self) -> Option<u32> {
        let part = self.parts.back()?;
        let (run, _) = part.run.as_ref()?;
        part.is_spool.then_some(run.number)
    }

    /// Checks whether the output was truncated or replaced, or another run began, and follows once all of it was read.
    pub fn follow_writer(&mut self) -> io::Result<FileChange> {
        let Some(part) = self.parts.back_mut() else {
            return Ok(FileChange::Removed);
        };
        let ours = part.file.metadata()?;
        if ours.len() > part.position {
            // Read the rest of this file first.
            return Ok(FileChange::Unchanged);
        }
        let change = part.follow(&ours)?;
        match change {
            FileChange::Unchanged => {}
            FileChange::Restarted | FileChange::Removed => self.filter.clear(),
        }
        Ok(change)
    }
}

impl Part {
    fn follow(&mut self, ours: &fs::Metadata) -> io::Result<FileChange> {
        if let Some(change) = self.turn_to_next_run()? {
            return Ok(change);
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

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn segment(path: &Path, is_spool: bool) -> Segment {
        Segment {
            path: path.to_owned(),
            rights: OsRights::Agent,
            from: 0,
            to: None,
            run: None,
            is_spool,
        }
    }

    fn plan(segments: Vec<Segment>, tail_lines: u32, until: ReadUntil) -> LogPlan {
        LogPlan {
            segments,
            since: None,
            pattern: None,
            tail_lines,
            until,
        }
    }

    fn log(text: &[u8], lines: u32, until: ReadUntil) -> (tempfile::TempDir, Log) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, text).unwrap();
        let log = plan(vec![segment(&path, true)], lines, until);
        (dir, log.open().unwrap())
    }

    fn text(log: &mut Log) -> String {
        let mut all = Vec::new();
        loop {
            match log.read(100).unwrap() {
                LogRead::Bytes(bytes) => all.extend(bytes),
                LogRead::Skipped => {}
                LogRead::End => return String::from_utf8(all).unwrap(),
            }
        }
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_hole_in_a_spool_is_not_shown_and_zeros_of_the_program_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let file = File::create(&path).unwrap();
        file.set_len(1024 * 1024).unwrap();
        append(&path, "kept\0\nlines\n");
        let log = plan(vec![segment(&path, true)], 100, ReadUntil::CurrentEnd);
        assert_eq!(text(&mut log.open().unwrap()), "kept\0\nlines\n");
    }

    #[test]
    fn several_outputs_are_read_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["1", "2", "3"].map(|name| dir.path().join(name));
        for (path, text) in paths.iter().zip(["a\nb\nc", "d\n", "e\nf\n"]) {
            fs::write(path, text).unwrap();
        }
        let gone = dir.path().join("gone");
        let all = || {
            let paths = paths[..2].iter().chain([&gone, &paths[2]]);
            paths.map(|path| segment(path, true)).collect()
        };
        for (lines, shown) in [
            (9, "a\nb\nc\nd\ne\nf\n"),
            (4, "c\nd\ne\nf\n"),
            (2, "e\nf\n"),
            (0, ""),
        ] {
            let log = plan(all(), lines, ReadUntil::CurrentEnd);
            assert_eq!(text(&mut log.open().unwrap()), shown, "{lines}");
        }
        let grep = LogPlan {
            pattern: Some(LinePattern::parse("[bcf]").unwrap()),
            ..plan(all(), 2, ReadUntil::CurrentEnd)
        };
        assert_eq!(text(&mut grep.open().unwrap()), "c\nf\n");
        let part = Segment {
            from: 2,
            to: Some(4),
            ..segment(&paths[0], false)
        };
        let log = plan(vec![part], 9, ReadUntil::CurrentEnd);
        assert_eq!(text(&mut log.open().unwrap()), "b\n");
    }

    #[test]
    fn matching_lines_are_followed_once_they_are_whole() {
        let (dir, mut log) = log(b"error 1\nfine\n", 0, ReadUntil::Cancelled);
        log.pattern = Some(LinePattern::parse("error").unwrap());
        let path = dir.path().join("log");
        append(&path, "fine\nanother er");
        assert_eq!(text(&mut log), "");
        append(&path, "ror\nfine\n");
        assert_eq!(text(&mut log), "another error\n");
        append(&path, &"fine\n".repeat(400_000));
        assert_eq!(log.read(64 * 1024).unwrap(), LogRead::Skipped);
        append(&path, "error at last");
        assert_eq!(text(&mut log), "");
    }

    #[test]
    fn later_writes_are_read_only_when_following() {
        for (until, then) in [(ReadUntil::CurrentEnd, ""), (ReadUntil::Cancelled, "b\n")] {
            let (dir, mut log) = log(b"a\n", 5, until);
            assert_eq!(text(&mut log), "a\n");
            append(&dir.path().join("log"), "b\n");
            assert_eq!(text(&mut log), then, "{until:?}");
        }
    }

    #[test]
    fn output_since_a_time_is_found_by_the_recorded_lengths() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("3.64");
        fs::write(&path, "old\nnew\n").unwrap();
        let run = RunId {
            number: 3,
            began: UnixMillis(100),
        };
        let times = kept_runs::times_path(dir.path(), 3);
        output_times::add(&times, UnixMillis(200), 4).unwrap();
        let since = |at: i64| {
            let segment = Segment {
                run: Some((run, dir.path().to_owned())),
                ..segment(&path, true)
            };
            let plan = LogPlan {
                since: Some(UnixMillis(at)),
                ..plan(vec![segment], 100, ReadUntil::CurrentEnd)
            };
            text(&mut plan.open().unwrap())
        };
        assert_eq!(since(50), "old\nnew\n");
        assert_eq!(since(150), "old\nnew\n");
        assert_eq!(since(250), "new\n");
        assert_eq!(since(i64::MAX), "", "nothing was written since");
    }

    #[test]
    fn a_truncated_and_a_replaced_file_are_read_from_the_beginning() {
        let (dir, mut log) = log(b"old\n", 5, ReadUntil::Cancelled);
        let path = dir.path().join("log");
        assert_eq!(text(&mut log), "old\n");
        assert_eq!(log.follow_writer().unwrap(), FileChange::Unchanged);
        fs::write(&path, "").unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Restarted);
        fs::rename(&path, dir.path().join("log.1")).unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Removed);
        fs::write(&path, "new\n").unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Restarted);
        assert_eq!(text(&mut log), "new\n");
    }

    #[test]
    fn a_removed_file_is_read_to_its_end_before_its_successor() {
        let (dir, mut log) = log(b"", 5, ReadUntil::Cancelled);
        let path = dir.path().join("log");
        fs::write(&path, "last words\n").unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(log.follow_writer().unwrap(), FileChange::Unchanged);
        assert_eq!(text(&mut log), "last words\n");
        assert_eq!(log.follow_writer().unwrap(), FileChange::Removed);
    }

    #[test]
    fn a_directory_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(vec![segment(dir.path(), true)], 1, ReadUntil::CurrentEnd);
        let error = plan.open().unwrap_err();
        assert!(error.ends_with(": it is not a file"), "{error}");
    }
}
