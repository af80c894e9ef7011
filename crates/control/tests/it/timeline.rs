//! The timeline, why, and states over time; and changes for watchers of several replicas.

use std::time::Duration;

use control::{ChangeEvent, Mode, Registered, TimelineFilter, TimelineWord};
use model::{Op, ProcessState};

use crate::rig::{Rig, full};

fn of(process: Option<&str>, host: Option<&str>) -> TimelineFilter {
    TimelineFilter {
        limit: 100,
        process: process.map(full),
        host: host.map(|host| host.parse().unwrap()),
        ..TimelineFilter::default()
    }
}

async fn codes(rig: &Rig, filter: TimelineFilter) -> Vec<String> {
    let view = rig.control.events().timeline(&rig.caller, filter).await;
    let entries = view.unwrap().entries.into_iter();
    entries.map(|entry| entry.code).collect()
}

/// Waits until the timeline is as it should be.
async fn until(rig: &Rig, filter: TimelineFilter, wanted: &[&str]) {
    let waiting = async {
        while codes(rig, filter.clone()).await != wanted {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    let now = codes(rig, filter).await;
    assert!(in_time.is_ok(), "{now:?} instead of {wanted:?}");
}

#[tokio::test]
async fn a_request_for_many_hosts_is_one_entry_that_each_of_them_shows() {
    let rig = Rig::new().await;
    let hosts = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
    rig.register("web/a", &hosts, "./a", Mode::Register).await;
    rig.register("web/a", &hosts[..1], "./b", Mode::Update)
        .await;
    rig.advance(Duration::from_secs(1));
    rig.operate("web/a", Op::Stop, &hosts[1..]).await;
    let all = rig
        .control
        .events()
        .timeline(&rig.caller, of(Some("web/a"), None))
        .await;
    let all = all.unwrap().entries;
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!((all[0].code.as_str(), all[0].host), ("stop", None));
    assert_eq!(all[0].params["hosts"], "2");
    assert_eq!(all[0].text, "stop was requested on 2 hosts by system");
    for (host, wanted) in [
        ("10.0.0.1", vec!["updated", "registered"]),
        ("10.0.0.2", vec!["stop", "registered"]),
    ] {
        for process in [Some("web/a"), None] {
            assert_eq!(codes(&rig, of(process, Some(host))).await, wanted, "{host}");
        }
    }
    assert_eq!(codes(&rig, of(Some("web/b"), None)).await, [""; 0]);
    // A query changes nothing, and is nothing that happened.
    rig.operate("web/a", Op::Query, &hosts).await;
    let operations = TimelineFilter {
        kinds: Some(vec![TimelineWord::Operation]),
        ..of(Some("web/a"), None)
    };
    assert_eq!(codes(&rig, operations.clone()).await, ["stop"]);
    let rig = rig.restarted().await;
    assert_eq!(codes(&rig, operations).await, ["stop"]);
}

#[tokio::test]
async fn an_agent_that_is_away_for_long_is_recorded() {
    let rig = Rig::new().await;
    let host = Some("10.0.0.1");
    let agent = rig.agent("10.0.0.1").await;
    until(&rig, of(None, host), &["agent_connected"]).await;
    drop(agent);
    rig.advance(Duration::from_secs(5));
    let agent = rig.connect("10.0.0.1".parse().unwrap(), 0);
    drop(agent);
    rig.advance(Duration::from_secs(20));
    until(&rig, of(None, host), &["agent_away", "agent_connected"]).await;
    let _agent = rig.connect("10.0.0.1".parse().unwrap(), 0);
    let both = ["agent_connected", "agent_away", "agent_connected"];
    until(&rig, of(None, host), &both).await;
    let view = rig
        .control
        .events()
        .timeline(&rig.caller, of(None, host))
        .await;
    let back = &view.unwrap().entries[0];
    assert_eq!(back.params["away_secs"], "20");
    assert_eq!(back.text, "the agent connected after 20 s");
}

#[tokio::test]
async fn why_needs_the_host_where_there_are_several() {
    let rig = Rig::new().await;
    rig.register("web/a", &["10.0.0.1"], "./a", Mode::Register)
        .await;
    let why = rig
        .control
        .why(&rig.caller, &full("web/a"), None)
        .await
        .unwrap();
    assert_eq!(
        (why.state, why.reason.code),
        (ProcessState::Unknown, "no_agent".into())
    );
    rig.register("web/a", &["10.0.0.2"], "./a", Mode::Register)
        .await;
    let refused = rig
        .control
        .why(&rig.caller, &full("web/a"), None)
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("web/a is on 2 hosts"),
        "{refused}"
    );
    let host = "10.0.0.2".parse().ok();
    assert_eq!(
        rig.control
            .why(&rig.caller, &full("web/a"), host)
            .await
            .unwrap()
            .host,
        host.unwrap()
    );
}

#[tokio::test]
async fn states_over_time_survive_a_restart() {
    let rig = Rig::new().await;
    rig.register("web/a", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    rig.advance(Duration::from_secs(300));
    let unknown = ProcessState::ALL.len() - 1;
    let last = |rig: &Rig| {
        let registry = rig.control.registry();
        let hour = Duration::from_secs(3600);
        let counts = registry.states_over_time(&rig.caller, hour).unwrap();
        assert_eq!(counts.states[unknown].len(), 12);
        *counts.states[unknown].last().unwrap()
    };
    let counted = || last(&rig) == Some(2);
    testing::wait::until_async("the step is counted", counted).await;
    let rig = rig.restarted().await;
    assert_eq!(last(&rig), Some(2));
}

#[tokio::test]
async fn watchers_of_each_replica_are_told_of_registrations_and_resume_only_there() {
    let (one, two) = Rig::pair().await;
    let mut told = two.control.events().watch();
    one.register("web/a", &["10.0.0.1", "10.0.0.2"], "./a", Mode::Register)
        .await;
    let change = loop {
        let change = told.recv().await.unwrap();
        if let ChangeEvent::Registration { .. } = &change.event {
            break change;
        }
    };
    let ChangeEvent::Registration {
        process,
        n_hosts,
        what,
    } = &change.event
    else {
        unreachable!("checked above");
    };
    assert_eq!(
        (process, *n_hosts, *what),
        (&full("web/a"), 2, Registered::New)
    );
    let place = told.place();
    drop(told);
    assert!(two.control.events().watch_since(place).1);
    assert!(!one.control.events().watch_since(place).1);
}
