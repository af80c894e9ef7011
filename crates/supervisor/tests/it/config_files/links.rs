//! Paths that lead elsewhere: through links, and out of what is allowed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};

use supervisor::{AllowedPaths, ConfigFiles};

use super::{Desk, is_root};
use crate::keeper::skip;

const NOBODY: u32 = 65534;
const SOMEBODY: u32 = 54321;

#[test]
fn a_link_stays_and_what_it_leads_to_is_written() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("releases/5")).unwrap();
    symlink("releases/5", desk.path("current")).unwrap();
    symlink("../5/./real.conf", desk.path("releases/5/app.conf")).unwrap();
    for content in ["one", "two"] {
        let written = desk.write("current/app.conf", content).unwrap();
        assert!(
            written.path.ends_with("/releases/5/real.conf"),
            "{written:?}"
        );
        let link = fs::symlink_metadata(desk.path("releases/5/app.conf")).unwrap();
        assert!(link.is_symlink());
        let found = fs::read_to_string(desk.path("releases/5/real.conf")).unwrap();
        assert_eq!(found, content);
    }
    let absolute = desk.path("releases/5/real.conf");
    symlink(&absolute, desk.path("absolute")).unwrap();
    desk.write("absolute", "three").unwrap();
    assert_eq!(fs::read_to_string(absolute).unwrap(), "three");
    symlink("round", desk.path("round")).unwrap();
    let error = desk.write("round", "x").unwrap_err().to_string();
    assert!(error.ends_with("leads through too many links"), "{error}");
}

#[test]
fn a_link_of_somebody_leads_nowhere_that_is_not_theirs() {
    if !is_root() {
        return skip("only root can make links of others");
    }
    let desk = Desk::new();
    fs::create_dir(desk.path("etc")).unwrap();
    fs::write(desk.path("etc/shadow"), "secret").unwrap();
    fs::create_dir(desk.path("home")).unwrap();
    chown(desk.path("home"), Some(NOBODY), None).unwrap();
    symlink("../etc/shadow", desk.path("home/app.conf")).unwrap();
    symlink("../etc", desk.path("home/conf")).unwrap();
    for link in ["home/app.conf", "home/conf"] {
        lchown(desk.path(link), Some(NOBODY), None).unwrap();
    }
    for name in ["home/app.conf", "home/conf/shadow", "home/conf/new/file"] {
        let error = desk.write(name, "x").unwrap_err().to_string();
        assert!(error.contains("leads to what is not theirs"), "{error}");
    }
    for name in ["home/app.conf", "home/conf/shadow"] {
        let read = desk.files.read(desk.path(name).to_str().unwrap(), 100);
        let error = read.unwrap_err().to_string();
        assert!(error.contains("leads to what is not theirs"), "{error}");
    }
    assert_eq!(
        fs::read_to_string(desk.path("etc/shadow")).unwrap(),
        "secret"
    );
    assert_eq!(desk.names("etc"), ["shadow"]);

    // Within what is theirs they may.
    fs::create_dir(desk.path("home/real")).unwrap();
    chown(desk.path("home/real"), Some(NOBODY), None).unwrap();
    symlink("real/app.conf", desk.path("home/mine")).unwrap();
    lchown(desk.path("home/mine"), Some(NOBODY), None).unwrap();
    desk.write("home/mine", "theirs").unwrap();
    assert_eq!(desk.names("home/real"), ["app.conf"]);
    // Two who lead each other on lead nowhere.
    symlink("home/mine", desk.path("chain")).unwrap();
    lchown(desk.path("chain"), Some(SOMEBODY), None).unwrap();
    let error = desk.write("chain", "x").unwrap_err().to_string();
    assert!(error.contains("leads to what is not theirs"), "{error}");
}

#[test]
fn a_hard_link_of_somebody_shows_and_replaces_nothing() {
    assert!(is_root(), "this test needs root: it acts as another user");
    let desk = Desk::new();
    fs::write(desk.path("shadow"), "secret").unwrap();
    fs::set_permissions(desk.path("shadow"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(desk.path("home")).unwrap();
    chown(desk.path("home"), Some(NOBODY), None).unwrap();
    fs::hard_link(desk.path("shadow"), desk.path("home/app.conf")).unwrap();
    let path = desk.path("home/app.conf");
    let read = desk.files.read(path.to_str().unwrap(), 100);
    let said = "has another name elsewhere";
    let error = read.unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
    let error = desk.write("home/app.conf", "x").unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
    assert_eq!(desk.names("home"), ["app.conf"], "and no backup of it");
    // A file of root's own in their folder is the operator's to read and to replace.
    fs::remove_file(desk.path("shadow")).unwrap();
    let read = desk.files.read(path.to_str().unwrap(), 100).unwrap();
    assert_eq!(read.unwrap().1, b"secret");
    desk.write("home/app.conf", "new").unwrap();
}

#[test]
fn folders_are_made_with_the_rights_of_who_owns_the_folder_around_them() {
    assert!(is_root(), "this test needs root: it acts as another user");
    let desk = Desk::new();
    for (folder, mode) in [("home", 0o755), ("locked", 0o555)] {
        fs::create_dir(desk.path(folder)).unwrap();
        chown(desk.path(folder), Some(NOBODY), None).unwrap();
        fs::set_permissions(desk.path(folder), fs::Permissions::from_mode(mode)).unwrap();
    }
    // Otherwise the owner could put a folder of root's in place of the new one, and have that given away.
    let error = desk.write("locked/new/app.conf", "x").unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    assert!(desk.names("locked").is_empty());
    desk.write("home/new/deep/app.conf", "x").unwrap();
    let made = fs::metadata(desk.path("home/new/deep")).unwrap();
    assert_eq!(
        made.uid(),
        0,
        "they belong to the owner that the server wants"
    );
}

#[test]
fn what_the_operator_does_not_allow_is_refused_whatever_leads_there() {
    let mut desk = Desk::new();
    fs::create_dir_all(desk.path("srv/app")).unwrap();
    symlink("../../out", desk.path("srv/app/out")).unwrap();
    fs::create_dir(desk.path("out")).unwrap();
    symlink("srv", desk.path("link")).unwrap();
    // The operator may name it by a link, too.
    desk.files = ConfigFiles::new(AllowedPaths::Below(vec![
        desk.path("link/app"),
        "/no/such".into(),
    ]));
    desk.write("srv/app/deep/app.conf", "x").unwrap();
    desk.write("link/app/app.conf", "x").unwrap();
    for name in ["srv/app/out/app.conf", "srv/application.conf", "out/new/x"] {
        let error = desk.write(name, "x").unwrap_err().to_string();
        assert!(error.contains("its setting `release_paths`"), "{error}");
        let error = desk.files.read(desk.path(name).to_str().unwrap(), 9);
        assert!(error.is_err());
    }
    assert!(desk.names("out").is_empty());
    let off = Desk::with(AllowedPaths::Nowhere);
    let error = off.write("app.conf", "x").unwrap_err().to_string();
    assert!(error.ends_with("its setting `release` is off"), "{error}");
    assert!(off.files.read("/etc/passwd", 9).is_err());
    assert!(off.names(".").is_empty());
}
