//! `muster store copy`.

use std::path::Path;

use model::change::{Changes, Revision};
use rustix::fs::{FlockOperation, flock};
use store::Store;

use crate::command::muster;

/// Makes a store with two commits and a setting.
#[tokio::main(flavor = "current_thread")]
async fn populate(url: &str) {
    let store = Store::open(url).await.unwrap();
    for n in 0..2 {
        let committed = store.commit(Revision(n), &Changes::default()).await;
        committed.unwrap();
    }
    store.put_setting_if_absent("key", b"value").await.unwrap();
    store.close().await;
}

#[tokio::main(flavor = "current_thread")]
async fn is_as_populated(url: &str) -> bool {
    let store = Store::open(url).await.unwrap();
    let setting = store.setting("key").await.unwrap();
    store.head().await.unwrap() == Revision(2) && setting.as_deref() == Some(b"value")
}

fn sqlite(folder: &Path, file: &str) -> String {
    format!("sqlite:{}", folder.join(file).display())
}

#[test]
fn a_store_is_copied_to_postgres_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = engines::Postgres::start().unwrap();
    let (one, other) = (sqlite(folder.path(), "one"), sqlite(folder.path(), "other"));
    populate(&one);

    let ran = muster(&["store", "copy", &one, &postgres.url()]).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    // The head, a setting, and the log entries of two commits.
    assert!(ran.stdout.starts_with("copied 4 rows of "), "{ran:?}");
    assert!(is_as_populated(&postgres.url()));

    let ran = muster(&["-o", "json", "store", "copy", &postgres.url(), &other]).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let tables = &ran.json()["tables"];
    let setting = tables
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["table"] == "settings");
    assert_eq!(setting.unwrap()["rows"], 1);
    assert_eq!(setting.unwrap()["sha256"].as_str().unwrap().len(), 64);
    assert!(is_as_populated(&other));
}

#[test]
fn a_target_that_is_not_empty_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (sqlite(folder.path(), "one"), sqlite(folder.path(), "other"));
    populate(&one);
    populate(&other);
    let ran = muster(&["store", "copy", &one, &other]).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("the target is not empty"), "{ran:?}");
    assert!(is_as_populated(&other));
}

#[test]
fn a_store_that_a_server_runs_on_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (sqlite(folder.path(), "one"), sqlite(folder.path(), "other"));
    populate(&one);
    let lock = std::fs::File::create(folder.path().join("server.lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let ran = muster(&["store", "copy", &one, &other]).run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("a server runs on "), "{ran:?}");
    assert!(!folder.path().join("other").exists());
    drop(lock);
    let ran = muster(&["store", "copy", &one, &other]).run();
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_missing_source_is_an_error_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let none = sqlite(folder.path(), "none");
    let ran = muster(&["store", "copy", &none, &sqlite(folder.path(), "other")]).run();
    assert_eq!(ran.code, 4, "{ran:?}");
    let secret = "postgres://muster:s3cret@127.0.0.1:1/muster";
    for (from, to) in [(secret, &*none), (&*none, secret), (secret, secret)] {
        let ran = muster(&["store", "copy", from, to]).run();
        assert_ne!(ran.code, 0, "{ran:?}");
        assert!(!format!("{ran:?}").contains("s3cret"), "{ran:?}");
    }
}
