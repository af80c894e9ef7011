use super::*;

const A: ReplicaId = ReplicaId(1);
const B: ReplicaId = ReplicaId(2);
const HOST: HostId = HostId(7);

fn full(session: u64, seq: u64) -> HostBlock {
    HostBlock {
        host: HOST.0,
        session,
        seq,
        up: true,
        full: true,
        ..HostBlock::default()
    }
}

fn delta(session: u64, seq: u64) -> HostBlock {
    HostBlock {
        full: false,
        ..full(session, seq)
    }
}

fn down(session: u64) -> HostBlock {
    HostBlock {
        up: false,
        ..delta(session, 9)
    }
}

fn entry(session: u64, seq: u64) -> DigestEntry {
    DigestEntry {
        host: HOST.0,
        session,
        seq,
        heard_ms: 0,
    }
}

#[test]
fn blocks_count_in_order_and_a_gap_is_asked_for() {
    let mut peers = Peers::default();
    assert_eq!(
        peers.judge(A, &delta(5, 2)),
        Verdict::Gap,
        "nothing is known of it"
    );
    assert_eq!(peers.judge(A, &full(5, 1)), Verdict::Apply);
    assert_eq!(peers.judge(A, &delta(5, 2)), Verdict::Apply);
    assert_eq!(peers.judge(A, &delta(5, 2)), Verdict::Ignore, "twice");
    assert_eq!(peers.judge(A, &delta(5, 4)), Verdict::Gap);
    assert_eq!(
        peers.judge(A, &full(5, 5)),
        Verdict::Apply,
        "what was asked for"
    );
    assert_eq!(peers.judge(A, &full(5, 3)), Verdict::Ignore, "late");
    assert_eq!(peers.judge(A, &delta(5, 6)), Verdict::Apply);
    assert_eq!(peers.holder(HOST), Some(A));
}

#[test]
fn the_newer_connection_counts_whoever_tells_of_it() {
    let mut peers = Peers::default();
    peers.judge(A, &full(5, 1));
    assert_eq!(peers.judge(B, &full(4, 1)), Verdict::Ignore);
    assert_eq!(peers.judge(B, &full(6, 1)), Verdict::Apply);
    assert_eq!(peers.holder(HOST), Some(B));
    assert_eq!(
        peers.judge(A, &down(5)),
        Verdict::Ignore,
        "of the older one"
    );
    assert_eq!(peers.judge(A, &delta(5, 2)), Verdict::Ignore);
    assert_eq!(peers.judge(B, &down(6)), Verdict::Gone);
    assert_eq!(peers.holder(HOST), None);
}

#[test]
fn a_replica_knows_best_which_of_its_own_connections_is_the_newest() {
    let mut peers = Peers::default();
    peers.judge(A, &full(5, 4));
    // The agent restarted with a clock that was set back.
    assert_eq!(peers.outdated(A, &[entry(3, 1)]), [HOST.0]);
    assert_eq!(peers.judge(A, &delta(3, 2)), Verdict::Gap);
    assert_eq!(peers.judge(A, &full(3, 2)), Verdict::Apply);
    assert_eq!(peers.judge(A, &down(5)), Verdict::Ignore);
    assert_eq!(peers.judge(A, &delta(3, 3)), Verdict::Apply);
}

#[test]
fn an_agent_that_is_here_stays_until_it_is_newer_elsewhere() {
    let mut peers = Peers::default();
    assert_eq!(peers.attach(HOST, 5).session, 5);
    assert_eq!(peers.judge(A, &full(4, 1)), Verdict::Ours);
    assert_eq!(peers.judge(A, &down(9)), Verdict::Ignore);
    assert_eq!(peers.judge(A, &delta(6, 3)), Verdict::Gap);
    assert_eq!(peers.judge(A, &full(6, 1)), Verdict::TakeOver);
    assert_eq!(
        (peers.own_sessions(), peers.holder(HOST)),
        (vec![], Some(A))
    );
    assert_eq!(peers.detach(HOST, 5), None, "the others know better");
    // The clock was set back: the last connection is the newest.
    assert_eq!(peers.attach(HOST, 3).session, 7);
    assert_eq!(peers.holder(HOST), None);
    assert_eq!(peers.detach(HOST, 7).map(|own| own.session), Some(7));
}

#[test]
fn a_digest_shows_what_was_missed_and_what_is_gone() {
    let mut peers = Peers::default();
    assert_eq!(peers.outdated(A, &[entry(5, 3)]), [HOST.0]);
    peers.judge(A, &full(5, 2));
    assert_eq!(
        peers.outdated(A, &[entry(5, 3)]),
        [HOST.0],
        "one block is missing"
    );
    assert_eq!(peers.outdated(A, &[entry(5, 2)]), Vec::<u32>::new());
    assert_eq!(
        peers.outdated(B, &[entry(4, 9)]),
        Vec::<u32>::new(),
        "older"
    );
    assert_eq!(peers.outdated(B, &[entry(6, 1)]), [HOST.0]);
    assert_eq!(peers.drop_unlisted(B, 0..100, &[]), [], "not theirs");
    assert_eq!(peers.drop_unlisted(A, 0..7, &[]), [], "not in that range");
    assert_eq!(peers.drop_unlisted(A, 0..8, &[entry(5, 2)]), [], "named");
    assert_eq!(peers.drop_unlisted(A, 0..8, &[]), [HOST]);
}

#[test]
fn what_was_missed_is_asked_for_a_part_at_a_time() {
    let mut peers = Peers::default();
    peers.add_missing(A, []);
    assert!(!peers.is_missing_any(A));
    peers.add_missing(A, [3, 1, 2, 3]);
    peers.add_missing(B, [9]);
    assert_eq!(peers.take_missing(2), [(A, vec![1, 2]), (B, vec![9])]);
    assert!(peers.is_missing_any(A) && !peers.is_missing_any(B));
    assert_eq!(peers.take_missing(2), [(A, vec![3])]);
    assert_eq!(peers.take_missing(2), []);
    peers.add_missing(A, [1]);
    peers.forget(A);
    assert_eq!(peers.take_missing(2), []);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_falls_silent_takes_its_agents_with_it() {
    let mut peers = Peers::default();
    let now = Instant::now();
    assert!(peers.heartbeat(A, &Heartbeat::default(), now));
    assert!(!peers.heartbeat(A, &Heartbeat::default(), now));
    peers.heartbeat(B, &Heartbeat::default(), now + SILENCE / 2);
    peers.judge(A, &full(5, 1));
    assert!(peers.forget_silent(now + SILENCE / 2).is_empty());
    let silent = peers.forget_silent(now + SILENCE);
    assert_eq!(silent, [(A, vec![HOST])]);
    assert_eq!(peers.replicas().map(|(id, _)| id).collect::<Vec<_>>(), [B]);
    assert_eq!(peers.forget(B), []);
}
