//! Paths through links, and out of the allowed folders.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};

use supervisor::{AllowedPaths, ConfigFiles};

use super::TestFolder;
use crate::harness::runs_as_root;

const NOBODY: u32 = 65534;
const OTHER_USER: u32 = 54321;

#[test]
fn the_target_of_a_link_is_written_and_the_link_stays() {
    let folder = TestFolder::new();
    fs::create_dir_all(folder.path("releases/5")).unwrap();
    symlink("releases/5", folder.path("current")).unwrap();
    symlink("../5/./real.conf", folder.path("releases/5/app.conf")).unwrap();
    for content in ["one", "two"] {
        let written = folder.write("current/app.conf", content).unwrap();
        assert!(
            written.path.ends_with("/releases/5/real.conf"),
            "{written:?}"
        );
        let link = fs::symlink_metadata(folder.path("releases/5/app.conf")).unwrap();
        assert!(link.is_symlink());
        let found = fs::read_to_string(folder.path("releases/5/real.conf")).unwrap();
        assert_eq!(found, content);
    }
    let absolute = folder.path("releases/5/real.conf");
    symlink(&absolute, folder.path("absolute")).unwrap();
    folder.write("absolute", "three").unwrap();
    assert_eq!(fs::read_to_string(absolute).unwrap(), "three");
    symlink("round", folder.path("round")).unwrap();
    let error = folder.write("round", "x").unwrap_err().to_string();
    assert!(error.ends_with("leads through too many links"), "{error}");
}

#[test]
fn a_users_link_does_not_reach_files_of_others() {
    if !runs_as_root() {
        return;
    }
    let folder = TestFolder::new();
    fs::create_dir(folder.path("etc")).unwrap();
    fs::write(folder.path("etc/shadow"), "secret").unwrap();
    fs::create_dir(folder.path("home")).unwrap();
    chown(folder.path("home"), Some(NOBODY), None).unwrap();
    symlink("../etc/shadow", folder.path("home/app.conf")).unwrap();
    symlink("../etc", folder.path("home/conf")).unwrap();
    for link in ["home/app.conf", "home/conf"] {
        lchown(folder.path(link), Some(NOBODY), None).unwrap();
    }
    for name in ["home/app.conf", "home/conf/shadow", "home/conf/new/file"] {
        let error = folder.write(name, "x").unwrap_err().to_string();
        assert!(error.contains("leads to what is not theirs"), "{error}");
    }
    for name in ["home/app.conf", "home/conf/shadow"] {
        let read = folder.files.read(folder.path(name).to_str().unwrap(), 100);
        let error = read.unwrap_err().to_string();
        assert!(error.contains("leads to what is not theirs"), "{error}");
    }
    assert_eq!(
        fs::read_to_string(folder.path("etc/shadow")).unwrap(),
        "secret"
    );
    assert_eq!(folder.names("etc"), ["shadow"]);

    // Links to own files are followed.
    fs::create_dir(folder.path("home/real")).unwrap();
    chown(folder.path("home/real"), Some(NOBODY), None).unwrap();
    symlink("real/app.conf", folder.path("home/mine")).unwrap();
    lchown(folder.path("home/mine"), Some(NOBODY), None).unwrap();
    folder.write("home/mine", "theirs").unwrap();
    assert_eq!(folder.names("home/real"), ["app.conf"]);
    // Links of two different users are refused.
    symlink("home/mine", folder.path("chain")).unwrap();
    lchown(folder.path("chain"), Some(OTHER_USER), None).unwrap();
    let error = folder.write("chain", "x").unwrap_err().to_string();
    assert!(error.contains("leads to what is not theirs"), "{error}");
}

#[test]
fn a_users_hard_link_is_neither_read_nor_replaced() {
    if !runs_as_root() {
        return;
    }
    let folder = TestFolder::new();
    fs::write(folder.path("shadow"), "secret").unwrap();
    fs::set_permissions(folder.path("shadow"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(folder.path("home")).unwrap();
    chown(folder.path("home"), Some(NOBODY), None).unwrap();
    fs::hard_link(folder.path("shadow"), folder.path("home/app.conf")).unwrap();
    let path = folder.path("home/app.conf");
    let read = folder.files.read(path.to_str().unwrap(), 100);
    let said = "has another name elsewhere";
    let error = read.unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
    let error = folder.write("home/app.conf", "x").unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
    assert_eq!(folder.names("home"), ["app.conf"], "and no backup of it");
    // A file of root in a user's folder may be read and replaced.
    fs::remove_file(folder.path("shadow")).unwrap();
    let read = folder.files.read(path.to_str().unwrap(), 100).unwrap();
    assert_eq!(read.unwrap().1, b"secret");
    folder.write("home/app.conf", "new").unwrap();
}

#[test]
fn new_folders_are_created_with_the_rights_of_the_parents_owner() {
    if !runs_as_root() {
        return;
    }
    let folder = TestFolder::new();
    for (name, mode) in [("home", 0o755), ("locked", 0o555)] {
        fs::create_dir(folder.path(name)).unwrap();
        chown(folder.path(name), Some(NOBODY), None).unwrap();
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    // Otherwise the owner could swap in a folder of root, and get it by the chown.
    let error = folder.write("locked/new/app.conf", "x").unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    assert!(folder.names("locked").is_empty());
    folder.write("home/new/deep/app.conf", "x").unwrap();
    let made = fs::metadata(folder.path("home/new/deep")).unwrap();
    assert_eq!(
        made.uid(),
        0,
        "they belong to the owner that the server wants"
    );
}

#[test]
fn a_path_outside_the_allowed_ones_is_refused_also_through_links() {
    let mut folder = TestFolder::new();
    fs::create_dir_all(folder.path("srv/app")).unwrap();
    symlink("../../out", folder.path("srv/app/out")).unwrap();
    fs::create_dir(folder.path("out")).unwrap();
    symlink("srv", folder.path("link")).unwrap();
    // An allowed folder may be given as a link.
    folder.files = ConfigFiles::new(AllowedPaths::Below(vec![
        folder.path("link/app"),
        "/no/such".into(),
    ]));
    folder.write("srv/app/deep/app.conf", "x").unwrap();
    folder.write("link/app/app.conf", "x").unwrap();
    for name in ["srv/app/out/app.conf", "srv/application.conf", "out/new/x"] {
        let error = folder.write(name, "x").unwrap_err().to_string();
        assert!(error.contains("its setting `release_paths`"), "{error}");
        let error = folder.files.read(folder.path(name).to_str().unwrap(), 9);
        assert!(error.is_err());
    }
    assert!(folder.names("out").is_empty());
    let off = TestFolder::with(AllowedPaths::Nowhere);
    let error = off.write("app.conf", "x").unwrap_err().to_string();
    assert!(error.ends_with("its setting `release` is off"), "{error}");
    assert!(off.files.read("/etc/passwd", 9).is_err());
    assert!(off.names(".").is_empty());
}
