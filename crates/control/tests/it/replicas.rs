//! Two replicas on one store: what one acknowledged, the other comes to show, and neither overwrites the other.

use std::time::Duration;

use control::Mode;

use crate::rig::Rig;

async fn shows(rig: &Rig, n_processes: usize) {
    let showing = async {
        while rig.control.fleet().n_processes() != n_processes {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), showing)
        .await
        .expect("the other replica follows");
}

#[tokio::test]
async fn what_one_replica_commits_the_other_shows() {
    let (one, two) = Rig::pair().await;
    one.register("ns/p", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    shows(&two, 2).await;
    two.register("ns/q", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    shows(&one, 3).await;
}

#[tokio::test]
async fn a_plan_against_an_old_picture_is_made_again() {
    let (one, two) = Rig::pair().await;
    // Both at once and many times: each commit of one is news to the other in the middle of its own.
    let hosts = |n: usize| [format!("10.0.1.{n}"), format!("10.0.2.{n}")];
    for n in 0..20 {
        let [ours, theirs] = hosts(n);
        let (ours, theirs) = ([ours.as_str(), "10.0.0.1"], [theirs.as_str(), "10.0.0.1"]);
        let (a, b) = tokio::join!(
            one.register("ns/p", &ours, "./one", Mode::Register),
            two.register("ns/p", &theirs, "./two", Mode::Register),
        );
        assert_eq!((a[0], b[0]), (0, 0));
        assert_ne!(
            (a[1], b[1]),
            (0, 0),
            "the shared host belongs to one spec only"
        );
    }
    shows(&one, 41).await;
    shows(&two, 41).await;
    assert_eq!(
        one.control.fleet().revision(),
        two.control.fleet().revision()
    );
}
