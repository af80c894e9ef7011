//! Events: listed by permission, and delivered to webhooks in order, at least once.

use control::{AuditFilter, ChangeEvent, ControlError, EventFilter};
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

/// Sends events, numbered from `first`, and waits until all are recorded.
async fn send_events(rig: &Rig, agent: &FakeAgent, first: u64, events: &[Event]) {
    let count = || async {
        let filter = EventFilter {
            limit: 1000,
            ..EventFilter::default()
        };
        rig.control
            .events()
            .list(&rig.caller, filter)
            .await
            .unwrap()
            .events
            .len()
    };
    let mut changed = rig.control.webhooks().deliveries_changed();
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
    let read = rig.control.events().list(caller, filter).await.unwrap();
    read.events
        .into_iter()
        .map(|view| view.event.reason)
        .collect()
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
        .webhooks()
        .create(&rig.caller, url, namespaces, kinds, None, None)
        .await
        .unwrap()
}

async fn next(rig: &Rig, webhook: &Webhook) -> (Vec<String>, u64) {
    let next = rig
        .control
        .webhooks()
        .next_deliveries(webhook)
        .await
        .unwrap()
        .unwrap();
    let reasons = next.events.into_iter().map(|view| view.event.reason);
    (reasons.collect(), next.through)
}

#[tokio::test]
async fn a_caller_sees_the_events_of_its_namespaces() {
    let rig = Rig::new().await;
    let (one, two) = (rig.agent("10.0.0.1").await, rig.agent("10.0.0.2").await);
    let exit = EventKind::ProcessExit;
    send_events(
        &rig,
        &one,
        1,
        &[event("web/a", exit, 1), event("db/a", exit, 3)],
    )
    .await;
    let drift = event("web/b", EventKind::ConfigDrift, 2);
    send_events(&rig, &two, 1, &[drift]).await;

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
    let refused = rig.control.events().list(&narrow, forbidden).await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));

    let counted = rig.control.figures().events;
    let count = |kind| counted.iter().find(|(k, _)| *k == kind).unwrap().1;
    assert_eq!((count(exit), count(EventKind::ConfigDrift)), (2, 1));
}

#[tokio::test]
async fn a_webhook_continues_in_order_after_a_restart() {
    let rig = Rig::new().await;
    let agent = rig.agent("10.0.0.1").await;
    let exit = EventKind::ProcessExit;
    send_events(&rig, &agent, 1, &[event("web/old", exit, 1)]).await;
    let all = webhook(&rig, None, None).await;
    let narrow = webhook(
        &rig,
        namespaces(&["db"]),
        Some(vec![EventKind::ConfigDrift]),
    )
    .await;
    assert_eq!(next(&rig, &all).await.0, Vec::<String>::new());

    // More than a page that only one webhook wants, then one event for both.
    let mut events: Vec<Event> = (0..150).map(|n| event("web/a", exit, 200 - n)).collect();
    events.push(event("db/a", EventKind::ConfigDrift, 9));
    send_events(&rig, &agent, 2, &events).await;
    let (first, through) = next(&rig, &all).await;
    assert_eq!(
        first,
        Vec::from_iter(events[..100].iter().map(|event| event.reason.clone()))
    );
    // Not stored as delivered, so they come again.
    assert_eq!(next(&rig, &all).await.0, first);
    assert_eq!(next(&rig, &narrow).await.0, ["db/a at 9"]);

    rig.control
        .webhooks()
        .set_delivered(&all.id, through)
        .await
        .unwrap();
    let rig = rig.restarted().await;
    let (rest, through) = next(&rig, &all).await;
    assert_eq!(rest.len(), 51);
    assert_eq!(rest.last().unwrap(), "db/a at 9");
    rig.control
        .webhooks()
        .set_delivered(&all.id, through)
        .await
        .unwrap();
    assert!(next(&rig, &all).await.0.is_empty());
    assert_eq!(next(&rig, &narrow).await.0, ["db/a at 9"]);
}

#[tokio::test]
async fn only_an_admin_manages_webhooks_and_it_is_audited() {
    let rig = Rig::new().await;
    let made = webhook(&rig, None, None).await;
    assert_eq!(made.secret.len(), 40);
    rig.control
        .webhooks()
        .delivery_failed(&made.id, "connection refused".into());
    rig.control
        .webhooks()
        .delivery_failed(&made.id, "timed out".into());
    let (listed, health) = rig.control.webhooks().list(&rig.caller).unwrap().remove(0);
    assert_eq!(listed, made);
    assert_eq!(health.n_failed, 2);
    assert_eq!(
        health.failing,
        Some((UnixMillis(START), "timed out".to_owned()))
    );
    rig.control.webhooks().delivery_succeeded(&made.id);
    let health = rig
        .control
        .webhooks()
        .list(&rig.caller)
        .unwrap()
        .remove(0)
        .1;
    assert_eq!((health.n_delivered, health.failing), (1, None));

    let rig = rig.restarted().await;
    assert_eq!(rig.control.webhooks().all(), std::slice::from_ref(&made));
    let tested = rig
        .control
        .webhooks()
        .start_test(&rig.caller, &made.id)
        .await;
    assert_eq!(tested.unwrap(), made);
    rig.control
        .webhooks()
        .delete(&rig.caller, &made.id)
        .await
        .unwrap();
    assert_eq!(rig.control.webhooks().all(), []);
    assert_eq!(
        rig.control.webhooks().next_deliveries(&made).await.unwrap(),
        None
    );
    let again = rig.control.webhooks().delete(&rig.caller, &made.id).await;
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
        rig.control.webhooks().list(&plain),
        Err(ControlError::Forbidden(_))
    ));
    for (kinds, secret, field) in [
        (Some(Vec::new()), None, "kinds"),
        (None, Some("short"), "secret"),
    ] {
        let refused = rig
            .control
            .webhooks()
            .create(
                &rig.caller,
                made.url.clone(),
                None,
                kinds,
                None,
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
async fn a_repeated_event_is_acknowledged_and_counted_once() {
    let rig = Rig::new().await;
    let exit = EventKind::ProcessExit;
    let (one, two) = (event("web/a", exit, 1), event("web/a", exit, 2));
    let agent = rig.agent("10.0.0.1").await;
    let hook = webhook(&rig, None, None).await;
    let mut watching = rig.control.events().watch();
    send_events(&rig, &agent, 1, std::slice::from_ref(&one)).await;
    let count = |rig: &Rig| {
        let counted = rig.control.figures().events;
        counted.iter().find(|(kind, _)| *kind == exit).unwrap().1
    };

    // The agent missed the acknowledgement, and sends it twice more.
    let agent = rig.connect("10.0.0.1".parse().unwrap(), 0);
    for (seq, event) in [(1, &one), (1, &one), (2, &two), (2, &two)] {
        let frame = EventFrame::new(seq, event);
        agent.session.take(frame.into()).await.unwrap();
    }
    acknowledged(&agent, 2).await;
    let mut told = Vec::new();
    while told.len() < 2 {
        if let ChangeEvent::Event { event, .. } = &watching.recv().await.unwrap().event {
            told.push(event.reason.clone());
        }
    }
    assert_eq!(told, ["web/a at 1", "web/a at 2"]);
    assert_eq!(count(&rig), 2);

    // Also a restarted server does not count it again.
    let rig = rig.restarted().await;
    let agent = rig.agent("10.0.0.1").await;
    let mut watching = rig.control.events().watch();
    let frame = EventFrame::new(2, &two);
    agent.session.take(frame.into()).await.unwrap();
    acknowledged(&agent, 2).await;
    send_events(&rig, &agent, 3, &[event("web/a", exit, 3)]).await;
    let told = loop {
        if let ChangeEvent::Event { event, .. } = &watching.recv().await.unwrap().event {
            break event.reason.clone();
        }
    };
    assert_eq!(told, "web/a at 3");
    assert_eq!(count(&rig), 1);
    let delivered = next(&rig, &hook).await.0;
    assert_eq!(delivered, ["web/a at 1", "web/a at 2", "web/a at 3"]);
}

/// Waits until the server has acknowledged every event up to this number.
async fn acknowledged(agent: &FakeAgent, through: u64) {
    loop {
        for kind in agent.received().await {
            if let DownKind::Ack(ack) = kind
                && ack.events_through >= through
            {
                return;
            }
        }
    }
}
