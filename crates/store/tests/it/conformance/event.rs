//! Events: listed newest first, read in the order of arrival, purged when they are old.

use model::change::{Changes, EventRow, HostId, Revision};
use model::event::EventKind;
use model::{Namespace, ProcessName, UnixMillis};
use store::{CountEventsBy, EventPage, Store};

use crate::sample;
use crate::test_database::TestDatabase;

const KINDS: [EventKind; 3] = [
    EventKind::ProcessExit,
    EventKind::ProcessRestartSuccess,
    EventKind::ConfigDrift,
];

/// Event `n` of 60: some happened at the same moment, and some arrived late.
fn nth(n: u32) -> EventRow {
    let mut row = sample::event(n % 4, u64::from(n));
    row.event.at = sample::moment((n * 7) % 30);
    row.event.process = format!("ns{}/p{}", n % 3, n % 5).parse().unwrap();
    row.event.kind = KINDS[(n / 3) as usize % 3];
    row.event.reason = format!("event {n}");
    row
}

async fn with_events(database: &TestDatabase) -> Store {
    let store = database.open().await;
    for commit in 0..6 {
        let changes = Changes {
            events: (0..10).map(|n| nth(commit * 10 + n)).collect(),
            ..Changes::default()
        };
        store
            .commit(Revision(u64::from(commit)), &changes)
            .await
            .unwrap();
    }
    store
}

/// All events that pass the filter, in the order in which the store should list them.
async fn expected(store: &Store, wanted: impl Fn(&EventRow) -> bool) -> Vec<String> {
    let arrived = store.events_after(0, 1000).await.unwrap();
    let mut rows: Vec<(UnixMillis, u64, String)> = (0..60)
        .map(nth)
        .filter(wanted)
        .map(|row| {
            let same = arrived
                .iter()
                .find(|stored| stored.event.reason == row.event.reason);
            (row.event.at, same.unwrap().id, row.event.reason)
        })
        .collect();
    rows.sort();
    rows.into_iter()
        .rev()
        .map(|(_, _, reason)| reason)
        .collect()
}

/// All pages of a list.
async fn listed(store: &Store, mut page: EventPage) -> Vec<String> {
    let mut seen = Vec::new();
    page.limit = 4;
    loop {
        let events = store.events(&page).await.unwrap();
        let Some(last) = events.last() else {
            return seen;
        };
        page.before = Some(last.id);
        seen.extend(events.into_iter().map(|stored| stored.event.reason));
    }
}

fn namespaces(names: &[&str]) -> Option<Vec<Namespace>> {
    let parse = |name: &&str| Namespace::parse(name).unwrap();
    Some(names.iter().map(parse).collect())
}

pub async fn events_are_listed_newest_first_in_pages(database: &TestDatabase) {
    let store = with_events(database).await;
    let all = expected(&store, |_| true).await;
    assert_eq!(all.len(), 60);
    assert_eq!(listed(&store, EventPage::default()).await, all);
    let one = EventPage {
        limit: 1,
        ..EventPage::default()
    };
    let newest = store.events(&one).await.unwrap().remove(0);
    let row = (0..60)
        .map(nth)
        .find(|row| row.event.reason == newest.event.reason);
    let row = row.unwrap();
    assert_eq!((newest.host, newest.event), (row.host, row.event));
}

pub async fn events_are_filtered_by_everything_at_once(database: &TestDatabase) {
    let store = with_events(database).await;
    let none = EventPage::default;
    let in_ns = |row: &EventRow, name: &str| row.event.process.namespace.as_str() == name;
    let p2 = ProcessName::parse("p2").unwrap();
    let rare = vec![EventKind::ConfigDrift, EventKind::ConfigDrift];

    let page = EventPage {
        namespaces: namespaces(&["ns1", "ns2", "ns1"]),
        ..none()
    };
    let wanted = expected(&store, |row| in_ns(row, "ns1") || in_ns(row, "ns2")).await;
    assert_eq!(listed(&store, page).await, wanted);

    let page = EventPage {
        name: Some(p2.clone()),
        kinds: Some(vec![KINDS[0], KINDS[1]]),
        ..none()
    };
    let wanted = expected(&store, |row| {
        row.event.process.name == p2 && row.event.kind != KINDS[2]
    });
    assert_eq!(listed(&store, page).await, wanted.await);

    let page = EventPage {
        hosts: Some(vec![HostId(1), HostId(3), HostId(1)]),
        namespaces: namespaces(&["ns0", "ns1"]),
        kinds: Some(rare.clone()),
        ..none()
    };
    let wanted = expected(&store, |row| {
        row.host.0 % 2 == 1 && !in_ns(row, "ns2") && row.event.kind == rare[0]
    });
    assert_eq!(listed(&store, page).await, wanted.await);

    let page = EventPage {
        namespaces: namespaces(&["ns0", "ns2"]),
        kinds: Some(rare.clone()),
        since: Some(sample::moment(5)),
        until: Some(sample::moment(25)),
        ..none()
    };
    let wanted = expected(&store, |row| {
        let at = row.event.at;
        let in_time = sample::moment(5) <= at && at < sample::moment(25);
        in_time && !in_ns(row, "ns1") && row.event.kind == rare[0]
    });
    let wanted = wanted.await;
    assert!(!wanted.is_empty());
    assert_eq!(listed(&store, page).await, wanted);

    for nothing in [
        EventPage {
            namespaces: namespaces(&["'OR'1'='1"]),
            ..none()
        },
        EventPage {
            hosts: Some(Vec::new()),
            ..none()
        },
        EventPage {
            before: Some(1_000_000),
            ..none()
        },
        EventPage {
            since: Some(sample::moment(30)),
            ..none()
        },
    ] {
        assert_eq!(listed(&store, nothing).await, Vec::<String>::new());
    }
}

pub async fn events_are_read_on_in_the_order_of_arrival(database: &TestDatabase) {
    let store = with_events(database).await;
    let mut seen = Vec::new();
    let mut last = 0;
    loop {
        let events = store.events_after(last, 7).await.unwrap();
        let Some(newest) = events.last() else { break };
        assert!(newest.id > last);
        last = newest.id;
        seen.extend(events);
    }
    assert_eq!(seen.len(), 60);
    for host in 0..4 {
        let of_host = seen.iter().filter(|stored| stored.host.0 == host);
        let reasons: Vec<&str> = of_host.map(|stored| stored.event.reason.as_str()).collect();
        let by_number = (0..60).filter(|n| n % 4 == host);
        assert_eq!(
            reasons,
            Vec::from_iter(by_number.map(|n| format!("event {n}")))
        );
    }
    // A repeated event does not arrive again.
    let again = Changes {
        events: vec![nth(3)],
        ..Changes::default()
    };
    store.commit(Revision(6), &again).await.unwrap();
    assert_eq!(store.events_after(last, 7).await.unwrap(), []);
}

pub async fn old_events_are_purged_and_their_ids_are_not_reused(database: &TestDatabase) {
    let store = with_events(database).await;
    let last = store.events_after(0, 100).await.unwrap()[59].id;
    let paging = EventPage {
        limit: 1,
        until: Some(sample::moment(3)),
        ..EventPage::default()
    };
    let old = store.events(&paging).await.unwrap().remove(0).id;
    store.purge_events(sample::moment(10)).await.unwrap();
    let left = listed(&store, EventPage::default()).await;
    let wanted = expected_after_purge();
    assert_eq!(left.len(), wanted);
    // A page that continues before a purged event is empty.
    let page = EventPage {
        limit: 10,
        before: Some(old),
        ..EventPage::default()
    };
    assert_eq!(store.events(&page).await.unwrap(), []);

    store.purge_events(UnixMillis(i64::MAX)).await.unwrap();
    assert_eq!(store.events_after(0, 9).await.unwrap(), []);
    let one = Changes {
        events: vec![sample::event(9, 9)],
        ..Changes::default()
    };
    store.commit(Revision(6), &one).await.unwrap();
    assert_eq!(store.events_after(last, 9).await.unwrap().len(), 1);
}

fn expected_after_purge() -> usize {
    (0..60)
        .filter(|n| nth(*n).event.at >= sample::moment(10))
        .count()
}

pub async fn events_of_lists_the_new_events_of_a_commit(database: &TestDatabase) {
    let store = database.open().await;
    let of = |hosts_and_numbers: &[(u32, u64)]| Changes {
        events: hosts_and_numbers
            .iter()
            .map(|(host, seq)| sample::event(*host, *seq))
            .collect(),
        ..Changes::default()
    };
    let (first, second) = (
        of(&[(1, 1), (1, 2), (1, 2)]),
        of(&[(1, 2), (2, 2), (1, 3), (1, 1)]),
    );
    let first = store.commit(Revision(0), &first).await.unwrap();
    let second = store.commit(first, &second).await.unwrap();
    let new_events = |revision| {
        let store = &store;
        async move {
            let mut events = store.events_of(revision).await.unwrap();
            events.sort();
            events
        }
    };
    let host = HostId;
    assert_eq!(new_events(first).await, [(host(1), 1), (host(1), 2)]);
    assert_eq!(new_events(second).await, [(host(1), 3), (host(2), 2)]);
    assert_eq!(new_events(second.next()).await, []);
}

pub async fn events_are_counted_by_time_and_value(database: &TestDatabase) {
    let store = with_events(database).await;
    let page = EventPage {
        namespaces: Some(vec![
            Namespace::parse("ns0").unwrap(),
            Namespace::parse("ns1").unwrap(),
        ]),
        since: Some(sample::moment(4)),
        until: Some(sample::moment(25)),
        ..EventPage::default()
    };
    let matching: Vec<EventRow> = (0..60)
        .map(nth)
        .filter(|row| {
            let namespace = row.event.process.namespace.as_str();
            (namespace == "ns0" || namespace == "ns1")
                && (sample::moment(4)..sample::moment(25)).contains(&row.event.at)
        })
        .collect();
    let bucket = std::time::Duration::from_secs(10);
    for by in [
        CountEventsBy::Kind,
        CountEventsBy::Process,
        CountEventsBy::Host,
    ] {
        let value = |row: &EventRow| match by {
            CountEventsBy::Kind => row.event.kind.as_str().to_owned(),
            CountEventsBy::Process => row.event.process.to_string(),
            CountEventsBy::Host => row.host.0.to_string(),
        };
        let mut meant = std::collections::BTreeMap::<(i64, String), u64>::new();
        for row in &matching {
            let at = row.event.at.0 / 10_000 * 10_000;
            *meant.entry((at, value(row))).or_default() += 1;
        }
        let counted = store.event_counts(&page, bucket, by, 100).await.unwrap();
        let counted: std::collections::BTreeMap<_, _> = counted
            .into_iter()
            .map(|one| ((one.at.0, one.value), one.count))
            .collect();
        assert_eq!(counted, meant, "{by:?}");
        let top = store.event_counts(&page, bucket, by, 1).await.unwrap();
        let mut values: Vec<_> = top.iter().map(|one| &one.value).collect();
        values.dedup();
        assert_eq!(values.len(), 1, "{by:?}");
    }
}
