//! SQLite keeps every promise, and some of its own.

mod plan;

use std::os::unix::fs::PermissionsExt as _;

use model::change::{Changes, Revision};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use store::{Store, StoreError};

use crate::conformance::keeps_every_promise;
use crate::place::Place;
use crate::some;

keeps_every_promise!(Place::sqlite());

#[tokio::test]
async fn only_its_owner_can_read_the_files() {
    let place = Place::sqlite();
    let store = place.open().await;
    store
        .commit(Revision(0), &some::everything())
        .await
        .unwrap();
    let folder = place.file().parent().unwrap().to_owned();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files = Vec::from_iter(
        folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    assert!(files.len() > 1, "the file and its log: {files:?}");
    files
        .iter()
        .for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));
}

#[tokio::test]
async fn a_url_of_another_kind_is_refused_with_what_is_supported() {
    for url in [
        "",
        "sqlite:",
        "/var/lib/muster.db",
        "mysql://host/db",
        "sqlite::memory:",
    ] {
        let refused = Store::open(url).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::Unsupported { .. }),
            "{url}: {refused:?}"
        );
        assert!(refused.to_string().contains("sqlite:/path"), "{refused}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_unavailable() {
    let place = Place::sqlite();
    std::fs::create_dir_all(place.file().parent().unwrap()).unwrap();
    std::fs::write(place.file(), "no database".repeat(1000)).unwrap();
    let refused = Store::open(&place.url()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Unavailable { .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_store_of_a_newer_program_is_refused() {
    let place = Place::sqlite();
    place.open().await.close().await;
    change_directly(&place, "INSERT INTO schema_version (version) VALUES (99)").await;
    let refused = Store::open(&place.url()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::TooNew { found: 99, .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named() {
    for (damage, table, id) in [
        (
            "UPDATE definitions SET spec = '{' WHERE id = 1",
            "definitions",
            "1",
        ),
        ("UPDATE hosts SET ip = 'x' WHERE id = 2", "hosts", "2"),
        ("UPDATE names SET name = '' WHERE id = 0", "names", "0"),
        (
            "UPDATE outcomes SET body = '[]' WHERE ordinal = 3",
            "outcomes",
            "3",
        ),
        (
            "UPDATE targets SET op = 5 WHERE ordinal = 4",
            "targets",
            "4",
        ),
        (
            "UPDATE apps SET body = '' WHERE id = 'app''1'",
            "apps",
            "app'1",
        ),
        (
            "UPDATE process_groups SET body = 'null'",
            "process_groups",
            "1, gse",
        ),
        (
            "UPDATE processes SET flag = 3 WHERE id = 6",
            "processes",
            "6",
        ),
        (
            "UPDATE processes SET host = -1 WHERE id = 5",
            "processes",
            "5",
        ),
        (
            "UPDATE services SET machine = -1 WHERE id = 4",
            "services",
            "4",
        ),
        (
            "UPDATE view_processes SET program = 4294967296 WHERE id = 3",
            "view_processes",
            "3",
        ),
        (
            "UPDATE machines SET body = '{}' WHERE id = 2",
            "machines",
            "2",
        ),
        ("UPDATE jobs SET body = '' WHERE id = 1", "jobs", "1"),
        (
            "UPDATE job_tasks SET body = '[]' WHERE ordinal = 3",
            "job_tasks",
            "1, 3",
        ),
        (
            "UPDATE config_files SET released = '' WHERE process = 1",
            "config_files",
            "1, 0, 1",
        ),
        (
            "UPDATE logins SET token_sha256 = x'00' WHERE user_name = 'user1'",
            "logins",
            "",
        ),
    ] {
        let place = Place::sqlite();
        let store = place.open().await;
        store
            .commit(Revision(0), &some::everything())
            .await
            .unwrap();
        change_directly(&place, damage).await;
        match store.load().await.unwrap_err() {
            StoreError::Corrupt {
                table: t, id: i, ..
            } if t == table => {
                assert!(i.contains(id), "{damage}: {i}");
            }
            other => panic!("{damage}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_log_entry_that_cannot_be_read_is_named() {
    let place = Place::sqlite();
    let store = place.open().await;
    let apps = Changes {
        apps: vec![some::app(1)],
        ..Changes::default()
    };
    store.commit(Revision(0), &apps).await.unwrap();
    for (damage, table, id) in [
        // The first letter of the body is an opening brace.
        (
            "UPDATE commit_log SET body = CAST(replace(CAST(body AS TEXT), '{', '[') AS BLOB)",
            "apps",
            "app'1",
        ),
        (
            "UPDATE commit_log SET body = substr(body, 1, 20)",
            "commit_log",
            "1048576",
        ),
    ] {
        change_directly(&place, damage).await;
        match store.changes_since(Revision(0)).await.unwrap_err() {
            StoreError::Corrupt {
                table: t, id: i, ..
            } => assert_eq!((t, &*i), (table, id)),
            other => panic!("{damage}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_follower_of_a_log_with_a_gap_must_load_again() {
    let place = Place::sqlite();
    let store = place.open().await;
    for n in 0..5 {
        let changes = some::asked(n as u32, 1);
        store.commit(Revision(n), &changes).await.unwrap();
    }
    change_directly(&place, "DELETE FROM commit_log WHERE id >> 20 = 3").await;
    for since in [0, 1, 2] {
        let refused = store.changes_since(Revision(since)).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooOld { .. }), "{refused:?}");
    }
    for since in [3, 4, 5] {
        store.changes_since(Revision(since)).await.unwrap();
    }
}

/// An error after which SQLite has already rolled back by itself, as after a full disk.
#[tokio::test]
async fn a_write_that_fails_half_way_leaves_nothing_and_the_next_one_works() {
    let place = Place::sqlite();
    let store = place.open().await;
    change_directly(
        &place,
        "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ROLLBACK, 'disk full'); END",
    )
    .await;
    let mut changes = some::everything();
    changes.audit = vec![some::audit(1)];
    for _ in 0..3 {
        let failed = store.commit(Revision(0), &changes).await.unwrap_err();
        let StoreError::Unavailable { source } = failed else {
            panic!("{failed:?}");
        };
        assert!(source.to_string().contains("disk full"), "{source}");
    }
    assert_eq!(store.load().await.unwrap(), store::Loaded::default());
    change_directly(&place, "DROP TRIGGER full").await;
    assert_eq!(
        store.commit(Revision(0), &changes).await.unwrap(),
        Revision(1)
    );
}

async fn raw(place: &Place) -> sqlx::SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(place.file())
        .create_if_missing(true);
    options.connect().await.unwrap()
}

/// Changes the data without the store.
pub async fn change_directly(place: &Place, statement: &'static str) {
    let mut conn = raw(place).await;
    sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}
