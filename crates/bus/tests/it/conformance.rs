//! What every transport guarantees. One function per guarantee; each gets three connected replicas.

use bus::{
    Bus, BusError, MAX_LAG, MAX_PAYLOAD, MAX_REQUESTS, Message, REQUEST_TIMEOUT, Received,
    ReplicaId,
};
use model::change::Revision;

/// Makes each guarantee a test of the calling module's transport. `$replicas` gives what must stay alive meanwhile, and the three
/// replicas. In simulated time, which needs a transport without sockets, waiting for a timeout costs nothing.
macro_rules! conformance_tests {
    (in simulated time, $replicas:expr) => {
        $crate::conformance::conformance_tests!(
            #[tokio::test(start_paused = true)]
            $replicas
        );
    };
    (in real time, $replicas:expr) => {
        $crate::conformance::conformance_tests!(
            #[tokio::test]
            $replicas
        );
    };
    (#[$test:meta] $replicas:expr) => {
        $crate::conformance::conformance_test! { #[$test] $replicas =>
            a_message_reaches_every_other_replica_in_order,
            a_message_to_one_replica_reaches_no_other,
            a_message_to_an_unknown_replica_is_dropped,
            a_replica_does_not_receive_its_own_messages,
            publishing_without_subscribers_is_no_error,
            a_subscription_begins_where_it_was_made,
            a_slow_subscriber_lags_and_continues_with_the_newest,
            a_request_is_answered_by_the_replica_that_it_names,
            a_request_without_a_responder_fails_soon,
            a_request_to_a_replica_that_stopped_answering_fails_soon,
            a_request_that_is_dropped_unanswered_times_out,
            a_request_that_is_not_received_times_out,
            a_flood_of_requests_waits_and_is_answered,
            the_later_of_two_responders_takes_over,
            a_request_that_is_too_large_is_refused,
            an_answer_that_is_too_large_is_refused,
            a_request_to_a_closed_replica_has_no_responder,
        }
    };
}
pub(crate) use conformance_tests;

macro_rules! conformance_test {
    (#[$test:meta] $replicas:expr => $($test_name:ident,)+) => {
        $(
            #[$test]
            async fn $test_name() {
                let (_engines, replicas) = $replicas;
                $crate::conformance::$test_name(replicas).await;
            }
        )+
    };
}
pub(crate) use conformance_test;

/// Waits until messages and requests work between all of them, and no message of this function is under way any more.
pub async fn meet(replicas: &[Bus]) {
    for (here, there) in pairs(replicas) {
        respond(there, "");
        while here.request(there.replica(), vec![]).await != Ok(vec![]) {
            tokio::task::yield_now().await;
        }
        drop(there.requests());
        let mut heard = there.subscribe();
        let greeted = async {
            loop {
                let received = heard.recv().await;
                if matches!(received, Received::Message(from, _) if from == here.replica()) {
                    return;
                }
            }
        };
        let greet = async {
            loop {
                here.publish(committed(0));
                here.tell(there.replica(), vec![]);
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = greeted => {}
            () = greet => {}
        }
    }
    let mut subscriptions = Vec::from_iter(replicas.iter().map(Bus::subscribe));
    for (here, there) in pairs(replicas) {
        here.tell(there.replica(), b"met".to_vec());
    }
    for replica in replicas {
        replica.publish(Message::Soft("met".into()));
    }
    for subscription in &mut subscriptions {
        let mut n_met = 0;
        while n_met < 2 * (replicas.len() - 1) {
            let received = subscription.recv().await;
            let met = Message::Soft("met".into());
            n_met += usize::from(matches!(received, Received::Message(_, it) if it == met));
        }
    }
}

fn pairs(replicas: &[Bus]) -> impl Iterator<Item = (&Bus, &Bus)> {
    let pairs = replicas
        .iter()
        .flat_map(|here| replicas.iter().map(move |there| (here, there)));
    pairs.filter(|(here, there)| here.replica() != there.replica())
}

pub fn committed(n: usize) -> Message {
    Message::Committed(Revision(n as u64))
}

pub async fn a_message_reaches_every_other_replica_in_order([one, two, three]: [Bus; 3]) {
    let mut subscriptions = [two.subscribe(), two.subscribe(), three.subscribe()];
    let messages = [
        committed(7),
        Message::Soft(vec![0, 255].into()),
        Message::Soft(vec![7; MAX_PAYLOAD].into()),
        Message::Soft(vec![].into()),
    ];
    messages
        .iter()
        .for_each(|message| one.publish(message.clone()));
    for subscription in &mut subscriptions {
        for message in &messages {
            let expected = Received::Message(one.replica(), message.clone());
            assert_eq!(subscription.recv().await, expected);
        }
    }
}

pub async fn a_message_to_one_replica_reaches_no_other([one, two, three]: [Bus; 3]) {
    let mut subscriptions = [two.subscribe(), three.subscribe(), one.subscribe()];
    one.tell(two.replica(), b"to two".to_vec());
    one.tell(three.replica(), b"to three".to_vec());
    two.tell(one.replica(), b"to one".to_vec());
    let expected = [(&one, "to two"), (&one, "to three"), (&two, "to one")];
    for (subscription, (from, payload)) in subscriptions.iter_mut().zip(expected) {
        let message = Message::Soft(payload.into());
        let expected = Received::Message(from.replica(), message);
        assert_eq!(subscription.recv().await, expected);
    }
    one.publish(committed(1));
    for subscription in &mut subscriptions[..2] {
        let expected = Received::Message(one.replica(), committed(1));
        assert_eq!(subscription.recv().await, expected);
    }
}

pub async fn a_message_to_an_unknown_replica_is_dropped([one, _, _]: [Bus; 3]) {
    one.tell(ReplicaId(99), vec![]);
}

pub async fn a_replica_does_not_receive_its_own_messages([one, two, _]: [Bus; 3]) {
    let mut subscription = one.subscribe();
    one.publish(committed(1));
    two.publish(committed(2));
    let expected = Received::Message(two.replica(), committed(2));
    assert_eq!(subscription.recv().await, expected);
}

pub async fn publishing_without_subscribers_is_no_error([one, _, _]: [Bus; 3]) {
    one.publish(committed(1));
}

pub async fn a_subscription_begins_where_it_was_made([one, two, _]: [Bus; 3]) {
    let mut earlier = two.subscribe();
    one.publish(committed(1));
    let expected = Received::Message(one.replica(), committed(1));
    assert_eq!(earlier.recv().await, expected);
    let mut later = two.subscribe();
    one.publish(committed(2));
    let expected = Received::Message(one.replica(), committed(2));
    assert_eq!(later.recv().await, expected);
}

pub async fn a_slow_subscriber_lags_and_continues_with_the_newest([one, two, _]: [Bus; 3]) {
    let mut subscription = two.subscribe();
    let n_messages = 3 * MAX_LAG;
    (1..=n_messages).for_each(|n| one.publish(committed(n)));
    assert_eq!(subscription.recv().await, Received::Lagged);
    let newest = Received::Message(one.replica(), committed(n_messages));
    let mut n_received = 1;
    while subscription.recv().await != newest {
        n_received += 1;
    }
    assert!(n_received <= MAX_LAG, "{n_received}");
}

/// Answers each request with `name` and its payload.
pub fn respond(bus: &Bus, name: &'static str) {
    let mut requests = bus.requests();
    tokio::spawn(async move {
        while let Some(request) = requests.recv().await {
            let answer = [name.as_bytes(), &request.payload].concat();
            // An error means that the caller gave up.
            let _ = request.reply.send(answer);
        }
    });
}

pub async fn a_request_is_answered_by_the_replica_that_it_names([one, two, three]: [Bus; 3]) {
    respond(&one, "one");
    respond(&two, "two");
    respond(&three, "three");
    for (to, expected) in [(&one, "one!"), (&two, "two!"), (&three, "three!")] {
        let answer = one.request(to.replica(), b"!".to_vec()).await;
        assert_eq!(answer, Ok(expected.as_bytes().to_vec()));
    }
}

pub async fn a_request_without_a_responder_fails_soon([one, two, _]: [Bus; 3]) {
    let begun = tokio::time::Instant::now();
    for replica in [two.replica(), ReplicaId(99)] {
        let answer = one.request(replica, vec![]).await;
        assert_eq!(answer, Err(BusError::NoResponder { replica }));
    }
    assert!(begun.elapsed() < REQUEST_TIMEOUT / 2);
}

pub async fn a_request_to_a_replica_that_stopped_answering_fails_soon([one, two, _]: [Bus; 3]) {
    drop(two.requests());
    let replica = two.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::NoResponder { replica }));
}

pub async fn a_request_that_is_dropped_unanswered_times_out([one, two, _]: [Bus; 3]) {
    let mut requests = two.requests();
    tokio::spawn(async move { while requests.recv().await.is_some() {} });
    let replica = two.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::TimedOut { replica }));
}

pub async fn a_request_that_is_not_received_times_out([one, two, _]: [Bus; 3]) {
    let _requests = two.requests();
    let replica = two.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::TimedOut { replica }));
}

pub async fn a_flood_of_requests_waits_and_is_answered([one, two, _]: [Bus; 3]) {
    let asking = (0..3 * MAX_REQUESTS).map(|n| {
        let (one, to) = (one.clone(), two.replica());
        tokio::spawn(async move { (n, one.request(to, n.to_le_bytes().to_vec()).await) })
    });
    respond(&two, "");
    for asked in Vec::from_iter(asking) {
        let (n, answer) = asked.await.unwrap();
        assert_eq!(answer, Ok(n.to_le_bytes().to_vec()));
    }
}

pub async fn the_later_of_two_responders_takes_over([one, two, _]: [Bus; 3]) {
    let mut earlier = two.requests();
    respond(&two, "later");
    let answer = one.request(two.replica(), vec![]).await;
    assert_eq!(answer, Ok(b"later".to_vec()));
    assert!(earlier.recv().await.is_none());
}

pub async fn a_request_that_is_too_large_is_refused([one, two, _]: [Bus; 3]) {
    respond(&two, "");
    let largest = vec![1; MAX_PAYLOAD];
    let answer = one.request(two.replica(), largest.clone()).await;
    assert_eq!(answer, Ok(largest));
    let n_bytes = MAX_PAYLOAD + 1;
    let answer = one.request(two.replica(), vec![1; n_bytes]).await;
    assert_eq!(answer, Err(BusError::TooLarge { n_bytes }));
}

pub async fn an_answer_that_is_too_large_is_refused([one, two, _]: [Bus; 3]) {
    respond(&two, "!");
    let largest = vec![1; MAX_PAYLOAD];
    let answer = one.request(two.replica(), largest).await;
    let n_bytes = MAX_PAYLOAD + 1;
    assert_eq!(answer, Err(BusError::TooLarge { n_bytes }));
}

pub async fn a_request_to_a_closed_replica_has_no_responder([one, two, _]: [Bus; 3]) {
    respond(&two, "");
    two.close().await;
    let replica = two.replica();
    // A request during the close may be lost.
    while one.request(replica, vec![]).await != Err(BusError::NoResponder { replica }) {
        tokio::task::yield_now().await;
    }
}
