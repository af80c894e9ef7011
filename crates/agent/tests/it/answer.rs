//! Live questions of a scripted server.

use std::io::Write;

use model::held::HeldReport;
use supervisor::{LogError, LogRequest, ReadUntil, Recovered, Request};
use wire::ask::{Ask, Logs, Question, WINDOW};
use wire::{Output, UpKind};

use crate::fixture::{FakeSupervisor, Server, name, receive, send, session, state, welcome};

/// The next output; heartbeats in between are skipped.
pub(crate) async fn output(server: &mut Server) -> Output {
    loop {
        match receive(server).await {
            Some(UpKind::Output(output)) => return output,
            Some(UpKind::Report(_)) => {}
            other => panic!("no output: {other:?}"),
        }
    }
}

async fn answer_logs(supervisor: &mut FakeSupervisor, no_log: LogError) -> LogRequest {
    let Some(Request::Logs(wanted, answer)) = supervisor.requests.recv().await else {
        panic!("not asked for a log");
    };
    answer.send(Err(no_log)).unwrap();
    wanted
}

fn logs(follow: bool) -> Question {
    Question::Logs(Logs {
        process: name("n/a"),
        tail_lines: 7,
        follow,
        previous: false,
        since_ms: None,
        grep: None,
        run: None,
    })
}

#[tokio::test(start_paused = true)]
async fn the_supervisor_answers_what_is_held_in_chunks() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    let held = model::held::HeldProcess {
        process: name("n/a"),
        incarnation: 1,
        definition_hash: u64::MAX,
        flag: model::Flag::Running,
        managed: true,
        phase: "x".repeat(100_000),
        run: None,
        operations: Vec::new(),
    };
    let report = HeldReport {
        processes: vec![held],
        foreign: Vec::new(),
    };
    let (_, read) = session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        send(&mut server, Ask::new(9, &Question::Held {})).await;
        let Some(Request::Held(answer)) = supervisor.requests.recv().await else {
            panic!("not asked");
        };
        answer.send(report.clone()).unwrap();
        let mut bytes = Vec::new();
        loop {
            let output = output(&mut server).await;
            assert_eq!((output.id, output.refused.as_str()), (9, ""));
            assert!(output.chunk.len() <= wire::ask::MAX_CHUNK);
            bytes.extend(output.chunk);
            if output.last {
                break;
            }
        }
        serde_json::from_slice::<HeldReport>(&bytes).unwrap()
    })
    .await;
    assert_eq!(read, report);
}

#[tokio::test(start_paused = true)]
async fn figures_are_answered_and_an_unknown_process_is_refused() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    let mut series = model::figures::FigureSeries::empty();
    series.cpu[239] = Some(1.5);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        for (id, known) in [(3, Some(series.clone())), (4, None)] {
            let wanted = wire::ask::FiguresOf {
                process: name("n/a"),
            };
            send(&mut server, Ask::new(id, &Question::Figures(wanted))).await;
            let Some(Request::Figures(process, answer)) = supervisor.requests.recv().await else {
                panic!("not asked");
            };
            assert_eq!(process, name("n/a"));
            answer.send(known.clone()).unwrap();
            let output = output(&mut server).await;
            assert!(output.last);
            match known {
                Some(series) => {
                    let read: model::figures::FigureSeries =
                        serde_json::from_slice(&output.chunk).unwrap();
                    assert_eq!(read, series);
                }
                None => assert_eq!(output.refused, "the agent does not hold n/a"),
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_passed_on_and_an_unknown_question_refused() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        send(&mut server, Ask::new(1, &logs(false))).await;
        let wanted = answer_logs(&mut supervisor, LogError::NotHeld(name("n/a"))).await;
        assert_eq!(
            (wanted.tail_lines, wanted.until),
            (7, ReadUntil::CurrentEnd)
        );
        let refused = output(&mut server).await;
        assert!(refused.last);
        assert_eq!(refused.refused, "the agent does not hold n/a");

        let strange = Ask {
            id: 2,
            body_json: "{\"weather\":{}}".into(),
            content: Default::default(),
        };
        send(&mut server, strange).await;
        let refused = output(&mut server).await;
        assert!(refused.refused.contains("does not know"), "{refused:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_follower_gets_an_empty_chunk_at_once_and_waits_for_output() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        send(&mut server, Ask::new(1, &logs(true))).await;
        answer_logs(&mut supervisor, LogError::Unavailable("nothing yet".into())).await;
        let first = output(&mut server).await;
        assert_eq!((first.chunk.len(), first.last), (0, false));
        // Requested again and again, from the beginning of a new file.
        let wanted =
            answer_logs(&mut supervisor, LogError::Unavailable("nothing yet".into())).await;
        assert_eq!(wanted.tail_lines, u32::MAX);
        answer_logs(&mut supervisor, LogError::NotHeld(name("n/a"))).await;
        let gone = output(&mut server).await;
        assert_eq!((gone.last, gone.refused.is_empty()), (true, false));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_is_forgotten() {
    let (mut state, mut supervisor) = state(Recovered::default(), 64);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        send(&mut server, Ask::new(1, &Question::Held {})).await;
        let Some(Request::Held(answer)) = supervisor.requests.recv().await else {
            panic!("not asked");
        };
        send(&mut server, Ask::new(1, &Question::Cancel)).await;
        send(&mut server, Ask::new(2, &Question::Held {})).await;
        let Some(Request::Held(second)) = supervisor.requests.recv().await else {
            panic!("not asked");
        };
        assert!(answer.send(HeldReport::default()).is_err());
        second.send(HeldReport::default()).unwrap();
        assert_eq!(output(&mut server).await.id, 2);
    })
    .await;
}

/// Only a real supervisor can open the file.
#[tokio::test]
async fn no_more_than_a_window_is_sent_ahead_of_the_reader() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let n_chunks = 3 * u64::from(WINDOW);
    let mut file = std::fs::File::create(&log).unwrap();
    for _ in 0..n_chunks * 64 {
        file.write_all(&[[b'x'; 1023].as_slice(), b"\n"].concat())
            .unwrap();
    }
    let mut spec = crate::fixture::spec();
    spec.identity.log_path = log.to_str().unwrap().to_owned();
    spec.identity.user = crate::binary::user_name();
    let mut hold = crate::fixture::recovered("n/a", 1);
    hold.spec = std::sync::Arc::new(spec);

    let (supervisor, recovered) =
        supervisor::Supervisor::open(&dir.path().join("supervisor"), Default::default()).unwrap();
    let (requests, taken) = tokio::sync::mpsc::channel(16);
    let (told, notices) = tokio::sync::mpsc::channel(16);
    requests.send(Request::Hold(hold)).await.unwrap();
    let link = agent::supervisor_link::SupervisorLink::new(requests, notices);
    let mut state = agent::state::AgentState::new(recovered, link);
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let asking = session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        let all = Question::Logs(Logs {
            process: name("n/a"),
            tail_lines: u32::MAX,
            follow: false,
            previous: false,
            since_ms: None,
            grep: None,
            run: None,
        });
        send(&mut server, Ask::new(1, &all)).await;
        let mut bytes = 0;
        for _ in 0..WINDOW {
            bytes += output(&mut server).await.chunk.len();
        }
        // The second answer comes next, so no further chunk of the first was sent.
        send(&mut server, Ask::new(2, &Question::Held {})).await;
        assert_eq!(output(&mut server).await.id, 2);
        loop {
            send(&mut server, Ask::new(1, &Question::More { chunks: 1 })).await;
            let output = output(&mut server).await;
            bytes += output.chunk.len();
            if output.last {
                break;
            }
        }
        assert_eq!(bytes as u64, n_chunks * 64 * 1024);
        stop.send(true).unwrap();
    });
    let (kept, _) = tokio::join!(supervisor.run(taken, told, stopped), asking);
    kept.unwrap();
}
