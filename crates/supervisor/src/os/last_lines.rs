//! Finds the last lines of a file, and the lines that match a pattern.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use model::LinePattern;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::regular;

/// How far back the last lines are searched.
const MAX_TAIL: u64 = 8 * 1024 * 1024;
/// The same for lines that match a pattern.
const MAX_SEARCH: u64 = 64 * 1024 * 1024;
pub(super) const BLOCK: usize = 64 * 1024;
/// A longer line is searched and shown in parts of this length.
const MAX_LINE: usize = 32 * 1024;

/// Where the last lines begin, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastLines {
    pub(super) offset: u64,
    pub(super) count: u32,
}

/// The last `lines` lines between two offsets that match, if there is a pattern.
pub(super) fn last_lines(
    file: &File,
    from: u64,
    to: u64,
    lines: u32,
    pattern: Option<&LinePattern>,
) -> io::Result<LastLines> {
    match (lines, pattern) {
        (0, _) => Ok(LastLines {
            offset: to,
            count: 0,
        }),
        (_, None) => backwards(file, from.max(to.saturating_sub(MAX_TAIL)), to, lines),
        (_, Some(pattern)) => {
            let from = from.max(to.saturating_sub(MAX_SEARCH));
            matching(file, from, to, lines, pattern)
        }
    }
}

fn backwards(file: &File, from: u64, to: u64, lines: u32) -> io::Result<LastLines> {
    let mut block = vec![0; BLOCK];
    let mut at = to;
    let mut count = u32::from(to > from);
    while at > from {
        let length = (at - from).min(BLOCK as u64) as usize;
        let begin = at - length as u64;
        let block = &mut block[..length];
        file.read_exact_at(block, begin)?;
        for (index, byte) in block.iter().enumerate().rev() {
            let after = begin + index as u64 + 1;
            // The newline at the very end ends the last line and begins none.
            if *byte == b'\n' && after < to {
                if count == lines {
                    return Ok(LastLines {
                        offset: after,
                        count,
                    });
                }
                count += 1;
            }
        }
        at = begin;
    }
    Ok(LastLines {
        offset: from,
        count,
    })
}

fn matching(
    file: &File,
    from: u64,
    to: u64,
    lines: u32,
    pattern: &LinePattern,
) -> io::Result<LastLines> {
    let mut found: VecDeque<u64> = VecDeque::new();
    let mut filter = LineFilter::default();
    let (mut at, mut line_at) = (from, from);
    let mut note = |line: &[u8], is_match: bool| {
        if is_match {
            if found.len() == lines as usize {
                found.pop_front();
            }
            found.push_back(line_at);
        }
        line_at += line.len() as u64;
    };
    while at < to {
        let max = (to - at).min(BLOCK as u64) as usize;
        let bytes = regular::read_at(file, at, max)?;
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
        filter.lines(&bytes, pattern, &mut note);
    }
    filter.end(pattern, &mut note);
    let count = found.len() as u32;
    let offset = found.pop_front().unwrap_or(to);
    Ok(LastLines { offset, count })
}

/// Splits bytes into lines, and says which of them match.
#[derive(Debug, Default)]
pub(super) struct LineFilter {
    /// A line that is not complete yet.
    begun: Vec<u8>,
}

impl LineFilter {
    /// Calls back with every complete line.
    pub(super) fn lines(
        &mut self,
        bytes: &[u8],
        pattern: &LinePattern,
        mut each: impl FnMut(&[u8], bool),
    ) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if is_whole && self.begun.is_empty() {
                each(part, is_match(part, pattern));
                continue;
            }
            self.begun.extend_from_slice(part);
            if is_whole || self.begun.len() >= MAX_LINE {
                each(&self.begun, is_match(&self.begun, pattern));
                self.begun.clear();
            }
        }
    }

    /// At the end: a last line without its newline.
    pub(super) fn end(&mut self, pattern: &LinePattern, mut each: impl FnMut(&[u8], bool)) {
        if !self.begun.is_empty() {
            each(&self.begun, is_match(&self.begun, pattern));
            self.begun.clear();
        }
    }

    /// Forgets a line whose rest does not come.
    pub(super) fn clear(&mut self) {
        self.begun.clear();
    }
}

fn is_match(line: &[u8], pattern: &LinePattern) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    pattern.matches(line.strip_suffix(b"\r").unwrap_or(line))
}

/// The first byte at or after this offset that is not in a hole; a file that was cut has one at its beginning.
pub(super) fn after_hole(file: &File, offset: u64) -> io::Result<u64> {
    match rustix::fs::seek(file.as_fd(), SeekFrom::Data(offset)) {
        Ok(found) => Ok(found),
        // Nothing but a hole, or the end.
        Err(Errno::NXIO) => Ok(file.metadata()?.len().max(offset)),
        // A file system that does not tell holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(offset),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> File {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file
    }

    fn last(text: &[u8], lines: u32, pattern: Option<&str>) -> (String, u32) {
        let pattern = pattern.map(|pattern| LinePattern::parse(pattern).unwrap());
        let (file, to) = (file(text), text.len() as u64);
        let found = last_lines(&file, 0, to, lines, pattern.as_ref()).unwrap();
        let rest = &text[found.offset as usize..];
        (String::from_utf8_lossy(rest).into_owned(), found.count)
    }

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        for (text, lines, tail, count) in [
            ("a\nb\nc\n", 2, "b\nc\n", 2),
            ("a\nb\nc", 2, "b\nc", 2),
            ("a\nb\nc\n", 9, "a\nb\nc\n", 3),
            ("a\nb\n", 0, "", 0),
            ("\n\n\n", 2, "\n\n", 2),
            ("", 5, "", 0),
        ] {
            let found = last(text.as_bytes(), lines, None);
            assert_eq!(found, (tail.to_owned(), count), "{lines} of {text:?}");
        }
    }

    #[test]
    fn the_last_matching_lines_are_found() {
        let text = b"error 1\nfine\nerror 2\r\nfine\nlast error";
        for (lines, pattern, tail, count) in [
            (1, "error", "last error", 1),
            (2, "error", "error 2\r\nfine\nlast error", 2),
            (1, "error .$", "error 2\r\nfine\nlast error", 1),
            (9, "fine", "fine\nerror 2\r\nfine\nlast error", 2),
            (9, "absent", "", 0),
        ] {
            let found = last(text, lines, Some(pattern));
            assert_eq!(found, (tail.to_owned(), count), "{pattern}");
        }
    }

    #[test]
    fn a_line_longer_than_a_block_is_whole_and_a_longer_tail_is_bounded() {
        let line = [vec![b'x'; 3 * BLOCK], b"\n".to_vec()].concat();
        let text = [b"before\n".to_vec(), line.clone()].concat();
        assert_eq!(last(&text, 1, None).0.len(), line.len());
        let text = vec![b'y'; MAX_TAIL as usize + 10];
        assert_eq!(last(&text, 1, None).0.len(), MAX_TAIL as usize);
        // A line that is too long is searched in parts.
        let text = [vec![b'x'; 3 * BLOCK], b" here\n".to_vec()].concat();
        let (found, count) = last(&text, 5, Some("here"));
        assert!(count == 1 && found.len() <= MAX_LINE, "{count}");
    }
}
