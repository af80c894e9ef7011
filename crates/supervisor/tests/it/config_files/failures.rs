//! Everything that can be in the way of a file: told in a sentence, with nothing changed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use model::config_file::{DesiredFile, MAX_BYTES};
use rustix::fs::{CWD, Mode, mkfifoat};

use super::{Desk, is_root};
use crate::keeper::skip;

/// A file system of its own; none where we may not mount one.
struct Disk(PathBuf);

impl Disk {
    fn mount(desk: &Desk, options: &str) -> Option<Self> {
        let path = desk.path("disk");
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "small-disk"])
            .arg(&path)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(path)),
            Ok(_) | Err(_) => {
                skip("only root may mount a disk");
                None
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _best_effort = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_path_that_is_none_for_a_file_is_refused() {
    let desk = Desk::new();
    fs::write(desk.path("file"), "old").unwrap();
    fs::create_dir(desk.path("folder")).unwrap();
    mkfifoat(CWD, desk.path("pipe"), Mode::RUSR).unwrap();
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
            desk.path("folder").display().to_string(),
            "is a folder, and no file",
        ),
        (
            desk.path("pipe").display().to_string(),
            "is a device, a pipe or a socket, and no file",
        ),
        (
            desk.path("file/app.conf").display().to_string(),
            "/file is not a folder",
        ),
        (
            desk.path(&long).display().to_string(),
            "its last part may have at most 219 bytes",
        ),
        (
            desk.path(&too_long).display().to_string(),
            "File name too long",
        ),
    ] {
        let wanted = DesiredFile {
            path: path.clone(),
            ..desk.wanted(&desk.path("any"), b"x")
        };
        let error = desk.files.write(&wanted, b"x").unwrap_err().to_string();
        assert!(error.ends_with(reason), "{error}");
        let named: String = path.chars().take(300).collect();
        assert!(error.contains(&named), "{error}");
    }
    assert_eq!(desk.names("."), ["file", "folder", "pipe"]);
    assert_eq!(fs::read_to_string(desk.path("file")).unwrap(), "old");
}

#[test]
fn an_owner_or_content_that_is_wrong_is_refused_before_anything_is_made() {
    let desk = Desk::new();
    let refused = |change: fn(&mut DesiredFile)| {
        let mut wanted = desk.wanted(&desk.path("new/app.conf"), b"x");
        change(&mut wanted);
        desk.files.write(&wanted, b"x").unwrap_err().to_string()
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
    let error = desk
        .files
        .write(&desk.wanted(&desk.path("long"), &long), &long);
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("at most 3145728 are taken"), "{error}");
    assert!(desk.names(".").is_empty());
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let desk = Desk::new();
    let Some(_disk) = Disk::mount(&desk, "size=256k") else {
        return;
    };
    desk.write("disk/app.conf", "old").unwrap();
    let large = "x".repeat(400_000);
    for name in ["disk/app.conf", "disk/new/folder/app.conf"] {
        let error = desk.write(name, &large).unwrap_err().to_string();
        assert!(
            error.ends_with("cannot write it: No space left on device"),
            "{error}"
        );
    }
    assert_eq!(desk.names("disk"), ["app.conf"]);
    assert_eq!(
        fs::read_to_string(desk.path("disk/app.conf")).unwrap(),
        "old"
    );
    desk.write("disk/app.conf", "new").unwrap();
}

#[test]
fn a_disk_that_is_read_only_is_told() {
    let desk = Desk::new();
    let Some(disk) = Disk::mount(&desk, "size=256k") else {
        return;
    };
    desk.write("disk/app.conf", "old").unwrap();
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&disk.0)
        .status()
        .unwrap();
    assert!(remounted.success());
    let error = desk.write("disk/app.conf", "new").unwrap_err().to_string();
    assert!(
        error.ends_with("cannot make a file beside it: Read-only file system"),
        "{error}"
    );
    let error = desk
        .write("disk/new/app.conf", "new")
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot make the folder"), "{error}");
    assert!(error.ends_with("Read-only file system"), "{error}");
    // As it is, it is as wanted.
    assert!(desk.write("disk/app.conf", "old").unwrap().unchanged);
}

#[test]
fn a_folder_that_an_ordinary_agent_may_not_write_is_told() {
    if is_root() {
        return skip("root may write anywhere");
    }
    let desk = Desk::new();
    let wanted = desk.wanted("/usr/muster-test.conf".as_ref(), b"x");
    let error = desk.files.write(&wanted, b"x").unwrap_err().to_string();
    assert!(error.contains("Permission denied"), "{error}");
}
