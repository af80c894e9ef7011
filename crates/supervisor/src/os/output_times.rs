//! Which length an output had at which times, for `logs --since`: lines carry no time of their own.
//!
//! A file of pairs (milliseconds since 1970, length), appended when the agent checks the length anyway and it has changed.
//! So the time of a line is known to the period between two checks. A length below the one before it means that the output
//! began again (a rotated log).

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use model::UnixMillis;

const PAIR: usize = 16;
/// A longer file loses every second pair.
const MAX_BYTES: usize = 64 * 1024;

/// Adds the length of the output at this time.
pub(crate) fn add(path: &Path, at: UnixMillis, length: u64) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW)
        .open(path)?;
    file.write_all(&pair(at, length))?;
    match file.metadata()?.len() > MAX_BYTES as u64 {
        true => thin(path),
        false => Ok(()),
    }
}

/// The offset from which on everything was written after `since`, and perhaps a little before. 0 if not known.
pub(crate) fn offset_since(path: &Path, since: UnixMillis) -> u64 {
    let bytes = fs::read(path).unwrap_or_default();
    let (mut offset, mut last) = (0, 0);
    for (at, length) in pairs(&bytes) {
        if length < last {
            offset = 0;
        }
        if at <= since {
            offset = length;
        }
        last = length;
    }
    offset
}

fn pair(at: UnixMillis, length: u64) -> [u8; PAIR] {
    let mut pair = [0; PAIR];
    pair[..8].copy_from_slice(&at.0.to_le_bytes());
    pair[8..].copy_from_slice(&length.to_le_bytes());
    pair
}

/// A pair that was cut by a crash is left out.
fn pairs(bytes: &[u8]) -> impl Iterator<Item = (UnixMillis, u64)> {
    bytes.as_chunks::<PAIR>().0.iter().map(|pair| {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *pair;
        let at = i64::from_le_bytes([a, b, c, d, e, f, g, h]);
        (UnixMillis(at), u64::from_le_bytes([i, j, k, l, m, n, o, p]))
    })
}

fn thin(path: &Path) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let kept: Vec<u8> = pairs(&bytes)
        .skip(1)
        .step_by(2)
        .flat_map(|(at, length)| pair(at, length))
        .collect();
    fs::write(path, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_found_by_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("times");
        let since = |at| offset_since(&path, UnixMillis(at));
        assert_eq!(since(5), 0, "no file");
        for (at, length) in [(10, 100), (20, 200), (30, 50), (40, 80)] {
            add(&path, UnixMillis(at), length).unwrap();
        }
        let found: Vec<u64> = [5, 10, 25, 30, 35, 40, 99].map(since).to_vec();
        // Before the log was rotated, its present content was not there.
        assert_eq!(found, [0, 0, 0, 50, 50, 80, 80]);
        let mut torn = fs::read(&path).unwrap();
        torn.truncate(4 * PAIR - 3);
        fs::write(&path, torn).unwrap();
        assert_eq!(since(99), 50);
    }

    #[test]
    fn the_file_is_bounded_and_keeps_its_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("times");
        for at in 1..=10_000 {
            add(&path, UnixMillis(at), at as u64).unwrap();
        }
        assert!(fs::metadata(&path).unwrap().len() <= MAX_BYTES as u64);
        assert_eq!(offset_since(&path, UnixMillis(10_000)), 10_000);
        let middle = offset_since(&path, UnixMillis(5_000));
        assert!((4_900..=5_000).contains(&middle), "{middle}");
    }
}
