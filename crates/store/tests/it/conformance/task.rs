//! Tasks: loading, counts, lists.

use std::sync::Arc;

use model::change::{Changes, Revision};
use model::{Code, Namespace, Op, TaskId};
use store::{Store, TaskPage, TaskReader, TaskSummary};

use crate::sample;
use crate::test_database::TestDatabase;

/// Commits one after the other onto a new store.
async fn commit_all(store: &Store, all: &[Changes]) {
    for changes in all {
        let head = store.head().await.unwrap();
        store.commit(head, changes).await.unwrap();
    }
}

pub async fn an_open_task_is_loaded_with_all_its_targets_and_outcomes(database: &TestDatabase) {
    let store = database.open().await;
    commit_all(
        &store,
        &[sample::asked(1, 5), sample::ended(1, 1..4, Code::OK)],
    )
    .await;
    let mut expected = sample::asked(1, 5);
    expected.outcomes = sample::ended(1, 1..4, Code::OK).outcomes;
    assert_eq!(store.load().await.unwrap().changes, expected);
}

pub async fn an_ended_task_is_not_loaded_but_still_readable(database: &TestDatabase) {
    let store = database.open().await;
    let both_at_once = Changes {
        outcomes: sample::ended(2, 0..3, Code::INVALID).outcomes,
        ..sample::asked(2, 3)
    };
    let steps = [
        sample::asked(1, 5),
        sample::ended(1, 0..2, Code::OK),
        sample::ended(1, 2..5, Code::OK),
        both_at_once,
    ];
    commit_all(&store, &steps).await;
    assert_eq!(store.load().await.unwrap().changes, Changes::default());
    let task = store.task(sample::task_id(2)).await.unwrap().unwrap();
    assert!(task.targets.iter().all(|(_, outcome)| outcome.is_some()));
}

pub async fn a_task_is_read_in_the_order_of_its_targets(database: &TestDatabase) {
    let store = database.open().await;
    let mut asked = sample::asked(1, 3000);
    asked.targets.reverse();
    commit_all(
        &store,
        &[asked, sample::asked(2, 2), sample::ended(1, 7..8, Code::OK)],
    )
    .await;
    let task = store.task(sample::task_id(1)).await.unwrap().unwrap();
    assert_eq!(task.task, sample::task(1));
    for (ordinal, (target, outcome)) in (0..).zip(&task.targets) {
        assert_eq!(*target, sample::target(1, ordinal));
        let expected = (ordinal == 7).then(|| sample::outcome(1, 7, Code::OK).outcome);
        assert_eq!(*outcome, expected);
    }
    assert_eq!(task.targets.len(), 3000);
    assert_eq!(store.task(sample::task_id(3)).await.unwrap(), None);
}

pub async fn a_later_outcome_replaces_an_earlier_one_and_counts_once(database: &TestDatabase) {
    let store = database.open().await;
    let steps = [
        sample::asked(1, 4),
        sample::ended(1, 0..2, Code::TERMINATED),
        sample::ended(1, 1..3, Code::OK),
        sample::ended(1, 1..2, Code::OK),
        sample::asked(1, 4),
    ];
    commit_all(&store, &steps).await;
    assert_eq!(counts(&store).await, [(4, 3, 2)]);
    let task = store.task(sample::task_id(1)).await.unwrap().unwrap();
    let codes = task
        .targets
        .iter()
        .map(|(_, outcome)| Some(outcome.as_ref()?.code));
    let expected = [Some(Code::TERMINATED), Some(Code::OK), Some(Code::OK), None];
    assert_eq!(Vec::from_iter(codes), expected);
}

async fn counts(store: &Store) -> Vec<(u32, u32, u32)> {
    let tasks = store.tasks(&sample::task_page(10)).await.unwrap();
    tasks
        .iter()
        .map(|task| (task.n_targets, task.n_ended, task.n_ok))
        .collect()
}

pub async fn an_outcome_without_a_target_is_dropped(database: &TestDatabase) {
    let store = database.open().await;
    let strangers = Changes {
        outcomes: [
            sample::ended(1, 0..5, Code::OK).outcomes,
            sample::ended(9, 0..2000, Code::OK).outcomes,
        ]
        .concat(),
        ..Changes::default()
    };
    commit_all(&store, &[sample::asked(1, 3), strangers]).await;
    assert_eq!(counts(&store).await, [(3, 3, 3)]);
    let (_, changes) = store.changes_since(Revision(1)).await.unwrap();
    assert_eq!(changes, sample::ended(1, 0..3, Code::OK));
}

pub async fn outcomes_of_many_tasks_in_one_commit_are_counted_separately(database: &TestDatabase) {
    let store = database.open().await;
    for n in 1..=1500 {
        commit_all(&store, &[sample::asked(n, 2)]).await;
    }
    let outcomes = (1..=1500).map(|n| sample::outcome(n, n % 2, Code(n as i32 % 3)));
    let ended = Changes {
        outcomes: outcomes.collect(),
        ..Changes::default()
    };
    commit_all(&store, &[ended]).await;
    let tasks = store.tasks(&sample::task_page(2000)).await.unwrap();
    for (n, task) in (1..=1500).rev().zip(&tasks) {
        assert_eq!(task.task, sample::task(n));
        let expected = (2, 1, u32::from(n % 3 == 0));
        assert_eq!((task.n_targets, task.n_ended, task.n_ok), expected);
    }
    assert_eq!(tasks.len(), 1500);
}

pub async fn tasks_are_listed_newest_first_in_pages(database: &TestDatabase) {
    let store = database.open().await;
    for n in [3, 1, 5, 2, 4] {
        commit_all(&store, &[sample::asked(n, n)]).await;
    }
    let mut before = None;
    let mut seen = Vec::new();
    loop {
        let page = store
            .tasks(&TaskPage {
                before,
                ..sample::task_page(2)
            })
            .await
            .unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.task.id);
        seen.extend(page);
    }
    let expected = [5, 4, 3, 2, 1].map(|n| TaskSummary {
        task: sample::task(n),
        n_targets: n,
        n_ended: 0,
        n_ok: 0,
        // The sample's targets differ in their operation, and each four have one process.
        op: (n == 1).then_some(sample::target(n, 0).op),
        process: "gse/p0".into(),
        n_processes: n.div_ceil(4),
    });
    assert_eq!(seen, expected);
}

/// A task with one target on each of these processes.
fn task_on(n: u32, processes: &[&str], op: Op, user: &str) -> Changes {
    let mut changes = sample::asked(n, processes.len() as u32);
    changes.tasks[0].user = user.to_owned();
    for (target, process) in changes.targets.iter_mut().zip(processes) {
        target.process = Arc::new(process.parse().unwrap());
        target.op = op;
    }
    changes
}

async fn found(store: &Store, page: TaskPage) -> Vec<TaskId> {
    let tasks = store.tasks(&page).await.unwrap();
    tasks.into_iter().map(|task| task.task.id).collect()
}

fn ids(numbers: &[u32]) -> Vec<TaskId> {
    numbers.iter().map(|n| sample::task_id(*n)).collect()
}

pub async fn tasks_are_found_by_process_operation_caller_state_and_time(database: &TestDatabase) {
    let store = database.open().await;
    let steps = [
        task_on(1, &["web/a", "web/b"], Op::Start, "ann"),
        task_on(2, &["web/b", "db/b"], Op::Stop, "bob"),
        task_on(3, &["web2/b"], Op::Stop, "ann"),
        sample::ended(2, 0..2, Code::OK),
        // Written again, as when a commit is repeated.
        task_on(3, &["web2/b"], Op::Stop, "ann"),
    ];
    commit_all(&store, &steps).await;
    let all = || sample::task_page(10);
    let namespace = |name: &str| Some(vec![Namespace::parse(name).unwrap()]);
    let process = |name: &str| Some(name.parse().unwrap());
    let user = |name: &str| Some(name.to_owned());
    for (page, expected) in [
        (all(), &[3, 2, 1][..]),
        (
            TaskPage {
                namespaces: namespace("web"),
                ..all()
            },
            &[2, 1],
        ),
        (
            TaskPage {
                namespaces: namespace("none"),
                ..all()
            },
            &[],
        ),
        (
            TaskPage {
                process: process("web/b"),
                ..all()
            },
            &[2, 1],
        ),
        (
            TaskPage {
                process: process("db/b"),
                ..all()
            },
            &[2],
        ),
        (
            TaskPage {
                op: Some(Op::Stop),
                ..all()
            },
            &[3, 2],
        ),
        (
            TaskPage {
                user: user("ann"),
                ..all()
            },
            &[3, 1],
        ),
        (
            TaskPage {
                app: user("other"),
                ..all()
            },
            &[],
        ),
        (
            TaskPage {
                has_ended: Some(true),
                ..all()
            },
            &[2],
        ),
        (
            TaskPage {
                has_ended: Some(false),
                ..all()
            },
            &[3, 1],
        ),
        (
            TaskPage {
                since: Some(sample::moment(2)),
                ..all()
            },
            &[3, 2],
        ),
        (
            TaskPage {
                until: Some(sample::moment(2)),
                ..all()
            },
            &[1],
        ),
        (
            TaskPage {
                process: process("web/b"),
                op: Some(Op::Start),
                user: user("ann"),
                ..all()
            },
            &[1],
        ),
        (
            TaskPage {
                before: Some(sample::task_id(3)),
                limit: 1,
                ..all()
            },
            &[2],
        ),
    ] {
        assert_eq!(found(&store, page.clone()).await, ids(expected), "{page:?}");
    }
    // Purged tasks are found by nothing.
    store.purge(sample::moment(99), Revision(0)).await.unwrap();
    let page = TaskPage {
        process: process("db/b"),
        ..all()
    };
    assert_eq!(found(&store, page).await, []);
}

pub async fn a_reader_of_some_namespaces_sees_tasks_within_them_and_its_own(
    database: &TestDatabase,
) {
    let store = database.open().await;
    let steps = [
        task_on(1, &["web/a"], Op::Start, "bob"),
        task_on(2, &["web/a", "db/a"], Op::Start, "bob"),
        task_on(3, &["db/a"], Op::Start, "ann"),
        task_on(4, &["db/a"], Op::Start, "bob"),
    ];
    commit_all(&store, &steps).await;
    let seen_by = async |namespaces: &[&str], user: &str| {
        let namespaces = namespaces
            .iter()
            .map(|name| Namespace::parse(name).unwrap());
        let reader = TaskReader {
            namespaces: namespaces.collect(),
            app: "app".into(),
            user: user.into(),
        };
        let page = TaskPage {
            visible_to: Some(reader),
            ..sample::task_page(10)
        };
        found(&store, page).await
    };
    assert_eq!(seen_by(&["web"], "ann").await, ids(&[3, 1]));
    assert_eq!(seen_by(&["web", "db"], "eve").await, ids(&[4, 3, 2, 1]));
    assert_eq!(seen_by(&[], "ann").await, ids(&[3]));
    assert_eq!(seen_by(&[], "eve").await, []);
}
