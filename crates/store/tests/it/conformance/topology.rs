//! The process view: large tables, and ids with gaps.

use model::change::{Changes, Revision};
use model::topology::{BkProcessId, ServiceId, TopologyChanges};

use crate::sample;
use crate::test_database::TestDatabase;

pub async fn ids_of_the_view_may_have_gaps_of_any_size(database: &TestDatabase) {
    let store = database.open().await;
    // Several batches of each, from the smallest id to the largest.
    let ids = || (0..40_000).map(|n| n * 100_000).chain([u32::MAX]);
    let changes = Changes {
        topology: TopologyChanges {
            services: ids().map(sample::service).collect(),
            processes: ids().map(sample::view_process).collect(),
            programs: ids().step_by(100).map(sample::program).collect(),
            ..TopologyChanges::default()
        },
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    assert!(store.load().await.unwrap().changes == changes);
    let (_, since) = store.changes_since(Revision(0)).await.unwrap();
    assert!(since == changes);

    let gone = Changes {
        topology: TopologyChanges {
            services_gone: ids().skip(1).map(ServiceId).collect(),
            processes_gone: ids().skip(1).map(BkProcessId).collect(),
            ..TopologyChanges::default()
        },
        ..Changes::default()
    };
    store.commit(Revision(1), &gone).await.unwrap();
    let (_, since) = store.changes_since(Revision(1)).await.unwrap();
    assert!(since == gone);
    let left = store.load().await.unwrap().changes.topology;
    assert_eq!(left.services, [sample::service(0)]);
    assert_eq!(left.processes, [sample::view_process(0)]);

    store
        .purge(model::UnixMillis::NEVER, Revision(2))
        .await
        .unwrap();
    assert!(store.load().await.unwrap().changes.topology == left);
}

pub async fn changes_of_many_commits_come_in_their_order(database: &TestDatabase) {
    let store = database.open().await;
    let process = |n: u32, ordinal: u32| {
        let mut process = sample::view_process(n);
        process.ordinal = ordinal;
        process
    };
    for n in 0..5 {
        let changes = Changes {
            topology: TopologyChanges {
                processes: (0..5000).map(|id| process(id * 5 + n, n)).collect(),
                ..TopologyChanges::default()
            },
            ..Changes::default()
        };
        store.commit(Revision(n.into()), &changes).await.unwrap();
    }
    let (_, since) = store.changes_since(Revision(1)).await.unwrap();
    let expected = (1..5).flat_map(|n| (0..5000).map(move |id| process(id * 5 + n, n)));
    assert!(since.topology.processes == Vec::from_iter(expected));
}
