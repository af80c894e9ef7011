//! Acknowledged commits are durable: a process that commits is killed with SIGKILL repeatedly.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use model::change::Revision;

use crate::follower_state::FollowerState;
use crate::test_database::TestDatabase;

const N_LIVES: u64 = 5;
const N_ACKNOWLEDGED: u64 = 20;

pub async fn acknowledged_commits_survive_a_kill(database: &TestDatabase) {
    let mut acknowledged = 0;
    for _ in 0..N_LIVES {
        let last = commit_and_die(&database.url(), N_ACKNOWLEDGED);
        assert!(last >= acknowledged + N_ACKNOWLEDGED);
        acknowledged = last;
        let store = database.open().await;
        let loaded = store.load().await.unwrap();
        // The commit under way may have happened, too: completely or not at all.
        let head = loaded.revision.0;
        assert!(
            head == acknowledged || head == acknowledged + 1,
            "{head} after {acknowledged}"
        );
        let ids = FollowerState::of(&loaded.changes).process_ids();
        assert_eq!(ids, Vec::from_iter((0..head).flat_map(ids_of)));
        let (_, changes) = store.changes_since(Revision(head - 1)).await.unwrap();
        assert_eq!(changes.processes.len(), ids_of(head - 1).count());
        store.close().await;
    }
}

/// The processes of a commit: enough for several pages.
fn ids_of(planned_at: u64) -> std::ops::Range<u32> {
    planned_at as u32 * 300..(planned_at as u32 + 1) * 300
}

/// Runs the example `commit_until_killed`; answers the last revision that it printed.
fn commit_and_die(url: &str, n_acknowledged: u64) -> u64 {
    let test = std::env::current_exe().unwrap();
    let built = test
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/commit_until_killed");
    let mut child = Command::new(built)
        .arg(url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut revisions = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        revisions.extend(
            line.strip_prefix("acknowledged ")
                .map(|n| n.parse::<u64>().unwrap()),
        );
        if revisions.len() as u64 == n_acknowledged {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    let gap_free = revisions.windows(2).all(|pair| pair[1] == pair[0] + 1);
    assert!(gap_free, "{revisions:?}");
    *revisions.last().expect("it acknowledged something")
}
