//! Failures of writing and reading files: each has a message and changes nothing.

use std::fs;
use std::process::Command;

use model::config_file::{DesiredFile, MAX_BYTES};
use rustix::fs::{CWD, Mode, mkfifoat};

use super::TestFolder;
use crate::harness::{SmallDisk, runs_unprivileged};

/// A file system in the folder `disk`.
fn mount(folder: &TestFolder) -> Option<SmallDisk> {
    let path = folder.path("disk");
    fs::create_dir(&path).unwrap();
    SmallDisk::mount(path, "size=256k")
}

#[test]
fn an_invalid_path_is_refused() {
    let folder = TestFolder::new();
    fs::write(folder.path("file"), "old").unwrap();
    fs::create_dir(folder.path("folder")).unwrap();
    mkfifoat(CWD, folder.path("pipe"), Mode::RUSR).unwrap();
    let long = "x".repeat(230);
    let too_long = "x".repeat(300);
    let deep = format!("/{}", "y/".repeat(3000));
    for (path, reason) in [
        ("etc/app.conf".to_owned(), "must be absolute"),
        ("/srv/../etc/passwd".to_owned(), "must not contain `..`"),
        ("/srv/".to_owned(), "must end with the name of a file"),
        ("/a\0b".to_owned(), "must not contain a zero byte"),
        (deep, "must have at most 4095 bytes"),
        ("/".to_owned(), "must end with the name of a file"),
        (
            folder.path("folder").display().to_string(),
            "is a folder, and no file",
        ),
        (
            folder.path("pipe").display().to_string(),
            "is a device, a pipe or a socket, and no file",
        ),
        (
            folder.path("file/app.conf").display().to_string(),
            "/file is not a folder",
        ),
        (
            folder.path(&long).display().to_string(),
            "its last part may have at most 219 bytes",
        ),
        (
            folder.path(&too_long).display().to_string(),
            "File name too long",
        ),
    ] {
        let wanted = DesiredFile {
            path: path.clone(),
            ..folder.wanted(&folder.path("any"), b"x")
        };
        let error = folder.files.write(&wanted, b"x").unwrap_err().to_string();
        assert!(error.ends_with(reason), "{error}");
        let named: String = path.chars().take(300).collect();
        assert!(error.contains(&named), "{error}");
    }
    assert_eq!(folder.names("."), ["file", "folder", "pipe"]);
    assert_eq!(fs::read_to_string(folder.path("file")).unwrap(), "old");
}

#[test]
fn a_wrong_owner_or_content_is_refused_before_anything_is_created() {
    let folder = TestFolder::new();
    let refused = |change: fn(&mut DesiredFile)| {
        let mut wanted = folder.wanted(&folder.path("new/app.conf"), b"x");
        change(&mut wanted);
        folder.files.write(&wanted, b"x").unwrap_err().to_string()
    };
    assert_eq!(
        refused(|wanted| wanted.owner = "no-such-user".into()),
        "owner: there is no user no-such-user on this host"
    );
    assert_eq!(
        refused(|wanted| wanted.group = "no-such-group".into()),
        "group: there is no group no-such-group on this host"
    );
    assert_eq!(
        refused(|wanted| wanted.owner = u32::MAX.to_string()),
        "owner: there is no user 4294967295 on this host"
    );
    assert_eq!(
        refused(|wanted| wanted.mode = 0o10000),
        "mode: must be permission bits like 0644"
    );
    let error = refused(|wanted| wanted.md5 = "0".repeat(32));
    assert!(
        error.contains("has the md5 9dd4e461268c8034f5c8564e155c67a6"),
        "{error}"
    );
    let long = vec![b'x'; MAX_BYTES + 1];
    let error = folder
        .files
        .write(&folder.wanted(&folder.path("long"), &long), &long);
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("at most 3145728 are taken"), "{error}");
    assert!(folder.names(".").is_empty());
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let folder = TestFolder::new();
    let Some(_disk) = mount(&folder) else {
        return;
    };
    folder.write("disk/app.conf", "old").unwrap();
    let large = "x".repeat(400_000);
    for name in ["disk/app.conf", "disk/new/folder/app.conf"] {
        let error = folder.write(name, &large).unwrap_err().to_string();
        assert!(
            error.ends_with("cannot write it: No space left on device"),
            "{error}"
        );
    }
    assert_eq!(folder.names("disk"), ["app.conf"]);
    assert_eq!(
        fs::read_to_string(folder.path("disk/app.conf")).unwrap(),
        "old"
    );
    folder.write("disk/app.conf", "new").unwrap();
}

#[test]
fn a_read_only_disk_is_reported() {
    let folder = TestFolder::new();
    let Some(disk) = mount(&folder) else {
        return;
    };
    folder.write("disk/app.conf", "old").unwrap();
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&disk.0)
        .status()
        .unwrap();
    assert!(remounted.success());
    let error = folder
        .write("disk/app.conf", "new")
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("cannot make a file beside it: Read-only file system"),
        "{error}"
    );
    let error = folder
        .write("disk/new/app.conf", "new")
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot make the folder"), "{error}");
    assert!(error.ends_with("Read-only file system"), "{error}");
    // An identical file needs no write.
    assert!(folder.write("disk/app.conf", "old").unwrap().unchanged);
}

#[test]
fn a_folder_that_an_unprivileged_agent_may_not_write_is_reported() {
    let test =
        "config_files::failures::a_folder_that_an_unprivileged_agent_may_not_write_is_reported";
    if !runs_unprivileged(test) {
        return;
    }
    let folder = TestFolder::new();
    let wanted = folder.wanted("/usr/muster-test.conf".as_ref(), b"x");
    let error = folder.files.write(&wanted, b"x").unwrap_err().to_string();
    assert!(error.contains("Permission denied"), "{error}");
}
