//! Hosts that are removed, and that come back.

use std::time::Duration;

use control::{
    Apply, Certificate, ControlError, HostRemoval, Issued, Mode, NewJoinToken, RemoveHosts,
    TimelineFilter,
};
use model::access::{Caller, Rights};
use model::scope::{Scope, Selection, ViewFilter};
use model::topology::{BusinessId, Origin};
use model::{Host, Op, UnixMillis};
use testing::wait::until_async as until;
use testkit::FakeAgent;
use wire::DownKind;

use crate::rig::{Rig, START, asked, full};
use crate::topology::{facts, program};

const HOST: &str = "0:10.0.0.1";
const OTHER: &str = "0:10.0.0.2";
const DAY: Duration = Duration::from_secs(24 * 3600);

fn host(text: &str) -> Host {
    text.parse().unwrap()
}

fn these(hosts: &[&str]) -> RemoveHosts {
    RemoveHosts {
        hosts: Some(asked(hosts)),
        ..RemoveHosts::default()
    }
}

fn gone_for(time: Duration) -> RemoveHosts {
    RemoveHosts {
        gone_for: Some(time),
        ..RemoveHosts::default()
    }
}

fn addresses(removals: &[HostRemoval]) -> Vec<String> {
    removals.iter().map(|one| one.host.to_string()).collect()
}

async fn remove(rig: &Rig, request: RemoveHosts) -> Result<Vec<HostRemoval>, ControlError> {
    rig.control.remove_hosts(&rig.caller, request).await
}

/// Why the server ends the session.
async fn bye(agent: &FakeAgent) -> String {
    loop {
        for kind in agent.received().await {
            if let DownKind::Bye(bye) = kind {
                assert!(bye.permanent && bye.rejoin, "{bye:?}");
                return bye.reason;
            }
        }
    }
}

fn certificate_is_refused(rig: &Rig) -> String {
    let certificate = Certificate {
        host: host(HOST),
        issued: Issued::At(UnixMillis(START)),
    };
    let refused = rig.control.enrolment().check_certificate(certificate);
    let refused = refused.unwrap_err();
    assert!(refused.permanent && refused.rejoin, "{refused:?}");
    refused.reason
}

fn is_known(rig: &Rig, text: &str) -> bool {
    rig.control.inspect_fleet().find_host(&host(text)).is_some()
}

#[tokio::test]
async fn a_removed_host_is_gone_with_all_that_is_its_own() {
    let rig = Rig::new().await;
    let agent = rig.agent(HOST).await;
    rig.register("web/a", &[HOST, OTHER], "./a", Mode::Register)
        .await;
    let bound = NewJoinToken {
        host: Some(host(HOST)),
        ..NewJoinToken::default()
    };
    let access = rig.control.access();
    let (token, _) = access.create_join_token(&rig.caller, bound).await.unwrap();
    let task = rig.operate("web/a", Op::Start, &[HOST]).await;
    assert_eq!(rig.codes(task).await, [115]);
    drop(agent);
    rig.advance(Duration::from_secs(1));

    let removed = remove(&rig, these(&[HOST])).await.unwrap();
    assert_eq!(addresses(&removed), [HOST]);
    assert_eq!(removed[0].n_processes, 1);
    assert!(!is_known(&rig, HOST) && is_known(&rig, OTHER));
    assert_eq!(rig.control.inspect_fleet().n_processes(), 1);
    // What was under way ends, with the reason.
    assert_eq!(rig.ended(task).await, [117]);
    let view = rig.control.operations().task(&rig.caller, task).await;
    let view = view.unwrap();
    let target = &view.targets[0];
    let outcome = target.outcome.as_ref().unwrap();
    assert!(outcome.message.contains("was removed"), "{outcome:?}");
    assert_eq!(target.host, Some(host(HOST)), "history names it");
    let tokens = access.join_tokens(&rig.caller).unwrap();
    assert!(tokens.iter().all(|known| known.id != token.id));
    let reason = certificate_is_refused(&rig);
    assert!(reason.contains("was removed"), "{reason}");
    assert!(reason.contains("muster token create --host 0:10.0.0.1"));
    let again = remove(&rig, these(&[HOST])).await.unwrap_err();
    assert!(matches!(again, ControlError::NotFound(_)), "{again}");
    // An operation finds nothing, as on any unknown host.
    let task = rig.operate("web/a", Op::Start, &[HOST]).await;
    assert_eq!(rig.ended(task).await, [851]);
}

#[tokio::test]
async fn a_host_that_comes_back_is_a_new_one_and_keeps_its_history() {
    let rig = Rig::new().await;
    drop(rig.agent(HOST).await);
    rig.register("web/a", &[HOST], "./a", Mode::Register).await;
    let before = rig.control.inspect_fleet().host_id(&host(HOST)).unwrap();
    remove(&rig, these(&[HOST])).await.unwrap();
    let rig = rig.restarted().await;
    assert!(!is_known(&rig, HOST));
    assert!(certificate_is_refused(&rig).contains("was removed"));

    rig.advance(Duration::from_secs(1));
    let agent = rig.agent(HOST).await;
    let after = rig.control.inspect_fleet().host_id(&host(HOST)).unwrap();
    assert_ne!(
        before, after,
        "events of the old host are not those of the new one"
    );
    assert_eq!(rig.control.inspect_fleet().processes_of(after).count(), 0);
    // The old certificate stays invalid.
    certificate_is_refused(&rig);
    rig.register("web/a", &[HOST], "./a", Mode::Register).await;
    for process in [None, Some(full("web/a"))] {
        let filter = TimelineFilter {
            limit: 100,
            host: Some(host(HOST)),
            process,
            ..TimelineFilter::default()
        };
        let view = rig.control.events().timeline(&rig.caller, filter).await;
        let entries = view.unwrap().entries;
        assert!(entries.iter().all(|entry| entry.host == Some(host(HOST))));
        let specs: Vec<&str> = entries
            .iter()
            .map(|entry| entry.code.as_str())
            .filter(|code| code.ends_with("registered"))
            .collect();
        assert_eq!(specs, ["registered", "unregistered", "registered"]);
    }
    drop(agent);
}

#[tokio::test]
async fn a_connected_host_needs_force_and_its_session_ends_at_every_replica() {
    let (one, two) = Rig::pair().await;
    let agent = one.agent(HOST).await;
    agent.received().await;
    one.register("web/a", &[HOST], "./a", Mode::Register).await;
    two.control.replicas().catch_up().await;
    until("the other replica to see the agent", || {
        let fleet = two.control.inspect_fleet();
        fleet.find_host(&host(HOST))?.link.is_up().then_some(())
    })
    .await;
    let refused = remove(&two, these(&[HOST])).await.unwrap_err();
    assert!(matches!(refused, ControlError::Conflict(_)), "{refused}");
    assert!(refused.to_string().contains("force"), "{refused}");
    assert!(is_known(&two, HOST));

    let force = RemoveHosts {
        force: true,
        ..these(&[HOST])
    };
    remove(&two, force).await.unwrap();
    let reason = bye(&agent).await;
    assert!(reason.contains("was removed"), "{reason}");
    one.control.replicas().catch_up().await;
    for rig in [&one, &two] {
        assert!(!is_known(rig, HOST));
        assert_eq!(rig.control.inspect_fleet().n_processes(), 0);
        assert!(certificate_is_refused(rig).contains("was removed"));
    }
    drop(agent);
    // Late messages of the session bring nothing back.
    one.advance(Duration::from_secs(1));
    two.advance(Duration::from_secs(1));
    let _agent = two.agent(HOST).await;
    one.control.replicas().catch_up().await;
    let id = |rig: &Rig| rig.control.inspect_fleet().host_id(&host(HOST));
    let (there, here) = (id(&one), id(&two));
    assert!(there.is_some() && there == here, "{there:?} {here:?}");
}

#[tokio::test]
async fn hosts_are_chosen_by_how_long_they_are_gone() {
    let rig = Rig::new().await;
    drop(rig.agent(HOST).await);
    // Named by a registration: it never had an agent.
    rig.register("web/a", &["10.0.0.9"], "./a", Mode::Register)
        .await;
    rig.advance(5 * DAY);
    drop(rig.agent(OTHER).await);
    rig.advance(5 * DAY);
    let up = rig.agent("10.0.0.3").await;
    let planned = |request: RemoveHosts| rig.control.plan_removal(&rig.caller, &request);
    assert_eq!(addresses(&planned(gone_for(7 * DAY)).unwrap()), [HOST]);
    let both = planned(gone_for(DAY)).unwrap();
    assert_eq!(addresses(&both), [HOST, OTHER]);
    let of_these = RemoveHosts {
        gone_for: Some(7 * DAY),
        ..these(&[OTHER, HOST, HOST])
    };
    assert_eq!(addresses(&planned(of_these).unwrap()), [HOST]);
    assert!(matches!(
        planned(RemoveHosts::default()),
        Err(ControlError::Invalid(_))
    ));

    let expecting = RemoveHosts {
        expect_count: Some(1),
        ..gone_for(DAY)
    };
    let changed = remove(&rig, expecting).await.unwrap_err();
    assert!(
        matches!(
            changed,
            ControlError::HostCountChanged {
                expected: 1,
                count: 2
            }
        ),
        "{changed}"
    );
    let none = remove(&rig, gone_for(100 * DAY)).await.unwrap_err();
    assert!(matches!(none, ControlError::NotFound(_)), "{none}");
    let removed = remove(&rig, gone_for(DAY)).await.unwrap();
    assert_eq!(addresses(&removed), [HOST, OTHER]);
    for (text, known) in [
        (HOST, false),
        (OTHER, false),
        ("10.0.0.3", true),
        ("10.0.0.9", true),
    ] {
        assert_eq!(is_known(&rig, text), known, "{text}");
    }
    drop(up);
}

#[tokio::test]
async fn all_or_nothing_of_the_named_hosts_is_removed() {
    let rig = Rig::new().await;
    drop(rig.agent(HOST).await);
    for (hosts, is_invalid) in [([HOST, "10.0.0.77"], false), ([HOST, "nowhere"], true)] {
        let refused = remove(&rig, these(&hosts)).await.unwrap_err();
        assert_eq!(
            matches!(refused, ControlError::Invalid(_)),
            is_invalid,
            "{refused}"
        );
        assert!(is_known(&rig, HOST));
    }
}

#[tokio::test]
async fn the_process_view_forgets_a_removed_host_until_an_import_lists_it() {
    let rig = Rig::new().await;
    let business = BusinessId(2);
    let shown = || {
        let fleet = rig.control.inspect_fleet();
        let filter = ViewFilter::new(business, Selection::Scope(Scope::default()));
        let page = fleet.view_page(&filter, 0, 100);
        let rows = page.rows.iter();
        let mut hosts: Vec<String> = rows.map(|row| row.machine.host.to_string()).collect();
        hosts.sort_unstable();
        hosts
    };
    let import = async || {
        let facts = facts(&["10.0.0.1", "10.0.0.2"], &program("gse", 2));
        let topology = rig.control.topology();
        let imported = topology.import(&rig.caller, facts, Origin::Imported, Apply::Really);
        imported.await.unwrap()
    };
    import().await;
    assert_eq!(shown(), [HOST, OTHER]);
    let removed = remove(&rig, these(&[HOST])).await.unwrap();
    assert_eq!(removed[0].n_processes, 2);
    assert_eq!(removed[0].businesses, [(business, "game".to_owned())]);
    assert_eq!(shown(), [OTHER]);
    {
        let fleet = rig.control.inspect_fleet();
        assert_eq!(fleet.n_processes(), 2);
        assert_eq!(fleet.view().machines().count(), 1);
        assert_eq!(fleet.view().n_processes(), 1);
        assert!(fleet.view().surplus().is_empty());
    }
    let difference = import().await;
    assert_eq!(difference.instances.new, 2, "{difference:?}");
    assert_eq!(shown(), [HOST, OTHER]);
    assert!(is_known(&rig, HOST));

    // With its last host the business keeps its sets and modules, which belong to the source.
    remove(&rig, these(&[HOST, OTHER])).await.unwrap();
    assert!(shown().is_empty());
    let rig = rig.restarted().await;
    let fleet = rig.control.inspect_fleet();
    assert_eq!((fleet.n_processes(), fleet.view().n_processes()), (0, 0));
    assert!(fleet.view().business(business).is_some());
}

#[tokio::test]
async fn only_an_admin_removes_hosts() {
    let rig = Rig::new().await;
    drop(rig.agent(HOST).await);
    let caller = Caller {
        app_rights: Rights::from_grants(&[]).into(),
        ..Caller::system()
    };
    let refused = rig.control.remove_hosts(&caller, these(&[HOST])).await;
    assert!(
        matches!(refused, Err(ControlError::Forbidden(_))),
        "{refused:?}"
    );
    assert!(is_known(&rig, HOST));
}
