//! Backups are read as they were written, and every kind of damage is noticed.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use backup::{BackupError, FileEntry, Header, KeyDerivation, Reader, Writer, Written};
use tempfile::TempDir;

const PASSPHRASE: &str = "correct horse";
const CHUNK: usize = 64 * 1024;

/// Fast, for tests of everything but the passphrase.
fn key() -> KeyDerivation {
    KeyDerivation {
        memory_kib: 64,
        passes: 1,
        ..KeyDerivation::fresh().unwrap()
    }
}

fn header(files: &[(&str, &[u8])]) -> Header {
    let entry = |(name, content): &(&str, &[u8])| FileEntry {
        name: (*name).to_owned(),
        bytes: content.len() as u64,
    };
    Header {
        created_at_ms: 1_700_000_000_000,
        version: "0.1.0".to_owned(),
        schema_version: 6,
        revision: 42,
        files: files.iter().map(entry).collect(),
        key: key(),
    }
}

fn write(folder: &Path, files: &[(&str, &[u8])]) -> (PathBuf, Written) {
    let path = folder.join("backup");
    let mut writer = Writer::create(&path, &header(files), PASSPHRASE).unwrap();
    for (_, content) in files {
        writer.write_all(content).unwrap();
    }
    let written = writer.finish(&path).unwrap();
    (path, written)
}

fn read(path: &Path, passphrase: &str) -> Result<(Vec<Vec<u8>>, Written), BackupError> {
    let reader = Reader::open(path)?;
    let mut files = vec![Vec::new(); reader.header().files.len()];
    let read = reader.read(passphrase, |file, bytes| {
        files[file].extend_from_slice(bytes);
        Ok(())
    })?;
    Ok((files, read))
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}

#[test]
fn files_come_back_as_they_were() {
    for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 200_000] {
        let folder = TempDir::new().unwrap();
        let big = pattern(len);
        let files: [(&str, &[u8]); 3] = [("muster.db", &big), ("empty", b""), ("token", b"secret")];
        let (path, written) = write(folder.path(), &files);
        let (found, read) = read(&path, PASSPHRASE).unwrap();
        assert!(found == files.map(|(_, content)| content.to_vec()), "{len}");
        assert_eq!(read, written);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, written.bytes);
        let is_plain = bytes.windows(6).any(|window| window == b"secret");
        assert!(!is_plain, "it is encrypted");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file is left");
    }
}

#[test]
fn the_header_is_read_without_the_passphrase() {
    let folder = TempDir::new().unwrap();
    let (path, _) = write(folder.path(), &[("muster.db", b"content")]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.header().revision, 42);
    let wrong = read(&path, "wrong").unwrap_err();
    assert!(matches!(wrong, BackupError::WrongPassphrase), "{wrong}");
}

#[test]
fn every_cut_and_every_changed_part_is_noticed() {
    let folder = TempDir::new().unwrap();
    let content = pattern(2 * CHUNK + 100);
    let (path, _) = write(folder.path(), &[("muster.db", &content)]);
    let whole = fs::read(&path).unwrap();
    let head = whole.iter().position(|byte| *byte == b'{').unwrap();
    let head = head
        + whole[head..]
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap()
        + 1;
    let try_with = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read(&path, PASSPHRASE).map(|_| ()).unwrap_err()
    };
    // Anywhere, and exactly between two chunks.
    let sealed = CHUNK + 16;
    for at in [
        head,
        head + 7,
        head + 16,
        head + 16 + sealed,
        head + 16 + 2 * sealed,
        whole.len() - 1,
    ] {
        let error = try_with(&whole[..at]);
        assert!(
            matches!(error, BackupError::Truncated { .. }),
            "cut at {at}: {error}"
        );
    }
    for at in [0, 5] {
        let error = try_with(&whole[..at]);
        assert!(
            matches!(error, BackupError::NotABackup),
            "cut at {at}: {error}"
        );
    }
    for at in [head, head + 100, head + 16 + sealed + 5, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let error = try_with(&bytes);
        let is_noticed = match at == head {
            true => matches!(error, BackupError::WrongPassphrase),
            false => matches!(error, BackupError::Damaged { .. }),
        };
        assert!(is_noticed, "changed at {at}: {error}");
    }
    // Two chunks that changed places.
    let mut swapped = whole.clone();
    let (first, second) = (head + 16, head + 16 + sealed);
    swapped[first..second].copy_from_slice(&whole[second..second + sealed]);
    swapped[second..second + sealed].copy_from_slice(&whole[first..second]);
    assert!(matches!(
        try_with(&swapped),
        BackupError::Damaged { after: 0 }
    ));
    let longer = [&whole[..], b"more"].concat();
    assert!(matches!(try_with(&longer), BackupError::Damaged { .. }));
    // A header that says something else.
    let text =
        String::from_utf8_lossy(&whole[..head]).replace("\"revision\":42", "\"revision\":43");
    let other = [text.as_bytes(), &whole[head..]].concat();
    assert!(matches!(try_with(&other), BackupError::WrongPassphrase));
}

#[test]
fn other_files_and_newer_formats_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    let refused = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        Reader::open(&path).map(|_| ()).unwrap_err()
    };
    for content in [&b""[..], b"SQLite format 3\0", b"\n\n", &[b'x'; 100_000]] {
        let error = refused(content);
        assert!(matches!(error, BackupError::NotABackup), "{error}");
    }
    let error = refused(b"muster-backup 2\n{}\n");
    assert!(matches!(error, BackupError::TooNew { .. }), "{error}");
    let error = refused(b"muster-backup 1\n{\"revision\": []}\n");
    assert!(matches!(error, BackupError::BadHeader(_)), "{error}");
    let mut hostile = header(&[]);
    hostile.key.memory_kib = u32::MAX;
    let json = serde_json::to_string(&hostile).unwrap();
    fs::write(
        &path,
        format!("muster-backup 1\n{json}\n0123456789abcdef0123456789abcdef"),
    )
    .unwrap();
    let error = read(&path, PASSPHRASE).map(|_| ()).unwrap_err();
    assert!(matches!(error, BackupError::BadKeyDerivation), "{error}");
}

#[test]
fn a_backup_that_is_not_finished_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("backup");
    fs::write(&path, "the one before").unwrap();
    let mut writer = Writer::create(&path, &header(&[("a", b"12345")]), PASSPHRASE).unwrap();
    writer.write_all(b"123").unwrap();
    assert!(writer.finish(&path).is_err(), "two bytes are missing");
    assert_eq!(fs::read(&path).unwrap(), b"the one before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let mut writer = Writer::create(&path, &header(&[("a", b"1")]), PASSPHRASE).unwrap();
    assert!(writer.write_all(b"12").is_err(), "more than announced");
}
