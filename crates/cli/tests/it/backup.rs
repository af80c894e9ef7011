//! `muster store backup`, `check`, `restore` and `after-restore`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::change::{Changes, Revision};
use rustix::fs::{FlockOperation, flock};
use store::Store;
use tempfile::TempDir;
use testing::precondition;

use crate::command::{Muster, Output, muster};

const PASSPHRASE: &str = "of the test";

/// A data directory with a store, and a place for backups.
struct Installation {
    folder: TempDir,
}

impl Installation {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let this = Self { folder };
        std::fs::create_dir(this.data()).unwrap();
        populate(&this.url());
        std::fs::write(this.data().join("cli.toml"), "app_secret = \"hush\"").unwrap();
        this
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.data().join("muster.db").display())
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("muster.backup")
    }

    fn command(&self, verb: &str, more: &[&str]) -> Muster {
        let (data, file) = (self.data(), self.file());
        let words = [
            "-o",
            "json",
            "store",
            verb,
            file.to_str().unwrap(),
            "--data",
        ];
        muster(&[&words[..], &[data.to_str().unwrap()], more].concat())
            .env("MUSTER_BACKUP_PASSPHRASE", PASSPHRASE)
    }

    fn run(&self, verb: &str, more: &[&str]) -> Output {
        self.command(verb, more).run()
    }

    /// Everything in the data directory, by name.
    fn state(&self) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.data()).unwrap().map(Result::unwrap);
        let mut found: Vec<_> = entries
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, std::fs::read(entry.path()).unwrap_or_default())
            })
            .filter(|(name, _)| name != "server.lock")
            .collect();
        found.sort();
        found
    }
}

/// Makes a store with two commits and a setting.
#[tokio::main(flavor = "current_thread")]
async fn populate(url: &str) {
    let store = Store::open(url).await.unwrap();
    for n in 0..2 {
        let committed = store.commit(Revision(n), &Changes::default()).await;
        committed.unwrap();
    }
    store.put_setting_if_absent("ca", b"the key").await.unwrap();
    store.close().await;
}

#[tokio::main(flavor = "current_thread")]
async fn content(url: &str) -> (Revision, Option<Vec<u8>>) {
    let store = Store::open(url).await.unwrap();
    let found = (
        store.head().await.unwrap(),
        store.setting("ca").await.unwrap(),
    );
    store.close().await;
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_backup_of_a_store_in_use_comes_back_in_another_directory() {
    let installation = Installation::new();
    // A server holds its lock, which does not matter to a backup.
    let lock = std::fs::File::create(installation.data().join("server.lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let before = installation.state();
    let made = installation.run("backup", &[]);
    assert_eq!(made.code, 0, "{made:?}");
    let made = made.json();
    assert_eq!(
        (&made["revision"], mode(&installation.file())),
        (&2.into(), 0o600)
    );
    assert_eq!(
        installation.state(),
        before,
        "nothing is left in the data directory"
    );
    let bytes = std::fs::read(installation.file()).unwrap();
    assert_eq!(made["bytes"], bytes.len());
    for secret in [&b"the key"[..], b"hush"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
    let checked = installation.run("check", &[]).json();
    assert_eq!(checked["sha256"], made["sha256"]);

    let other = installation.folder.path().join("other");
    let file = installation.file();
    let words = [
        "store",
        "restore",
        file.to_str().unwrap(),
        "--data",
        other.to_str().unwrap(),
    ];
    let ran = muster(&words)
        .env("MUSTER_BACKUP_PASSPHRASE", PASSPHRASE)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let (head, ca) = content(&format!("sqlite:{}", other.join("muster.db").display()));
    assert_eq!(ca.as_deref(), Some(&b"the key"[..]));
    assert!(head.0 > 1 << 32, "revisions continue far above: {head}");
    let cli = std::fs::read_to_string(other.join("cli.toml")).unwrap();
    assert!(cli.contains("hush"));
    assert_eq!(
        (mode(&other), mode(&other.join("muster.db"))),
        (0o700, 0o600)
    );
}

#[test]
fn a_store_is_replaced_only_by_force_and_kept_aside() {
    let installation = Installation::new();
    assert_eq!(installation.run("backup", &[]).code, 0);
    let before = installation.state();
    let ran = installation.run("restore", &[]);
    assert_eq!(
        (ran.code, ran.stderr.contains("--force")),
        (2, true),
        "{ran:?}"
    );
    assert_eq!(installation.state(), before);

    let lock = std::fs::File::create(installation.data().join("server.lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let ran = installation.run("restore", &["--force"]);
    assert_eq!(
        (ran.code, ran.stderr.contains("a server runs on")),
        (1, true),
        "{ran:?}"
    );
    assert_eq!(installation.state(), before);
    drop(lock);

    // A log without its database is moved out of the way, too.
    let wal = installation.data().join("muster.db-wal");
    std::fs::write(&wal, "left by a crash").unwrap();
    let ran = installation.run("restore", &["--force"]);
    assert_eq!((ran.code, wal.exists()), (0, false), "{ran:?}");
    let replaced = PathBuf::from(ran.json()["replaced"].as_str().unwrap().to_owned());
    assert_eq!(
        content(&installation.url()).1.as_deref(),
        Some(&b"the key"[..])
    );
    std::fs::remove_file(replaced.join("muster.db-wal")).unwrap();
    let old = format!("sqlite:{}", replaced.join("muster.db").display());
    assert_eq!(content(&old).0, Revision(2), "the replaced store is whole");
}

#[test]
fn a_backup_that_cannot_be_used_changes_nothing() {
    let installation = Installation::new();
    assert_eq!(installation.run("backup", &[]).code, 0);
    let whole = std::fs::read(installation.file()).unwrap();
    let before = installation.state();
    let newer = |from: &str, to: &str| {
        let text = whole
            .iter()
            .map(|byte| char::from(*byte))
            .collect::<String>();
        text.replacen(from, to, 1)
            .chars()
            .map(|c| c as u8)
            .collect::<Vec<u8>>()
    };
    let mut changed = whole.clone();
    let at = whole.len() / 2;
    changed[at] ^= 1;
    for (what, bytes, code, said) in [
        (
            "truncated",
            whole[..whole.len() - 100].to_vec(),
            1,
            "truncated",
        ),
        ("changed", changed, 1, "damaged"),
        (
            "no backup",
            b"SQLite format 3".to_vec(),
            2,
            "it is no backup of muster",
        ),
        ("empty", Vec::new(), 2, "it is no backup of muster"),
        (
            "newer format",
            newer("muster-backup 1", "muster-backup 7"),
            2,
            "use a newer muster",
        ),
        (
            "newer schema",
            newer("\"schema_version\":", "\"schema_version\":9"),
            2,
            "schema version 9",
        ),
    ] {
        std::fs::write(installation.file(), bytes).unwrap();
        for (verb, more) in [("check", &[][..]), ("restore", &["--force"])] {
            let ran = installation.run(verb, more);
            let is_said = ran.stderr.contains(said);
            assert_eq!((ran.code, is_said), (code, true), "{verb} {what}: {ran:?}");
            assert_eq!(installation.state(), before, "{verb} {what}");
        }
    }
    std::fs::write(installation.file(), &whole).unwrap();
    for (verb, more) in [("check", &[][..]), ("restore", &["--force"])] {
        let wrong = installation.command(verb, more);
        let ran = wrong.env("MUSTER_BACKUP_PASSPHRASE", "guessed").run();
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("the passphrase is wrong"), "{ran:?}");
        assert_eq!(installation.state(), before);
    }
    std::fs::remove_file(installation.file()).unwrap();
    assert_eq!(installation.run("check", &[]).code, 4);
}

#[test]
fn the_passphrase_comes_from_a_file_or_the_environment_and_is_not_too_short() {
    let installation = Installation::new();
    let short = installation.command("backup", &[]);
    let ran = short.env("MUSTER_BACKUP_PASSPHRASE", "short").run();
    assert_eq!(
        (ran.code, installation.file().exists()),
        (2, false),
        "{ran:?}"
    );
    let none = installation.command("backup", &[]);
    let ran = none.env("MUSTER_BACKUP_PASSPHRASE", "").run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("--passphrase-file"), "{ran:?}");

    let file = installation.folder.path().join("passphrase");
    std::fs::write(&file, "from a file\nsecond line").unwrap();
    let from_file = ["--passphrase-file", file.to_str().unwrap()];
    assert_eq!(installation.run("backup", &from_file).code, 0);
    let checked = installation.command("check", &[]);
    let ran = checked.env("MUSTER_BACKUP_PASSPHRASE", "from a file").run();
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_full_disk_leaves_the_backup_before() {
    let installation = Installation::new();
    let disk = installation.folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "small-disk"])
        .arg(&disk)
        .status();
    let is_mounted = mounted.is_ok_and(|status| status.success());
    if !precondition::is_met(is_mounted, "the right to mount a tmpfs") {
        return;
    }
    let file = disk.join("muster.backup");
    std::fs::write(&file, "muster-backup 1\nthe one before").unwrap();
    let data = installation.data();
    let words = [
        "store",
        "backup",
        file.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
    ];
    let ran = muster(&words)
        .env("MUSTER_BACKUP_PASSPHRASE", PASSPHRASE)
        .run();
    let kept = std::fs::read_to_string(&file).unwrap();
    let n_files = std::fs::read_dir(&disk).unwrap().count();
    let unmounted = std::process::Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    assert_eq!((ran.code, n_files), (1, 1), "{ran:?}");
    assert!(ran.stderr.contains("is there room?"), "{ran:?}");
    assert!(kept.ends_with("the one before"));
}

#[test]
fn postgres_is_backed_up_with_its_own_tools_and_prepared_after_a_restore() {
    let installation = Installation::new();
    let postgres = engines::Postgres::start().unwrap();
    populate(&postgres.url());
    let ran = installation.run("backup", &["--store", &postgres.url()]);
    assert_eq!(
        (ran.code, installation.file().exists()),
        (2, false),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("pg_dump --format=custom"), "{ran:?}");
    assert!(
        ran.stderr
            .contains("keys of the certificate authority are in it"),
        "{ran:?}"
    );

    let url = postgres.url();
    let words = ["store", "after-restore", "--store", url.as_str()];
    let ran = muster(&words).run();
    assert_eq!(ran.code, 2, "it asks first: {ran:?}");
    assert_eq!(content(&url).0, Revision(2));
    let ran = muster(&[&words[..], &["--yes"]].concat()).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(content(&url).0.0 > 1 << 32);
}

#[test]
fn only_a_backup_is_replaced_by_a_backup() {
    let installation = Installation::new();
    std::fs::write(installation.file(), "my only copy").unwrap();
    let ran = installation.run("backup", &[]);
    assert_eq!(
        (ran.code, ran.stderr.contains("is no backup")),
        (2, true),
        "{ran:?}"
    );
    let kept = std::fs::read_to_string(installation.file()).unwrap();
    assert_eq!(kept, "my only copy");
    std::fs::remove_file(installation.file()).unwrap();
    for _ in 0..2 {
        assert_eq!(installation.run("backup", &[]).code, 0);
    }
}

#[test]
fn without_a_store_there_is_no_backup() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("muster.backup");
    let data = folder.path().join("none");
    let words = [
        "store",
        "backup",
        file.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
    ];
    let ran = muster(&words)
        .env("MUSTER_BACKUP_PASSPHRASE", PASSPHRASE)
        .run();
    assert_eq!(
        (ran.code, file.exists(), data.exists()),
        (4, false, false),
        "{ran:?}"
    );
}

#[test]
fn a_failed_restore_leaves_no_new_directory() {
    let installation = Installation::new();
    assert_eq!(installation.run("backup", &[]).code, 0);
    let (file, fresh) = (
        installation.file(),
        installation.folder.path().join("fresh"),
    );
    let words = ["store", "restore", file.to_str().unwrap(), "--data"];
    let restore = |passphrase: &str| {
        let command = muster(&[&words[..], &[fresh.to_str().unwrap()]].concat());
        command.env("MUSTER_BACKUP_PASSPHRASE", passphrase).run()
    };
    let ran = restore("guessed");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(!fresh.exists());
    // What was there before stays.
    std::fs::create_dir(&fresh).unwrap();
    assert_eq!(restore("guessed").code, 2);
    assert!(fresh.exists());
    assert_eq!(restore(PASSPHRASE).code, 0);
    assert!(fresh.join("muster.db").exists());
}

#[test]
fn root_restores_for_the_user_who_owns_the_directory() {
    use std::os::unix::fs::MetadataExt;
    let is_root = rustix::process::geteuid().is_root();
    if !precondition::is_met(is_root, "root: files of another user") {
        return;
    }
    let installation = Installation::new();
    assert_eq!(installation.run("backup", &[]).code, 0);
    let (file, data) = (
        installation.file(),
        installation.folder.path().join("other"),
    );
    std::fs::create_dir(&data).unwrap();
    std::os::unix::fs::chown(&data, Some(65534), Some(65534)).unwrap();
    let words = ["store", "restore", file.to_str().unwrap(), "--data"];
    let ran = muster(&[&words[..], &[data.to_str().unwrap()]].concat())
        .env("MUSTER_BACKUP_PASSPHRASE", PASSPHRASE)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    for entry in std::fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let owner = std::fs::metadata(&path).unwrap();
        assert_eq!((owner.uid(), owner.gid()), (65534, 65534), "{path:?}");
    }
}

#[test]
fn a_directory_that_cannot_be_searched_is_not_called_empty() {
    let installation = Installation::new();
    let no_folder = installation.folder.path().join("file");
    std::fs::write(&no_folder, "").unwrap();
    let file = installation.file();
    let words = ["store", "backup", file.to_str().unwrap(), "--data"];
    let ran = muster(&[&words[..], &[no_folder.to_str().unwrap()]].concat())
        .env("MUSTER_BACKUP_PASSPHRASE", PASSPHRASE)
        .run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("cannot look for "), "{ran:?}");
    assert!(ran.stderr.contains("or as root"), "{ran:?}");
}
