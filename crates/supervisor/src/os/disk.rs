//! Bytes on disk under a path, by a bounded walk that follows no links.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::rights::OsRights;

/// How many files and directories are counted.
const MAX_ENTRIES: usize = 20_000;

/// The size on disk of the file, or of everything in the directory, as far as these rights allow. 0 if there is no such
/// path; an error if it may not be read.
pub(crate) fn bytes_under(path: &Path, rights: &OsRights) -> Result<u64, String> {
    match rights.with(|| count(path)) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => {
            let (path, who, why) = (path.display(), rights.shown(), super::plain(&error));
            Err(format!("log_path: cannot measure {path}{who}: {why}"))
        }
    }
}

fn count(path: &Path) -> io::Result<u64> {
    // The path itself may be a link, but no magic link of `/proc`; links below it are not followed.
    let path = fs::canonicalize(path)?;
    let first = fs::symlink_metadata(&path)?;
    if !first.is_dir() {
        return Ok(first.blocks() * 512);
    }
    let (mut bytes, mut looked) = (0, 0);
    // Fail if the directory itself may not be read.
    drop(fs::read_dir(&path)?);
    let mut waiting = vec![path];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MAX_ENTRIES {
                return Ok(bytes);
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
    Ok(bytes)
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
        let bytes_under = |path: &Path| bytes_under(path, &OsRights::Agent).unwrap();
        let bytes = bytes_under(dir.path());
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        assert!(bytes_under(&below.join("log")) >= 100_000);
        assert_eq!(bytes_under(Path::new("/no/such/path")), 0);
    }
}
