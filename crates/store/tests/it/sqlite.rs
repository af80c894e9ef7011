//! The conformance tests on SQLite, and its own.

mod plan;

use std::os::unix::fs::PermissionsExt as _;

use model::change::{Changes, Revision};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use store::{Store, StoreError};

use crate::conformance::conformance_tests;
use crate::sample;
use crate::test_database::TestDatabase;

conformance_tests!(TestDatabase::sqlite());

#[tokio::test]
async fn only_its_owner_can_read_the_files() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    let folder = database.file().parent().unwrap().to_owned();
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
async fn an_unsupported_url_is_refused() {
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
    let database = TestDatabase::sqlite();
    std::fs::create_dir_all(database.file().parent().unwrap()).unwrap();
    std::fs::write(database.file(), "no database".repeat(1000)).unwrap();
    let refused = Store::open(&database.url()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Unavailable { .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_store_of_a_newer_program_is_refused() {
    let database = TestDatabase::sqlite();
    database.open().await.close().await;
    change_directly(
        &database,
        "INSERT INTO schema_version (version) VALUES (99)",
    )
    .await;
    let refused = Store::open(&database.url()).await.unwrap_err();
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
        let database = TestDatabase::sqlite();
        let store = database.open().await;
        store
            .commit(Revision(0), &sample::everything())
            .await
            .unwrap();
        change_directly(&database, damage).await;
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
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let apps = Changes {
        apps: vec![sample::app(1)],
        ..Changes::default()
    };
    store.commit(Revision(0), &apps).await.unwrap();
    for (damage, table, id) in [
        // The first character of the body is an opening brace.
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
        change_directly(&database, damage).await;
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
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    for n in 0..5 {
        let changes = sample::asked(n as u32, 1);
        store.commit(Revision(n), &changes).await.unwrap();
    }
    change_directly(&database, "DELETE FROM commit_log WHERE id >> 20 = 3").await;
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
async fn a_failed_write_is_rolled_back_and_the_next_one_works() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    change_directly(
        &database,
        "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ROLLBACK, 'disk full'); END",
    )
    .await;
    let mut changes = sample::everything();
    changes.audit = vec![sample::audit(1)];
    for _ in 0..3 {
        let failed = store.commit(Revision(0), &changes).await.unwrap_err();
        let StoreError::Unavailable { source } = failed else {
            panic!("{failed:?}");
        };
        assert!(source.to_string().contains("disk full"), "{source}");
    }
    assert_eq!(store.load().await.unwrap(), store::Loaded::default());
    change_directly(&database, "DROP TRIGGER full").await;
    assert_eq!(
        store.commit(Revision(0), &changes).await.unwrap(),
        Revision(1)
    );
}

async fn raw(database: &TestDatabase) -> sqlx::SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(database.file())
        .create_if_missing(true);
    options.connect().await.unwrap()
}

/// Changes the data without the store.
pub async fn change_directly(database: &TestDatabase, statement: &'static str) {
    let mut conn = raw(database).await;
    sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}
