//! Sessions with a scripted server.

use std::time::Duration;

use agent::session::EndReason;
use model::{Code, FullName, OpId};
use supervisor::{Notice, Recovered, Request};
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;
use tokio_util::codec::Encoder;
use wire::{Ack, Bye, Codec, Desired, Down, Report, Up, UpKind, Welcome};

use crate::fixture::{
    Server, command, desired, name, op, outcome, receive, recovered, running, send, session, state,
    welcome,
};

const ROOM: usize = 64;

async fn report(server: &mut Server) -> Report {
    match receive(server).await {
        Some(UpKind::Report(report)) => report,
        other => panic!("no report: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_hello_names_the_agent_and_what_it_holds() {
    let (mut state, _supervisor) = state(
        Recovered {
            held: vec![recovered("n/a", 7)],
            under_way: vec![op(1)],
            results: vec![(op(2), outcome(2))],
            events: Vec::new(),
        },
        ROOM,
    );
    let digest = state.held_digest();
    let (_, hello) = session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await
    })
    .await;
    assert_eq!((hello.cloud, hello.ip.as_str()), (3, "10.0.0.7"));
    assert_eq!((hello.agent_id.as_str(), hello.root), ("a-1", true));
    assert_eq!((hello.oldest, hello.newest), (1, 1));
    assert_eq!((hello.cores, hello.memory_kib), (2, 1024));
    assert_eq!(hello.held_digest, digest);
    let mut ops: Vec<u64> = hello.held_ops.iter().map(|op| op.task).collect();
    ops.sort_unstable();
    assert_eq!(ops, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn each_connection_has_a_higher_number_than_the_one_before() {
    let (mut state, _supervisor) = state(Recovered::default(), ROOM);
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let (_, hello) = session(&mut state, 4096, async |mut server| {
            welcome(&mut server).await
        })
        .await;
        numbers.push(hello.session);
    }
    // The clock stands still here.
    let first = 1_800_000_000_000;
    assert_eq!(numbers, [first, first + 1, first + 2]);
}

#[tokio::test(start_paused = true)]
async fn the_first_report_of_each_connection_names_every_process_held() {
    let held = (0..5).map(|n| recovered(&format!("n/p{n}"), 1)).collect();
    let (mut state, supervisor) = state(
        Recovered {
            held,
            ..Recovered::default()
        },
        ROOM,
    );
    for n in 0..5 {
        let status = Notice::Status(name(&format!("n/p{n}")), running(n).into());
        supervisor.notices.send(status).await.unwrap();
        state.exchange().await.unwrap();
    }
    for _ in 0..2 {
        let (_, report) = session(&mut state, 4096, async |mut server| {
            welcome(&mut server).await;
            report(&mut server).await
        })
        .await;
        assert_eq!(report.statuses.len(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn state_changes_are_reported_at_once_and_together() {
    let held = vec![recovered("n/a", 1), recovered("n/b", 1)];
    let (mut state, supervisor) = state(
        Recovered {
            held,
            ..Recovered::default()
        },
        ROOM,
    );
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        assert_eq!(report(&mut server).await, Report::default());
        let began = Instant::now();
        for n in ["n/a", "n/b", "n/forgotten"] {
            let notice = Notice::Status(name(n), running(1).into());
            supervisor.notices.send(notice).await.unwrap();
        }
        assert_eq!(report(&mut server).await.statuses.len(), 2);
        assert!(began.elapsed() < Duration::from_millis(50));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_command_reaches_the_supervisor_after_the_hold_that_came_before_it() {
    let (mut state, mut supervisor) = state(Recovered::default(), ROOM);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        let list = Desired {
            processes: vec![desired("gse/p", 1)],
            ..Desired::default()
        };
        send(&mut server, list).await;
        send(&mut server, command(op(1), 0)).await;
        send(&mut server, command(op(1), 0)).await;
        assert!(matches!(
            supervisor.requests.recv().await,
            Some(Request::Hold(_))
        ));
        let Some(Request::Operate(operation)) = supervisor.requests.recv().await else {
            panic!("no operation");
        };
        assert_eq!(operation.id, op(1));
        // The repeated command is not passed on.
        send(&mut server, command(op(2), 0)).await;
        let Some(Request::Operate(operation)) = supervisor.requests.recv().await else {
            panic!("no operation");
        };
        assert_eq!(operation.id, op(2));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_op_type_ends_with_832_and_nothing_is_done() {
    let (mut state, mut supervisor) = state(Recovered::default(), ROOM);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        report(&mut server).await;
        send(&mut server, command(op(1), 5)).await;
        let Some(UpKind::Result(result)) = receive(&mut server).await else {
            panic!("no result");
        };
        assert_eq!(result.op.map(OpId::from), Some(op(1)));
        assert_eq!(result.outcome().unwrap().code, Code::UNKNOWN_OP);
    })
    .await;
    assert!(supervisor.requests.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_result_never_overtakes_the_status_that_it_led_to() {
    let held = vec![recovered("gse/p", 1)];
    let (mut state, supervisor) = state(
        Recovered {
            held,
            ..Recovered::default()
        },
        ROOM,
    );
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        report(&mut server).await;
        let status = Notice::Status(name("gse/p"), running(1).into());
        supervisor.notices.send(status).await.unwrap();
        supervisor
            .notices
            .send(Notice::Ended(op(1), outcome(1)))
            .await
            .unwrap();
        assert_eq!(report(&mut server).await.statuses.len(), 1);
        assert!(matches!(
            receive(&mut server).await,
            Some(UpKind::Result(_))
        ));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_result_asked_for_again_is_sent_again_until_it_is_acknowledged() {
    let results = vec![(op(1), outcome(1))];
    let (mut state, mut supervisor) = state(
        Recovered {
            results,
            ..Recovered::default()
        },
        ROOM,
    );
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        report(&mut server).await;
        assert!(matches!(
            receive(&mut server).await,
            Some(UpKind::Result(_))
        ));
        send(&mut server, command(op(1), 0)).await;
        assert!(matches!(
            receive(&mut server).await,
            Some(UpKind::Result(_))
        ));
        let ack = Ack {
            results: vec![op(1).into()],
            ..Ack::default()
        };
        send(&mut server, ack).await;
        let Some(Request::AcknowledgeResults(ids)) = supervisor.requests.recv().await else {
            panic!("no acknowledgement");
        };
        assert_eq!(ids, [op(1)]);
    })
    .await;
}

/// Statuses wait for a grant; heartbeats and results do not, and a result brings the changed states with it.
#[tokio::test(start_paused = true)]
async fn an_agent_reports_what_the_server_grants() {
    let held = vec![recovered("n/a", 1), recovered("n/b", 1)];
    let (mut state, supervisor) = state(
        Recovered {
            held,
            under_way: vec![op(1)],
            ..Recovered::default()
        },
        ROOM,
    );
    let notify = async |notice: Notice| supervisor.notices.send(notice).await.unwrap();
    let grant = Ack {
        may_report: 1,
        ..Ack::default()
    };
    session(&mut state, 4096, async |mut server| {
        let Some(UpKind::Hello(hello)) = receive(&mut server).await else {
            panic!("the first frame is no hello");
        };
        assert!(hello.waits_for_grants);
        let welcome = Welcome {
            version: 1,
            grants_reports: true,
            ..Welcome::default()
        };
        send(&mut server, welcome).await;
        let began = Instant::now();
        // The first report of a connection may be an empty one.
        assert_eq!(report(&mut server).await, Report::default());
        for (process, pid) in [("n/a", 1), ("n/b", 2)] {
            notify(Notice::Status(name(process), running(pid).into())).await;
        }
        assert_eq!(report(&mut server).await, Report::default());
        assert_eq!(began.elapsed().as_secs(), wire::HEARTBEAT_SECS);

        notify(Notice::Ended(op(1), outcome(1))).await;
        assert_eq!(report(&mut server).await.statuses.len(), 2);
        let result = receive(&mut server).await;
        assert!(matches!(result, Some(UpKind::Result(_))), "{result:?}");

        let mut busier = running(2);
        busier.cpu = 50.0;
        notify(Notice::Status(name("n/b"), busier.into())).await;
        assert_eq!(report(&mut server).await, Report::default());
        send(&mut server, grant.clone()).await;
        let granted = report(&mut server).await;
        assert_eq!(granted.statuses.len(), 1);
        assert_eq!(granted.statuses[0].cpu, 50.0);

        // The grant was for one status.
        notify(Notice::Status(name("n/a"), running(3).into())).await;
        assert_eq!(report(&mut server).await, Report::default());
        send(&mut server, grant).await;
        assert_eq!(report(&mut server).await.statuses.len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_agent_sends_a_heartbeat_every_10_seconds() {
    let (mut state, _supervisor) = state(Recovered::default(), ROOM);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        let began = Instant::now();
        for n in 0..10 {
            assert_eq!(report(&mut server).await, Report::default());
            assert_eq!(began.elapsed().as_secs(), n * wire::HEARTBEAT_SECS);
            send(&mut server, Ack::default()).await;
        }
    })
    .await;
}

/// The server answers heartbeats only, as earlier versions do.
#[tokio::test(start_paused = true)]
async fn a_busy_agent_keeps_its_session_with_a_quiet_server() {
    let held = vec![recovered("n/a", 1)];
    let (mut state, supervisor) = state(
        Recovered {
            held,
            ..Recovered::default()
        },
        ROOM,
    );
    let (ended, n_statuses) = session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        let (began, mut pid, mut n_statuses) = (Instant::now(), 0, 0);
        let mut next_change = tokio::time::interval(Duration::from_secs(3));
        while began.elapsed() < Duration::from_secs(600) {
            tokio::select! {
                _ = next_change.tick() => {
                    pid += 1;
                    let notice = Notice::Status(name("n/a"), running(pid).into());
                    supervisor.notices.send(notice).await.unwrap();
                }
                heard = receive(&mut server) => match heard {
                    Some(UpKind::Report(report)) if report.statuses.is_empty() => {
                        send(&mut server, Ack::default()).await;
                    }
                    Some(UpKind::Report(report)) => n_statuses += report.statuses.len(),
                    None => break,
                    Some(other) => panic!("no report: {other:?}"),
                },
            }
        }
        (began.elapsed().as_secs(), n_statuses)
    })
    .await;
    assert_eq!(n_statuses.0, 600, "the session ended: {:?}", ended.reason);
    assert!(n_statuses.1 >= 190, "{} statuses", n_statuses.1);
}

/// The server must not take it for dead.
#[tokio::test(start_paused = true)]
async fn an_agent_that_receives_frames_all_the_time_sends_heartbeats() {
    let (mut state, _supervisor) = state(Recovered::default(), ROOM);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        let (began, mut n_reports) = (Instant::now(), 0);
        let mut next_frame = tokio::time::interval(Duration::from_secs(1));
        while began.elapsed() < Duration::from_secs(100) {
            tokio::select! {
                _ = next_frame.tick() => send(&mut server, Ack::default()).await,
                heard = receive(&mut server) => {
                    assert!(matches!(heard, Some(UpKind::Report(_))), "{heard:?}");
                    n_reports += 1;
                }
            }
        }
        assert_eq!(n_reports, 100 / wire::HEARTBEAT_SECS);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_long_frame_that_arrives_slowly_is_a_sign_of_life() {
    let (mut state, mut supervisor) = state(Recovered::default(), ROOM);
    let (ended, took) = session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        let long = Desired {
            processes: vec![desired("gse/p", 1)],
            ..Desired::default()
        };
        let mut bytes = bytes::BytesMut::new();
        Codec::<Up, Down>::new()
            .encode(long.into(), &mut bytes)
            .unwrap();
        let began = Instant::now();
        for byte in bytes.chunks(bytes.len().div_ceil(20)) {
            tokio::time::sleep(Duration::from_secs(10)).await;
            if server.get_mut().write_all(byte).await.is_err() {
                break;
            }
        }
        let held = tokio::time::timeout(Duration::from_secs(5), supervisor.requests.recv()).await;
        assert!(matches!(held, Ok(Some(Request::Hold(_)))), "{held:?}");
        began.elapsed().as_secs()
    })
    .await;
    assert!(
        took > 5 * wire::SILENCE_SECS,
        "{took} s: {:?}",
        ended.reason
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_ends_the_session() {
    for says_welcome in [true, false] {
        let (mut state, _supervisor) = state(Recovered::default(), ROOM);
        let began = Instant::now();
        let (ended, ()) = session(&mut state, 4096, async |mut server| {
            if says_welcome {
                welcome(&mut server).await;
            }
            while receive(&mut server).await.is_some() {}
        })
        .await;
        assert!(
            matches!(ended.reason, EndReason::Silent),
            "{:?}",
            ended.reason
        );
        assert_eq!(ended.lasted.is_some(), says_welcome);
        assert_eq!(began.elapsed().as_secs(), wire::SILENCE_SECS);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_nothing_does_not_block_the_supervisor() {
    let names: Vec<String> = (0..200).map(|n| format!("n/p{n}")).collect();
    let held = names.iter().map(|name| recovered(name, 1)).collect();
    let (mut state, supervisor) = state(
        Recovered {
            held,
            ..Recovered::default()
        },
        1,
    );
    let (ended, _server) = session(&mut state, 256, async |mut server| {
        welcome(&mut server).await;
        for round in 0..20 {
            for n in &names {
                let status = Notice::Status(n.parse::<FullName>().unwrap(), running(round).into());
                supervisor.notices.send(status).await.unwrap();
            }
        }
        server
    })
    .await;
    assert!(
        matches!(ended.reason, EndReason::Silent),
        "{:?}",
        ended.reason
    );
}

#[tokio::test(start_paused = true)]
async fn full_queues_on_both_sides_do_not_deadlock() {
    let (mut state, mut supervisor) = state(Recovered::default(), 1);
    session(&mut state, 1 << 20, async |mut server| {
        welcome(&mut server).await;
        let processes: Vec<_> = (0..500).map(|n| desired(&format!("n/p{n}"), 1)).collect();
        let list = Desired {
            full: true,
            last: true,
            processes,
            ..Desired::default()
        };
        send(&mut server, list).await;
        for _ in 0..500 {
            let Some(Request::Hold(hold)) = supervisor.requests.recv().await else {
                panic!("no hold");
            };
            // More notices than the queue has room for, before the next request is taken.
            for pid in 0..3 {
                let status = Notice::Status(hold.name.clone(), running(pid).into());
                supervisor.notices.send(status).await.unwrap();
            }
        }
        let mut reported = 0;
        while reported < 500 {
            reported += report(&mut server).await.statuses.len();
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn commands_faster_than_the_supervisor_cause_backpressure() {
    let (mut state, mut supervisor) = state(Recovered::default(), 1);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        let mut asked = 0;
        let flood = async {
            loop {
                send(&mut server, command(op(asked + 1), 0)).await;
                asked += 1;
            }
        };
        let flooded = tokio::time::timeout(Duration::from_secs(5), flood).await;
        assert!(flooded.is_err());
        assert!(asked < 1000, "{asked} commands were read and not taken");
        for n in 1..=asked {
            let Some(Request::Operate(operation)) = supervisor.requests.recv().await else {
                panic!("no operation");
            };
            assert_eq!(operation.id, op(n));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_bye_ends_the_session_with_its_reason() {
    for before_welcome in [true, false] {
        let (mut state, _supervisor) = state(Recovered::default(), ROOM);
        let (ended, ()) = session(&mut state, 4096, async |mut server| {
            if !before_welcome {
                welcome(&mut server).await;
            }
            let bye = Bye {
                reason: "revoked".into(),
                permanent: true,
                rejoin: false,
            };
            send(&mut server, bye).await;
        })
        .await;
        let EndReason::Bye {
            reason,
            permanent: true,
            rejoin: false,
        } = ended.reason
        else {
            panic!("{:?}", ended.reason);
        };
        assert_eq!(reason, "revoked");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_version_or_a_missing_welcome_ends_the_session() {
    let (mut state, _supervisor) = state(Recovered::default(), ROOM);
    let (ended, ()) = session(&mut state, 4096, async |mut server| {
        let welcome = Welcome {
            version: 9,
            ..Welcome::default()
        };
        send(&mut server, welcome).await;
    })
    .await;
    assert!(
        matches!(ended.reason, EndReason::Version(9)),
        "{:?}",
        ended.reason
    );
    let (ended, ()) = session(&mut state, 4096, async |mut server| {
        send(&mut server, Ack::default()).await;
    })
    .await;
    assert!(
        matches!(ended.reason, EndReason::NoWelcome),
        "{:?}",
        ended.reason
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_ends_with_its_supervisor() {
    let (mut state, supervisor) = state(Recovered::default(), ROOM);
    drop(supervisor);
    assert_eq!(
        state.serve_supervisor().await,
        agent::supervisor_link::SupervisorGone
    );
}
