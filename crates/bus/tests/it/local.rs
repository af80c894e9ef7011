//! The engine within one process keeps every promise.

use bus::{Bus, LocalHub, ReplicaId};

use crate::conformance::keeps;

fn replicas() -> [Bus; 3] {
    let hub = LocalHub::new();
    [1, 2, 3].map(|n| Bus::local(&hub, ReplicaId(n)))
}

keeps! { replicas() =>
    a_message_reaches_every_other_replica_in_order,
    what_one_replica_is_told_no_other_hears,
    telling_nobody_is_fine,
    a_replica_does_not_hear_itself,
    publishing_to_nobody_is_fine,
    a_subscription_begins_where_it_was_made,
    a_subscriber_that_lags_is_told_and_goes_on_with_the_newest,
    a_request_is_answered_by_the_replica_that_it_names,
    a_request_to_nobody_fails_at_once,
    a_request_to_a_replica_that_stopped_answering_fails_at_once,
    a_request_that_is_dropped_unanswered_times_out,
    a_request_that_nobody_takes_up_times_out,
    a_flood_of_requests_waits_and_is_answered,
    the_later_of_two_responders_takes_over,
    a_request_that_is_too_large_is_refused,
    an_answer_that_is_too_large_is_refused,
    a_replica_that_left_is_not_there,
}
