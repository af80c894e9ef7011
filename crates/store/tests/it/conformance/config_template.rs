//! Contents: once under their id, read one by one, forgotten when no file refers to them.

use model::UnixMillis;
use model::change::{Changes, Revision};
use model::config_template::{ConfigFileRow, ContentRow, TemplateChanges};

use crate::place::Place;
use crate::some;

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

pub async fn contents_are_read_one_by_one_and_never_as_changes(place: &Place) {
    let store = place.open().await;
    let rows = vec![some::config_file(0, Some(1), None)];
    let with_contents = files(rows.clone(), (0..2000).map(some::content).collect());
    store.commit(Revision(0), &with_contents).await.unwrap();
    let without = files(rows, Vec::new());
    assert_eq!(store.load().await.unwrap().changes, without);
    let (_, changes) = store.changes_since(Revision(0)).await.unwrap();
    assert_eq!(changes, without);
    for n in [0, 1, 1024, 1999] {
        let found = store.content(some::content_id(n)).await.unwrap();
        assert_eq!(found, Some(some::content(n).body));
    }
    let absent = store.content(some::content_id(2000)).await.unwrap();
    assert_eq!(absent, None);
}

pub async fn large_contents_are_written_and_what_is_there_stays(place: &Place) {
    let store = place.open().await;
    let large = |n: u32, text: &str| ContentRow {
        id: some::content_id(n),
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

pub async fn contents_that_no_file_refers_to_are_purged(place: &Place) {
    let store = place.open().await;
    let steps = [
        files(
            vec![
                some::config_file(0, Some(0), Some(1)),
                some::config_file(1, Some(700), Some(1)),
                some::config_file(2, Some(1200), None),
                some::config_file(3, Some(1), None),
            ],
            (0..1300).map(some::content).collect(),
        ),
        files(
            vec![
                some::config_file(0, Some(1299), Some(0)),
                some::config_file(2, None, None),
                some::config_file(3, None, None),
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
        if store.content(some::content_id(n)).await.unwrap().is_some() {
            left.push(n);
        }
    }
    assert_eq!(left, [0, 1, 700, 1299]);
}
