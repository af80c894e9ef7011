//! The timeline: written with commits and beside them, read newest first by process or host, purged when it is old.

use model::change::{Changes, HostId, NameId, Revision};
use model::timeline::{TimelineBody, TimelineKind, TimelineRow};
use store::{Store, StoredTimelineRow, TimelinePage};

use crate::sample;
use crate::test_database::TestDatabase;

/// Row `n`: of three processes and none, on one host, several or none.
fn nth(n: u32) -> TimelineRow {
    TimelineRow {
        at: sample::moment((n * 7) % 20),
        kind: TimelineKind::ALL[n as usize % 4],
        process: (n % 4 != 3).then_some(NameId(n % 4)),
        hosts: (0..n % 3).map(|host| HostId(host * 300 + n % 5)).collect(),
        body: TimelineBody {
            code: format!("row {n}"),
            params: [("key".to_owned(), n.to_string())].into(),
            user: "alice".into(),
            task: n.is_multiple_of(2).then(|| format!("task {n}")),
            job: (n % 2 == 1).then_some(n),
            ..TimelineBody::default()
        },
    }
}

async fn with_rows(database: &TestDatabase) -> Store {
    let store = database.open().await;
    let changes = Changes {
        timeline: (0..20).map(nth).collect(),
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    let beside: Vec<TimelineRow> = (20..40).map(nth).collect();
    store.add_timeline(&beside).await.unwrap();
    assert_eq!(store.head().await.unwrap(), Revision(1));
    store
}

/// All pages of a query.
async fn pages(store: &Store, mut page: TimelinePage) -> Vec<TimelineRow> {
    let mut rows = Vec::new();
    loop {
        let found: Vec<StoredTimelineRow> = store.timeline(&page).await.unwrap();
        page.before = found.last().map(|last| (last.row.at, last.id));
        let is_last = found.len() < page.limit as usize;
        rows.extend(found.into_iter().map(|stored| stored.row));
        if is_last {
            return rows;
        }
    }
}

fn expected(wanted: impl Fn(&TimelineRow) -> bool) -> Vec<TimelineRow> {
    let mut rows: Vec<(u32, TimelineRow)> = (0..40).map(|n| (n, nth(n))).collect();
    rows.sort_by_key(|(n, row)| std::cmp::Reverse((row.at, *n)));
    let rows = rows.into_iter().map(|(_, row)| row);
    rows.filter(wanted).collect()
}

pub async fn the_timeline_is_read_newest_first_in_pages(database: &TestDatabase) {
    let store = with_rows(database).await;
    for limit in [1, 3, 40, 100] {
        let page = TimelinePage {
            limit,
            ..TimelinePage::default()
        };
        assert_eq!(pages(&store, page).await, expected(|_| true), "{limit}");
    }
}

pub async fn the_timeline_is_filtered_by_everything_at_once(database: &TestDatabase) {
    let store = with_rows(database).await;
    let (since, until) = (sample::moment(3), sample::moment(17));
    for name in [None, Some(None), Some(Some(NameId(1)))] {
        for host in [None, Some(None), Some(Some(HostId(2)))] {
            for kinds in [None, Some(vec![TimelineKind::Agent, TimelineKind::Spec])] {
                let page = TimelinePage {
                    limit: 2,
                    name,
                    host,
                    kinds: kinds.clone(),
                    since: Some(since),
                    until: Some(until),
                    ..TimelinePage::default()
                };
                let wanted = |row: &TimelineRow| {
                    let only = match row.hosts.as_slice() {
                        [one] => Some(*one),
                        _ => None,
                    };
                    name.is_none_or(|name| row.process == name)
                        && host.is_none_or(|host| only == host)
                        && kinds.as_ref().is_none_or(|kinds| kinds.contains(&row.kind))
                        && (since..until).contains(&row.at)
                };
                let found = pages(&store, page).await;
                assert_eq!(found, expected(wanted), "{name:?} {host:?} {kinds:?}");
            }
        }
    }
}

pub async fn the_old_timeline_is_purged(database: &TestDatabase) {
    let store = with_rows(database).await;
    store.purge_timeline(sample::moment(5)).await.unwrap();
    let page = TimelinePage {
        limit: 100,
        ..TimelinePage::default()
    };
    let left = expected(|row| row.at >= sample::moment(5));
    assert_eq!(pages(&store, page).await, left);
}

pub async fn a_follower_gets_no_timeline(database: &TestDatabase) {
    let store = with_rows(database).await;
    let (_, changes) = store.changes_since(Revision(0)).await.unwrap();
    assert!(changes.timeline.is_empty());
    assert!(store.load().await.unwrap().changes.timeline.is_empty());
}
