//! The MD5 of a file, as `configmap` wants it, read with the rights of the process's user. Never of a pipe or a device, and not of more than a bound.

use std::io::{self, Read};

use md5::{Digest, Md5};
use rustix::fs::OFlags;

use super::regular;
use super::rights::Rights;

/// The longest file that is read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// 32 hexadecimal digits, or why not, in words.
pub(crate) fn of_file(path: &str, rights: &Rights) -> Result<String, String> {
    read(path, rights).map_err(|error| match (error.kind(), rights) {
        (io::ErrorKind::PermissionDenied, Rights::User(user)) => {
            format!("{} for {}", super::plain(&error), user.name)
        }
        _ => super::plain(&error),
    })
}

fn read(path: &str, rights: &Rights) -> io::Result<String> {
    let mut file = rights.with(|| regular::open(path.as_ref(), OFlags::RDONLY, 0))?;
    let found = file.metadata()?;
    if found.len() > MAX_BYTES {
        let most = MAX_BYTES / 1024 / 1024;
        return Err(io::Error::other(format!("it is longer than {most} MiB")));
    }
    let mut md5 = Md5::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut left = MAX_BYTES as usize;
    while left > 0 {
        let want = left.min(buffer.len());
        match file.read(&mut buffer[..want])? {
            0 => break,
            count => {
                md5.update(&buffer[..count]);
                left -= count;
            }
        }
    }
    let digest = md5.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_digested_and_what_is_no_file_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("empty"), "").unwrap();
        std::fs::write(path("abc"), "abc").unwrap();
        for (name, digest) in [
            ("empty", Ok("d41d8cd98f00b204e9800998ecf8427e")),
            ("abc", Ok("900150983cd24fb0d6963f7d28e17f72")),
            ("none", Err("No such file or directory")),
            (".", Err("it is not a file")),
        ] {
            let found = of_file(&path(name), &Rights::Agent);
            assert_eq!(found.as_deref().map_err(String::as_str), digest, "{name}");
        }
        std::fs::File::create(path("large"))
            .unwrap()
            .set_len(MAX_BYTES + 1)
            .unwrap();
        assert_eq!(
            of_file(&path("large"), &Rights::Agent).unwrap_err(),
            "it is longer than 64 MiB"
        );
    }
}
