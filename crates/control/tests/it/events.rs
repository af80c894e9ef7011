//! Events: listed to those who may see them, and handed to webhooks in order, each at least once.

use control::{AuditFilter, ControlError, EventFilter, Happening};
use model::access::Caller;
use model::event::{Event, EventKind};
use model::status::Exit;
use model::webhook::{Webhook, WebhookUrl};
use model::{Namespace, UnixMillis};
use testkit::FakeAgent;
use wire::{DownKind, EventFrame};

use crate::access::{operator_of, trail};
use crate::rig::{Rig, START, full};

fn event(name: &str, kind: EventKind, at: i64) -> Event {
    Event {
        at: UnixMillis(START + at),
        process: full(name),
        kind,
        reason: format!("{name} at {at}"),
        exit: Some(Exit::Code(1)),
        report_id: 7,
    }
}

/// Sends events, numbered from `first`, and waits until all of them are on record.
async fn happen(rig: &Rig, agent: &FakeAgent, first: u64, events: &[Event]) {
    let count = || async {
        let filter = EventFilter {
            limit: 1000,
            ..EventFilter::default()
        };
        rig.control.events(&rig.caller, filter).await.unwrap().len()
    };
    let mut changed = rig.control.deliveries_changed();
    let wanted = count().await + events.len();
    for (seq, event) in (first..).zip(events) {
        let frame = EventFrame::new(seq, event);
        agent.session.take(frame.into()).await.unwrap();
    }
    while count().await < wanted {
        changed.changed().await.unwrap();
    }
}

async fn reasons(rig: &Rig, caller: &Caller, filter: EventFilter) -> Vec<String> {
    let filter = EventFilter {
        limit: 10,
        ..filter
    };
    let events = rig.control.events(caller, filter).await.unwrap();
    events.into_iter().map(|view| view.event.reason).collect()
}

fn namespaces(names: &[&str]) -> Option<Vec<Namespace>> {
    let parse = |name: &&str| Namespace::parse(name).unwrap();
    Some(names.iter().map(parse).collect())
}

async fn webhook(
    rig: &Rig,
    namespaces: Option<Vec<Namespace>>,
    kinds: Option<Vec<EventKind>>,
) -> Webhook {
    let url = WebhookUrl::parse("http://127.0.0.1:1/").unwrap();
    rig.control
        .create_webhook(&rig.caller, url, namespaces, kinds, None)
        .await
        .unwrap()
}

async fn next(rig: &Rig, webhook: &Webhook) -> (Vec<String>, u64) {
    let next = rig.control.next_deliveries(webhook).await.unwrap().unwrap();
    let reasons = next.events.into_iter().map(|view| view.event.reason);
    (reasons.collect(), next.through)
}

#[tokio::test]
async fn a_caller_sees_the_events_of_its_namespaces() {
    let rig = Rig::new().await;
    let (one, two) = (rig.agent("10.0.0.1").await, rig.agent("10.0.0.2").await);
    let exit = EventKind::ProcessExit;
    happen(
        &rig,
        &one,
        1,
        &[event("web/a", exit, 1), event("db/a", exit, 3)],
    )
    .await;
    let drift = event("web/b", EventKind::ConfigDrift, 2);
    happen(&rig, &two, 1, &[drift]).await;

    let all = EventFilter::default;
    let everything = reasons(&rig, &rig.caller, all()).await;
    assert_eq!(everything, ["db/a at 3", "web/b at 2", "web/a at 1"]);
    let of_host = EventFilter {
        hosts: Some(vec![
            "10.0.0.2".parse().unwrap(),
            "10.9.9.9".parse().unwrap(),
        ]),
        ..all()
    };
    assert_eq!(reasons(&rig, &rig.caller, of_host).await, ["web/b at 2"]);
    let of_nobody = EventFilter {
        hosts: Some(vec!["10.9.9.9".parse().unwrap()]),
        ..all()
    };
    assert!(reasons(&rig, &rig.caller, of_nobody).await.is_empty());

    let narrow = operator_of("web");
    assert_eq!(
        reasons(&rig, &narrow, all()).await,
        ["web/b at 2", "web/a at 1"]
    );
    let forbidden = EventFilter {
        namespaces: namespaces(&["web", "db"]),
        limit: 10,
        ..all()
    };
    let refused = rig.control.events(&narrow, forbidden).await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));

    let counted = rig.control.figures().events;
    let count = |kind| counted.iter().find(|(k, _)| *k == kind).unwrap().1;
    assert_eq!((count(exit), count(EventKind::ConfigDrift)), (2, 1));
}

#[tokio::test]
async fn a_webhook_is_told_in_order_from_where_it_was_also_after_a_restart() {
    let rig = Rig::new().await;
    let agent = rig.agent("10.0.0.1").await;
    let exit = EventKind::ProcessExit;
    happen(&rig, &agent, 1, &[event("web/old", exit, 1)]).await;
    let all = webhook(&rig, None, None).await;
    let narrow = webhook(
        &rig,
        namespaces(&["db"]),
        Some(vec![EventKind::ConfigDrift]),
    )
    .await;
    assert_eq!(next(&rig, &all).await.0, Vec::<String>::new());

    // More than a page that only one of them wants, and then one for both.
    let mut events: Vec<Event> = (0..150).map(|n| event("web/a", exit, 200 - n)).collect();
    events.push(event("db/a", EventKind::ConfigDrift, 9));
    happen(&rig, &agent, 2, &events).await;
    let (first, through) = next(&rig, &all).await;
    assert_eq!(
        first,
        Vec::from_iter(events[..100].iter().map(|event| event.reason.clone()))
    );
    // Nobody said that they were delivered: they come again.
    assert_eq!(next(&rig, &all).await.0, first);
    assert_eq!(next(&rig, &narrow).await.0, ["db/a at 9"]);

    rig.control.delivered(&all.id, through).await.unwrap();
    let rig = rig.restarted().await;
    let (rest, through) = next(&rig, &all).await;
    assert_eq!(rest.len(), 51);
    assert_eq!(rest.last().unwrap(), "db/a at 9");
    rig.control.delivered(&all.id, through).await.unwrap();
    assert!(next(&rig, &all).await.0.is_empty());
    assert_eq!(next(&rig, &narrow).await.0, ["db/a at 9"]);
}

#[tokio::test]
async fn webhooks_come_and_go_with_a_trail_and_only_by_an_admin() {
    let rig = Rig::new().await;
    let made = webhook(&rig, None, None).await;
    assert_eq!(made.secret.len(), 40);
    rig.control
        .delivery_failed(&made.id, "connection refused".into());
    rig.control.delivery_failed(&made.id, "timed out".into());
    let (listed, health) = rig.control.webhooks(&rig.caller).unwrap().remove(0);
    assert_eq!(listed, made);
    assert_eq!(health.n_failed, 2);
    assert_eq!(
        health.failing,
        Some((UnixMillis(START), "timed out".to_owned()))
    );
    rig.control.delivery_succeeded(&made.id);
    let health = rig.control.webhooks(&rig.caller).unwrap().remove(0).1;
    assert_eq!((health.n_delivered, health.failing), (1, None));

    let rig = rig.restarted().await;
    assert_eq!(rig.control.receivers(), std::slice::from_ref(&made));
    let tested = rig.control.webhook_to_test(&rig.caller, &made.id).await;
    assert_eq!(tested.unwrap(), made);
    rig.control
        .delete_webhook(&rig.caller, &made.id)
        .await
        .unwrap();
    assert_eq!(rig.control.receivers(), []);
    assert_eq!(rig.control.next_deliveries(&made).await.unwrap(), None);
    let again = rig.control.delete_webhook(&rig.caller, &made.id).await;
    assert!(matches!(again, Err(ControlError::NotFound(_))));

    let trail = trail(&rig, AuditFilter::default(), 3).await;
    let actions: Vec<&str> = trail.iter().map(|(_, line)| line.action.as_str()).collect();
    assert_eq!(
        actions,
        ["webhook.delete", "webhook.test", "webhook.create"]
    );
    assert!(
        trail
            .iter()
            .all(|(_, line)| !line.detail.contains(&made.secret))
    );

    let plain = operator_of("web");
    assert!(matches!(
        rig.control.webhooks(&plain),
        Err(ControlError::Forbidden(_))
    ));
    for (kinds, secret, field) in [
        (Some(Vec::new()), None, "kinds"),
        (None, Some("short"), "secret"),
    ] {
        let refused = rig
            .control
            .create_webhook(
                &rig.caller,
                made.url.clone(),
                None,
                kinds,
                secret.map(str::to_owned),
            )
            .await;
        match refused {
            Err(ControlError::Invalid(invalid)) => assert_eq!(invalid.field, field),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_event_that_is_sent_again_is_acknowledged_and_not_told_or_counted_again() {
    let rig = Rig::new().await;
    let exit = EventKind::ProcessExit;
    let (one, two) = (event("web/a", exit, 1), event("web/a", exit, 2));
    let agent = rig.agent("10.0.0.1").await;
    let hook = webhook(&rig, None, None).await;
    let mut watching = rig.control.watch();
    happen(&rig, &agent, 1, std::slice::from_ref(&one)).await;
    let count = |rig: &Rig| {
        let counted = rig.control.figures().events;
        counted.iter().find(|(kind, _)| *kind == exit).unwrap().1
    };

    // It died before it heard that; twice, as the second was not acknowledged in time either.
    let agent = rig.connect("10.0.0.1".parse().unwrap(), 0);
    for (seq, event) in [(1, &one), (1, &one), (2, &two), (2, &two)] {
        let frame = EventFrame::new(seq, event);
        agent.session.take(frame.into()).await.unwrap();
    }
    acknowledged(&agent, 2).await;
    let mut told = Vec::new();
    while told.len() < 2 {
        if let Happening::Event { event, .. } = &*watching.recv().await.unwrap() {
            told.push(event.reason.clone());
        }
    }
    assert_eq!(told, ["web/a at 1", "web/a at 2"]);
    assert_eq!(count(&rig), 2);

    // The server was away, too: the next one does not take it for new.
    let rig = rig.restarted().await;
    let agent = rig.agent("10.0.0.1").await;
    let mut watching = rig.control.watch();
    let frame = EventFrame::new(2, &two);
    agent.session.take(frame.into()).await.unwrap();
    acknowledged(&agent, 2).await;
    happen(&rig, &agent, 3, &[event("web/a", exit, 3)]).await;
    let told = loop {
        if let Happening::Event { event, .. } = &*watching.recv().await.unwrap() {
            break event.reason.clone();
        }
    };
    assert_eq!(told, "web/a at 3");
    assert_eq!(count(&rig), 1);
    let delivered = next(&rig, &hook).await.0;
    assert_eq!(delivered, ["web/a at 1", "web/a at 2", "web/a at 3"]);
}

/// Listens until the server says that it has every event up to this number.
async fn acknowledged(agent: &FakeAgent, through: u64) {
    loop {
        for kind in agent.hears().await {
            if let DownKind::Ack(ack) = kind
                && ack.events_through >= through
            {
                return;
            }
        }
    }
}
