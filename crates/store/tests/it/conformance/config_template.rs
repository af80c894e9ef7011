//! Contents: stored once under their id, read one by one, purged when no file refers to them.

use model::UnixMillis;
use model::change::{Changes, Revision};
use model::config_template::{ConfigFileRow, ContentRow, TemplateChanges};

use crate::sample;
use crate::test_database::TestDatabase;

fn files(files: Vec<ConfigFileRow>, contents: Vec<ContentRow>) -> Changes {
    Changes {
        templates: TemplateChanges {
            files,
            contents,
            ..TemplateChanges::default()
        },
        ..Changes::default()
    }
}

pub async fn contents_are_read_one_by_one_and_never_as_changes(database: &TestDatabase) {
    let store = database.open().await;
    let rows = vec![sample::config_file(0, Some(1), None)];
    let with_contents = files(rows.clone(), (0..2000).map(sample::content).collect());
    store.commit(Revision(0), &with_contents).await.unwrap();
    let without = files(rows, Vec::new());
    assert_eq!(store.load().await.unwrap().changes, without);
    let (_, changes) = store.changes_since(Revision(0)).await.unwrap();
    assert_eq!(changes, without);
    for n in [0, 1, 1024, 1999] {
        let found = store.content(sample::content_id(n)).await.unwrap();
        assert_eq!(found, Some(sample::content(n).body));
    }
    let absent = store.content(sample::content_id(2000)).await.unwrap();
    assert_eq!(absent, None);
}

pub async fn large_contents_are_written_once_and_never_changed(database: &TestDatabase) {
    let store = database.open().await;
    let large = |n: u32, text: &str| ContentRow {
        id: sample::content_id(n),
        body: text.repeat(1024 * 1024 / text.len()).into(),
    };
    let first = Vec::from_iter((0..20).map(|n| large(n, "空\0")));
    let again = Vec::from_iter((10..30).map(|n| large(n, "other")));
    for (n, contents) in (0..).zip([&first, &again]) {
        let changes = files(Vec::new(), contents.clone());
        store.commit(Revision(n), &changes).await.unwrap();
    }
    for row in first.iter().chain(&again[10..]) {
        assert!(store.content(row.id).await.unwrap().as_ref() == Some(&row.body));
    }
}

pub async fn contents_that_no_file_refers_to_are_purged(database: &TestDatabase) {
    let store = database.open().await;
    let steps = [
        files(
            vec![
                sample::config_file(0, Some(0), Some(1)),
                sample::config_file(1, Some(700), Some(1)),
                sample::config_file(2, Some(1200), None),
                sample::config_file(3, Some(1), None),
            ],
            (0..1300).map(sample::content).collect(),
        ),
        files(
            vec![
                sample::config_file(0, Some(1299), Some(0)),
                sample::config_file(2, None, None),
                sample::config_file(3, None, None),
            ],
            Vec::new(),
        ),
    ];
    for (n, changes) in (0..).zip(&steps) {
        store.commit(Revision(n), changes).await.unwrap();
    }
    store.purge(UnixMillis::NEVER, Revision(0)).await.unwrap();
    let mut left = Vec::new();
    for n in 0..1300 {
        if store
            .content(sample::content_id(n))
            .await
            .unwrap()
            .is_some()
        {
            left.push(n);
        }
    }
    assert_eq!(left, [0, 1, 700, 1299]);
}
