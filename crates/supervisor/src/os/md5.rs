//! The MD5 of a regular file of bounded size, for `configmap`, read with the rights of the process's user.

use std::io::{self, Read};

use md5::{Digest, Md5};
use rustix::fs::OFlags;

use super::regular;
use super::rights::OsRights;

/// The longest file that is read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// 32 hexadecimal digits, or why not.
pub(crate) fn of_file(path: &str, rights: &OsRights) -> Result<String, String> {
    read(path, rights).map_err(|error| match (error.kind(), rights) {
        (io::ErrorKind::PermissionDenied, OsRights::User(user)) => {
            format!("{} for {}", super::plain(&error), user.name)
        }
        _ => super::plain(&error),
    })
}

fn read(path: &str, rights: &OsRights) -> io::Result<String> {
    let file = rights.with(|| regular::open(path.as_ref(), OFlags::RDONLY, 0))?;
    if file.metadata()?.len() > MAX_BYTES {
        let most = MAX_BYTES / 1024 / 1024;
        return Err(io::Error::other(format!("it is longer than {most} MiB")));
    }
    of_reader(file.take(MAX_BYTES))
}

/// 32 hexadecimal digits of everything that is read.
pub(super) fn of_reader(mut reader: impl Read) -> io::Result<String> {
    let mut md5 = Md5::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hex(md5.finalize().as_slice())),
            count => md5.update(&buffer[..count]),
        }
    }
}

pub(super) fn of_bytes(bytes: &[u8]) -> String {
    hex(Md5::digest(bytes).as_slice())
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_digested_and_others_refused() {
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
            let found = of_file(&path(name), &OsRights::Agent);
            assert_eq!(found.as_deref().map_err(String::as_str), digest, "{name}");
        }
        std::fs::File::create(path("large"))
            .unwrap()
            .set_len(MAX_BYTES + 1)
            .unwrap();
        assert_eq!(
            of_file(&path("large"), &OsRights::Agent).unwrap_err(),
            "it is longer than 64 MiB"
        );
    }
}
