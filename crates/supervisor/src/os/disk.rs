//! Bytes on disk under a path, by a walk that is bounded and follows no links.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::rights::Rights;

/// How many files and directories are looked at.
const MAX_ENTRIES: usize = 20_000;

/// What the file, or everything in the directory, takes on disk, as far as these rights show it. Nothing where there is
/// no such path; an error where it may not be looked at.
pub(crate) fn bytes_under(path: &Path, rights: &Rights) -> Result<u64, String> {
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
    // The path itself may be a link, though not a magic one of `/proc`; those below it are not followed.
    let path = fs::canonicalize(path)?;
    let first = fs::symlink_metadata(&path)?;
    if !first.is_dir() {
        return Ok(first.blocks() * 512);
    }
    let (mut bytes, mut looked) = (0, 0);
    // Whether it may be looked into at all.
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
        let bytes_under = |path: &Path| bytes_under(path, &Rights::Agent).unwrap();
        let bytes = bytes_under(dir.path());
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        assert!(bytes_under(&below.join("log")) >= 100_000);
        assert_eq!(bytes_under(Path::new("/no/such/path")), 0);
    }
}
