//! Bytes on disk under a path, by a walk that is bounded and follows no links.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How many files and directories are looked at.
const MAX_ENTRIES: usize = 20_000;

/// What the file, or everything in the directory, takes on disk.
pub(crate) fn bytes_under(path: &Path) -> u64 {
    let mut waiting: Vec<PathBuf> = vec![path.to_owned()];
    let (mut bytes, mut looked) = (0, 0);
    // The path itself may be a link; those below it are not followed.
    let Ok(first) = fs::metadata(path) else {
        return 0;
    };
    if !first.is_dir() {
        return first.blocks() * 512;
    }
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MAX_ENTRIES {
                return bytes;
            }
            let Ok(found) = entry.metadata() else {
                continue;
            };
            bytes += found.blocks() * 512;
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_counts_with_everything_in_it_and_no_link_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("log"), vec![7; 100_000]).unwrap();
        std::os::unix::fs::symlink("/usr", below.join("out")).unwrap();
        std::os::unix::fs::symlink("..", below.join("up")).unwrap();
        let bytes = bytes_under(dir.path());
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        assert!(bytes_under(&below.join("log")) >= 100_000);
        assert_eq!(bytes_under(Path::new("/no/such/path")), 0);
    }
}
