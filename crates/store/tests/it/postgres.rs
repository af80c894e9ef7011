//! The conformance tests on PostgreSQL, and its own.

mod in_doubt;
mod outage;
mod proxy;

use model::change::{Changes, Revision};
use store::{AuditPage, Store, StoreError};

use crate::conformance::conformance_tests;
use crate::sample;
use crate::test_database::TestDatabase;

conformance_tests!(TestDatabase::postgres());

#[tokio::test]
async fn it_is_shared() {
    let database = TestDatabase::postgres();
    assert!(database.open().await.is_shared());
    assert!(!TestDatabase::sqlite().open().await.is_shared());
}

#[tokio::test]
async fn a_store_of_a_newer_program_is_refused() {
    let mut database = TestDatabase::postgres();
    database.open().await.close().await;
    change_directly(
        &mut database,
        "INSERT INTO schema_version (version) VALUES (99)",
    );
    let refused = Store::open(&database.url()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::TooNew { found: 99, .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named() {
    let mut database = TestDatabase::postgres();
    let store = database.open().await;
    for (damage, table, id) in [
        (
            "UPDATE definitions SET spec = '{' WHERE id = 1",
            "definitions",
            "1",
        ),
        (
            "UPDATE processes SET flag = 3 WHERE id = 6",
            "processes",
            "6",
        ),
        (
            "UPDATE config_files SET released = '' WHERE process = 1",
            "config_files",
            "1, 0, 1",
        ),
        (
            "UPDATE apps SET body = '' WHERE id = 'app''1'",
            "apps",
            "app'1",
        ),
    ] {
        let head = store.head().await.unwrap();
        store.commit(head, &sample::everything()).await.unwrap();
        change_directly(&mut database, damage);
        match store.load().await.unwrap_err() {
            StoreError::Corrupt {
                table: t, id: i, ..
            } => assert_eq!((t, &*i), (table, id)),
            other => panic!("{damage}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_failed_write_is_rolled_back_and_the_next_one_works() {
    let mut database = TestDatabase::postgres();
    let store = database.open().await;
    change_directly(
        &mut database,
        "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'disk full'; END $$ LANGUAGE plpgsql; \
         CREATE TRIGGER full_disk BEFORE INSERT ON audit EXECUTE FUNCTION full_disk()",
    );
    let mut changes = sample::everything();
    changes.audit = vec![sample::audit(1)];
    for _ in 0..12 {
        let failed = store.commit(Revision(0), &changes).await.unwrap_err();
        let StoreError::Unavailable { source } = failed else {
            panic!("{failed:?}");
        };
        assert!(source.to_string().contains("disk full"), "{source}");
    }
    assert_eq!(store.load().await.unwrap(), store::Loaded::default());
    change_directly(&mut database, "DROP TRIGGER full_disk ON audit");
    assert_eq!(
        store.commit(Revision(0), &changes).await.unwrap(),
        Revision(1)
    );
}

/// PostgreSQL refuses such texts, so each retry of the commit would fail.
#[tokio::test]
async fn a_nul_in_free_text_is_replaced() {
    let database = TestDatabase::postgres();
    let store = database.open().await;
    let mut audit = sample::audit(1);
    audit.detail = "a\0b".into();
    let changes = Changes {
        audit: vec![audit],
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    let page = AuditPage {
        limit: 9,
        ..AuditPage::default()
    };
    let found = store.audit(&page).await.unwrap();
    assert_eq!(found[0].1.detail, "a\u{fffd}b");
}

#[tokio::test]
async fn a_password_is_never_shown() {
    let database = TestDatabase::postgres();
    let secret = "pa55/w?rd";
    let with_secret =
        |url: &str| url.replace("muster@", "muster:pa55%2Fw%3Frd@") + "?password=pa55%2Fw%3Frd";
    let store = Store::open(&with_secret(&database.url())).await.unwrap();
    let mut shown = format!("{store:?}");
    for url in [
        "postgres://muster@127.0.0.1:1/gone".to_owned(),
        "mysql://muster@127.0.0.1/other".to_owned(),
        "postgres://muster@127.0.0.1:port/malformed".to_owned(),
        "postgres://muster@127.0.0.1/typo?pasword=pa55&a=b".to_owned(),
    ] {
        for url in [
            with_secret(&url),
            url.replace("muster@", "muster:pa55/w?rd@"),
        ] {
            let refused = Store::open(&url).await.unwrap_err();
            shown += &format!("\n{refused:?}");
            shown += &format!("\n{:#}", anyhow::Error::from(refused));
        }
    }
    assert!(shown.contains("names no store"), "{shown}");
    assert!(shown.contains("has an option that is not known"), "{shown}");
    assert!(
        !shown.contains("pa55") && !shown.contains(secret),
        "{shown}"
    );
}

/// Changes the data without the store.
fn change_directly(database: &mut TestDatabase, statement: &str) {
    database.server().execute(statement).unwrap();
}
