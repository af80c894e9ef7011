//! Live questions about logs and held specs, answered by a fake agent.

use control::{ControlError, LogsOf, Mode};
use model::access::Caller;
use model::held::{ForeignProcess, HeldProcess, HeldReport};
use model::{Code, Flag, Op, Outcome, UnixMillis};
use testkit::fake_agent::{FakeAgent, op_of};
use wire::Output;
use wire::ask::{Question, WINDOW};

use crate::rig::{Rig, full};

const HOST: &str = "10.0.0.1";

async fn rig() -> (Rig, FakeAgent) {
    let rig = Rig::new().await;
    rig.register("ns/p", &[HOST], "./a", Mode::Register).await;
    let agent = rig.agent(HOST).await;
    agent.received().await;
    (rig, agent)
}

fn logs_of(name: &str) -> LogsOf {
    LogsOf {
        follow: true,
        ..LogsOf::last_lines(full(name), 10)
    }
}

/// Asks, and answers the first chunk.
async fn stream(rig: &Rig, agent: &FakeAgent) -> (u64, control::AnswerStream) {
    let asking = rig.control.sessions().logs(&rig.caller, logs_of("ns/p"));
    let answering = async {
        let (id, question) = agent.next_question().await;
        let Question::Logs(logs) = question else {
            panic!("{question:?}");
        };
        assert_eq!(
            (logs.process, logs.tail_lines, logs.follow),
            (full("ns/p"), 10, true)
        );
        agent.send_chunk(id, "first\n").await;
        id
    };
    let (stream, id) = tokio::join!(asking, answering);
    (id, stream.unwrap())
}

#[tokio::test]
async fn logs_arrive_in_chunks_with_backpressure() {
    let (rig, agent) = rig().await;
    let (id, mut stream) = stream(&rig, &agent).await;
    for _ in 1..WINDOW {
        agent.send_chunk(id, "more\n").await;
    }
    assert_eq!(stream.next().await.unwrap().unwrap(), b"first\n");
    for _ in 1..WINDOW {
        assert_eq!(stream.next().await.unwrap().unwrap(), b"more\n");
    }
    // As many chunks are granted as were read, in one or more frames.
    let (of, question) = agent.next_question().await;
    assert_eq!((of, question), (id, Question::More { chunks: WINDOW }));
    let last = Output {
        id,
        chunk: b"end".to_vec(),
        last: true,
        ..Output::default()
    };
    agent.send(last).await;
    assert_eq!(stream.next().await.unwrap().unwrap(), b"end");
    assert!(stream.next().await.is_none());
    // An answer that has ended is not cancelled.
    drop(stream);
    assert!(agent.received().await.is_empty());
}

#[tokio::test]
async fn dropping_the_reader_cancels_the_question() {
    let (rig, agent) = rig().await;
    let (id, stream) = stream(&rig, &agent).await;
    drop(stream);
    assert_eq!(agent.next_question().await, (id, Question::Cancel));
    // Later chunks are dropped.
    agent.send_chunk(id, "late\n").await;
}

#[tokio::test]
async fn chunks_beyond_the_window_cancel_the_question() {
    let (rig, agent) = rig().await;
    let (id, mut stream) = stream(&rig, &agent).await;
    for _ in 0..3 * WINDOW {
        agent.send_chunk(id, "flood\n").await;
    }
    assert_eq!(agent.next_question().await, (id, Question::Cancel));
    let mut n_chunks = 0;
    let reason = loop {
        match stream.next().await.unwrap() {
            Ok(_) => n_chunks += 1,
            Err(reason) => break reason,
        }
    };
    assert!(n_chunks <= 2 * WINDOW, "{n_chunks}");
    assert!(reason.contains("more than it was asked for"), "{reason}");
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn an_answer_ends_with_its_connection_and_a_clear_message() {
    let (rig, agent) = rig().await;
    let (_, mut stream) = stream(&rig, &agent).await;
    stream.next().await.unwrap().unwrap();
    drop(agent);
    let reason = stream.next().await.unwrap().unwrap_err();
    assert_eq!(reason, "the agent of host 0:10.0.0.1 disconnected");
    assert!(stream.next().await.is_none());
    let error = rig
        .control
        .sessions()
        .logs(&rig.caller, logs_of("ns/p"))
        .await;
    let error = error.unwrap_err();
    assert!(matches!(&error, ControlError::Away(_)), "{error}");
    assert!(error.to_string().contains("not connected"), "{error}");
}

#[tokio::test]
async fn an_agent_without_questions_times_out() {
    let (rig, agent) = rig().await;
    tokio::time::pause();
    let (asked, _) = tokio::join!(
        rig.control.sessions().logs(&rig.caller, logs_of("ns/p")),
        agent.next_question()
    );
    let error = asked.unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
}

#[tokio::test]
async fn an_invalid_question_is_refused_without_the_agent() {
    let (rig, agent) = rig().await;
    rig.register("ns/twice", &[HOST, "10.0.0.2"], "./a", Mode::Register)
        .await;
    agent.received().await;
    let caller = crate::access::operator_of("other");
    let refused = |error: ControlError| error.to_string();
    let error = rig
        .control
        .sessions()
        .logs(&caller, logs_of("ns/p"))
        .await
        .unwrap_err();
    assert!(matches!(error, ControlError::Forbidden(_)), "{error}");
    let error = rig
        .control
        .sessions()
        .logs(&rig.caller, logs_of("ns/q"))
        .await;
    assert_eq!(
        refused(error.unwrap_err()),
        "process ns/q is not registered"
    );
    let error = rig
        .control
        .sessions()
        .logs(&rig.caller, logs_of("ns/twice"))
        .await;
    assert_eq!(
        refused(error.unwrap_err()),
        "host: must be given: ns/twice is on 2 hosts: 0:10.0.0.1, 0:10.0.0.2"
    );
    let elsewhere = LogsOf {
        host: Some("10.0.0.9".parse().unwrap()),
        ..logs_of("ns/p")
    };
    let error = rig.control.sessions().logs(&rig.caller, elsewhere).await;
    assert_eq!(
        refused(error.unwrap_err()),
        "process ns/p is not registered on 0:10.0.0.9"
    );
    assert!(agent.received().await.is_empty());
}

#[tokio::test]
async fn the_number_of_open_questions_is_limited() {
    let (rig, agent) = rig().await;
    let mut open = Vec::new();
    for _ in 0..wire::ask::MAX_OPEN {
        open.push(stream(&rig, &agent).await.1);
    }
    let error = rig
        .control
        .sessions()
        .logs(&rig.caller, logs_of("ns/p"))
        .await;
    assert!(matches!(error, Err(ControlError::Busy(_))), "{error:?}");
    open.pop();
    assert_eq!(agent.next_question().await.1, Question::Cancel);
    stream(&rig, &agent).await;
}

#[tokio::test]
async fn without_logs_the_last_operations_output_is_shown() {
    let (rig, agent) = rig().await;
    let refuse = async |reason: &str| {
        let asking = rig.control.sessions().logs(&rig.caller, logs_of("ns/p"));
        let refusing = async {
            let (id, _) = agent.next_question().await;
            agent.send(Output::refuse(id, reason)).await;
        };
        tokio::join!(asking, refusing).0
    };
    let error = refuse("not started yet").await.unwrap_err();
    assert!(matches!(&error, ControlError::NotFound(_)), "{error}");

    let task = rig.operate("ns/p", Op::Start, &[HOST]).await;
    let command = agent.received_commands().await.remove(0);
    let mut outcome = Outcome::plain(Code::COMMAND_FAILED, "no", UnixMillis(1));
    outcome.ran = Some(model::operation::CommandRun {
        command: "./a".into(),
        exit: None,
        duration_ms: 5,
        output: "cannot bind port 80\n".into(),
    });
    agent.answer(op_of(&command), outcome).await;
    rig.ended(task).await;
    let mut stream = refuse("not started yet").await.unwrap();
    let text = stream.next().await.unwrap().unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "muster: not started yet; its last start wrote:\ncannot bind port 80\n"
    );
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn held_specs_are_compared_with_registrations() {
    let (rig, agent) = rig().await;
    rig.register("other/q", &[HOST], "./b", Mode::Register)
        .await;
    agent.received().await;
    let held = HeldProcess {
        process: full("ns/stranger"),
        incarnation: 1,
        definition_hash: u64::MAX,
        flag: Flag::Running,
        managed: true,
        phase: "up".into(),
        run: None,
        operations: Vec::new(),
    };
    let foreign = ForeignProcess {
        process: full("other/q"),
        pid_path: "/s/p.pid".into(),
        pid: 7,
        program: "sleep".into(),
        user: "root".into(),
    };
    let report = HeldReport {
        processes: vec![held.clone()],
        foreign: vec![foreign],
    };
    let ask = async |caller: &Caller| {
        let answering = async {
            let (id, question) = agent.next_question().await;
            assert_eq!(question, Question::Held {});
            let bytes = serde_json::to_vec(&report).unwrap();
            for part in bytes.chunks(100) {
                let chunk = part.to_vec();
                let is_end = part.as_ptr_range().end == bytes.as_ptr_range().end;
                agent
                    .send(Output {
                        id,
                        chunk,
                        last: is_end,
                        ..Output::default()
                    })
                    .await;
            }
        };
        let host = HOST.parse().unwrap();
        tokio::join!(rig.control.sessions().held(caller, host), answering)
            .0
            .unwrap()
    };
    let view = ask(&rig.caller).await;
    let shown: Vec<(String, Vec<String>)> = view
        .processes
        .iter()
        .map(|process| {
            let differs = process.differs.iter().map(|one| one.text.clone());
            (process.process.to_string(), differs.collect())
        })
        .collect();
    let words = |text: &str| vec![text.to_owned()];
    assert_eq!(
        shown,
        [
            (
                "ns/p".to_owned(),
                words("registered, but not held by the agent")
            ),
            (
                "ns/stranger".to_owned(),
                words("held by the agent, but not registered")
            ),
            (
                "other/q".to_owned(),
                words("registered, but not held by the agent")
            ),
        ]
    );
    assert_eq!(view.processes[1].held.as_ref(), Some(&held));
    assert_eq!(view.foreign.len(), 1);

    // An app sees its own namespaces only.
    let caller = crate::access::operator_of("ns");
    let view = ask(&caller).await;
    assert_eq!((view.processes.len(), view.foreign.len()), (2, 0));
}
