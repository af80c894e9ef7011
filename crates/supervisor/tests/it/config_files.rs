//! Configuration files: real files, with real owners if the tests run as root.

mod failures;
mod links;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use md5::{Digest, Md5};
use model::config_file::{DEFAULT_BACKUPS, DesiredFile, WrittenFile};
use supervisor::{AllowedPaths, ConfigFileError, ConfigFiles};
use tempfile::TempDir;

use crate::harness::{runs_as_root, runs_unprivileged, until};

const WRITER: &str = "MUSTER_TEST_WRITER";

fn md5(content: &[u8]) -> String {
    let digest = Md5::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A temporary folder, and the `ConfigFiles` under test.
pub(crate) struct TestFolder {
    pub(crate) dir: TempDir,
    pub(crate) files: ConfigFiles,
}

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self::with(AllowedPaths::Anywhere)
    }

    pub(crate) fn with(allowed: AllowedPaths) -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            files: ConfigFiles::new(allowed),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file of the own user, 0640.
    pub(crate) fn wanted(&self, path: &Path, content: &[u8]) -> DesiredFile {
        wanted(path, content)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> Result<WrittenFile, ConfigFileError> {
        let wanted = self.wanted(&self.path(name), content.as_bytes());
        self.files.write(&wanted, content.as_bytes())
    }

    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn wanted(path: &Path, content: &[u8]) -> DesiredFile {
    DesiredFile {
        path: path.to_str().unwrap().to_owned(),
        owner: rustix::process::geteuid().as_raw().to_string(),
        group: rustix::process::getegid().as_raw().to_string(),
        mode: 0o640,
        md5: md5(content),
        keep_backups: DEFAULT_BACKUPS,
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_file_gets_its_folders_content_and_mode() {
    let folder = TestFolder::new();
    let written = folder.write("a/b/app.conf", "x = 1\r\n").unwrap();
    let path = folder.path("a/b/app.conf");
    assert_eq!(fs::read(&path).unwrap(), b"x = 1\r\n");
    assert_eq!(mode(&path), 0o640);
    assert_eq!(mode(&folder.path("a")), 0o755);
    assert_eq!(
        written,
        WrittenFile {
            path: fs::canonicalize(&path).unwrap().display().to_string(),
            md5: md5(b"x = 1\r\n"),
            unchanged: false,
            previous_md5: None,
            backup_path: None,
        }
    );
    assert_eq!(folder.names("a/b"), ["app.conf"]);
}

#[test]
fn a_file_and_its_new_folders_get_owner_and_group() {
    if !runs_as_root() {
        return;
    }
    let folder = TestFolder::new();
    let path = folder.path("new/app.conf");
    for (owner, group, mode_wanted) in [("nobody", "daemon", 0o4750), ("4321", "8765", 0o600)] {
        let wanted = DesiredFile {
            owner: owner.into(),
            group: group.into(),
            mode: mode_wanted,
            ..folder.wanted(&path, b"text")
        };
        let written = folder.files.write(&wanted, b"text").unwrap();
        assert!(!written.unchanged);
        let (head, content) = folder
            .files
            .read(path.to_str().unwrap(), 100)
            .unwrap()
            .unwrap();
        assert_eq!((head.owner.as_str(), head.group.as_str()), (owner, group));
        assert_eq!((head.mode, content.as_slice()), (mode_wanted, &b"text"[..]));
        assert!(folder.files.write(&wanted, b"text").unwrap().unchanged);
    }
    let made = fs::metadata(folder.path("new")).unwrap();
    assert_ne!((made.uid(), made.gid()), (0, 0));
    assert_eq!(made.permissions().mode() & 0o7777, 0o755);
}

#[test]
fn the_last_few_versions_are_kept_as_backups() {
    let folder = TestFolder::new();
    folder.write("app.conf", "0").unwrap();
    fs::set_permissions(folder.path("app.conf"), fs::Permissions::from_mode(0o604)).unwrap();
    let mut backups = Vec::new();
    for number in 1..8 {
        let written = folder.write("app.conf", &number.to_string()).unwrap();
        let before = (number - 1).to_string();
        assert_eq!(written.previous_md5, Some(md5(before.as_bytes())));
        let backup = written.backup_path.unwrap();
        assert_eq!(fs::read_to_string(&backup).unwrap(), before);
        let expected = if number == 1 { 0o604 } else { 0o640 };
        assert_eq!(mode(Path::new(&backup)), expected);
        assert!(backup.contains("/app.conf.muster-backup.2"), "{backup}");
        backups.push(backup);
    }
    assert_eq!(fs::read_to_string(folder.path("app.conf")).unwrap(), "7");
    let kept: Vec<bool> = backups
        .iter()
        .map(|path| Path::new(path).exists())
        .collect();
    assert_eq!(kept, [false, false, true, true, true, true, true]);
    // Backups of other files are not touched.
    fs::write(folder.path("app.conf.muster-backup.mine"), "").unwrap();
    let wanted = DesiredFile {
        keep_backups: 1,
        ..folder.wanted(&folder.path("app.conf"), b"8")
    };
    folder.files.write(&wanted, b"8").unwrap();
    assert_eq!(folder.names(".").len(), 3);
    let wanted = DesiredFile {
        keep_backups: 0,
        ..folder.wanted(&folder.path("app.conf"), b"9")
    };
    let written = folder.files.write(&wanted, b"9").unwrap();
    assert_eq!((written.backup_path, folder.names(".").len()), (None, 3));
}

#[test]
fn an_identical_file_is_not_touched_and_a_new_mode_makes_no_backup() {
    let folder = TestFolder::new();
    folder.write("app.conf", "same").unwrap();
    let before = fs::metadata(folder.path("app.conf")).unwrap();
    let written = folder.write("app.conf", "same").unwrap();
    let after = fs::metadata(folder.path("app.conf")).unwrap();
    assert!(written.unchanged);
    assert_eq!(
        (before.ino(), before.ctime_nsec()),
        (after.ino(), after.ctime_nsec())
    );

    // Another hard link to the file keeps its mode.
    fs::hard_link(folder.path("app.conf"), folder.path("other")).unwrap();
    let wanted = DesiredFile {
        mode: 0o600,
        ..folder.wanted(&folder.path("app.conf"), b"same")
    };
    let written = folder.files.write(&wanted, b"same").unwrap();
    assert_eq!((written.unchanged, written.backup_path), (false, None));
    assert_eq!(mode(&folder.path("app.conf")), 0o600);
    assert_eq!(mode(&folder.path("other")), 0o640);
    assert_eq!(folder.names("."), ["app.conf", "other"]);
}

#[test]
fn a_file_is_read_with_its_metadata() {
    let folder = TestFolder::new();
    folder.write("app.conf", "abc").unwrap();
    let read = |name: &str, most| folder.files.read(folder.path(name).to_str().unwrap(), most);
    let (head, content) = read("app.conf", 3).unwrap().unwrap();
    assert_eq!((head.size, head.mode, content), (3, 0o640, b"abc".to_vec()));
    assert_eq!(head.md5, "900150983cd24fb0d6963f7d28e17f72");
    assert_eq!(read("none", 3), Ok(None));
    assert_eq!(read("no/such/folder", 3), Ok(None));
    let error = read("app.conf", 2).unwrap_err().to_string();
    assert!(
        error.ends_with("has 3 bytes, and at most 2 are taken"),
        "{error}"
    );
    let error = read(".", 2).unwrap_err().to_string();
    assert!(
        error.contains("must end with the name of a file"),
        "{error}"
    );
    fs::create_dir(folder.path("folder")).unwrap();
    let error = read("folder", 2).unwrap_err().to_string();
    assert!(error.ends_with("is a folder, and no file"), "{error}");
}

#[test]
fn concurrent_writers_leave_one_complete_file() {
    let folder = TestFolder::new();
    let contents: Vec<String> = (0..8).map(|n| format!("{n}").repeat(300_000)).collect();
    std::thread::scope(|scope| {
        for content in &contents {
            let folder = &folder;
            scope.spawn(move || {
                for _ in 0..3 {
                    folder.write("deep/app.conf", content).unwrap();
                }
            });
        }
    });
    let found = fs::read_to_string(folder.path("deep/app.conf")).unwrap();
    assert!(contents.contains(&found));
    let names = folder.names("deep");
    assert_eq!(names.len(), 1 + DEFAULT_BACKUPS as usize, "{names:?}");
    for name in names {
        let kept = fs::read_to_string(folder.path("deep").join(name)).unwrap();
        assert!(contents.contains(&kept));
    }
}

/// Not a test: the process that the test below starts and kills.
#[test]
fn writer() {
    let Ok(path) = std::env::var(WRITER) else {
        return;
    };
    let files = ConfigFiles::new(AllowedPaths::Anywhere);
    for number in 0.. {
        let content = [b"ab"[number % 2]; 400_000];
        let wanted = wanted(Path::new(&path), &content);
        files.write(&wanted, &content).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_a_complete_file_and_the_next_removes_its_temporary() {
    let folder = TestFolder::new();
    let path = folder.path("app.conf");
    folder.write("app.conf", &"a".repeat(400_000)).unwrap();
    for round in 0..20 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["config_files::writer", "--exact", "--nocapture"])
            .env(WRITER, &path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        until("the writer to be at work", || {
            (fs::metadata(&path).unwrap().ino() != before).then_some(())
        });
        // Kill it at another moment each time.
        for _ in 0..round * 20_000 {
            std::hint::black_box(round);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = fs::read(&path).unwrap();
        assert_eq!(found.len(), 400_000);
        assert!(found.iter().all(|byte| *byte == found[0]), "a mixture");
        folder.write("app.conf", &format!("after {round}")).unwrap();
        let names = folder.names(".");
        let is_litter = |name: &String| name.contains("muster-new");
        assert!(!names.iter().any(is_litter), "{names:?}");
    }
}

#[test]
fn only_unlocked_temporary_files_are_removed() {
    let folder = TestFolder::new();
    let left = folder.path(".app.conf.muster-new.0123456789abcdef");
    fs::write(&left, "half").unwrap();
    fs::write(folder.path(".other.muster-new.0123456789abcdef"), "").unwrap();
    let in_work = fs::File::create(folder.path(".app.conf.muster-new.fedcba9876543210")).unwrap();
    in_work.lock().unwrap();
    folder.write("app.conf", "x").unwrap();
    assert_eq!(
        folder.names("."),
        [
            ".app.conf.muster-new.fedcba9876543210",
            ".other.muster-new.0123456789abcdef",
            "app.conf",
        ]
    );
}

#[test]
fn an_unprivileged_agent_cannot_change_the_owner() {
    let test = "config_files::an_unprivileged_agent_cannot_change_the_owner";
    if !runs_unprivileged(test) {
        return;
    }
    let folder = TestFolder::new();
    let wanted = DesiredFile {
        owner: "root".into(),
        ..folder.wanted(&folder.path("app.conf"), b"x")
    };
    let error = folder.files.write(&wanted, b"x").unwrap_err().to_string();
    assert!(
        error.contains("only an agent that runs as root can"),
        "{error}"
    );
    assert!(folder.names(".").is_empty());
}
