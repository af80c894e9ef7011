//! Golden frames: agents of all released versions use them.
//!
//! Each file in `tests/golden/` is one frame in hexadecimal. `UPDATE_GOLDEN=1` writes missing files; an existing file is never
//! rewritten, because released versions send these bytes.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod properties;

use std::fmt::Debug;
use std::path::PathBuf;

use bytes::BytesMut;
use model::spec::after::{Place, When};
use prost::Message;
use tokio_util::codec::{Decoder, Encoder};
use wire::down::{GroupSet, NameRef};
use wire::enrol::{Enrol, Enrolled};
use wire::up::OpRef;
use wire::{
    Ack, Ask, Bye, Codec, Command, Dependencies, DependencyState, Desired, DesiredProcess, Down,
    EventFrame, Hello, Move, Output, ProcessStatus, Question, Report, ResultFrame, Up, Welcome,
};

const OP: OpRef = OpRef {
    task: 0x0123_4567_89AB_CDEF,
    ordinal: 7,
};

fn name() -> NameRef {
    NameRef {
        namespace: "gse".into(),
        name: "proc-test".into(),
    }
}

fn logs() -> Question {
    Question::Logs(wire::ask::Logs {
        process: "gse/proc-test".parse().unwrap(),
        tail_lines: 100,
        follow: true,
        previous: false,
        since_ms: None,
        grep: None,
        run: None,
    })
}

fn selected_logs() -> Question {
    let logs = wire::ask::Logs {
        process: "gse/proc-test".parse().unwrap(),
        tail_lines: 10,
        follow: false,
        previous: true,
        since_ms: Some(600_000),
        grep: Some("error|warn".parse().unwrap()),
        run: None,
    };
    logs.into_question()
}

fn run_logs() -> Question {
    let logs = wire::ask::Logs {
        process: "gse/proc-test".parse().unwrap(),
        tail_lines: 10,
        follow: false,
        previous: false,
        since_ms: None,
        grep: None,
        run: Some(7),
    };
    logs.into_question()
}

fn write_file() -> Question {
    Question::WriteFile(wire::ask::WriteFile {
        file: model::config_file::DesiredFile {
            path: "/data/app/etc/app.conf".into(),
            owner: "app".into(),
            group: "1001".into(),
            mode: 0o640,
            md5: "900150983cd24fb0d6963f7d28e17f72".into(),
            keep_backups: 5,
        },
        content: "abc".into(),
    })
}

fn read_file() -> Question {
    Question::ReadFile(wire::ask::ReadFile {
        path: "/data/app/etc/app.conf".into(),
        max_bytes: 1_048_576,
    })
}

fn ups() -> Vec<(&'static str, Up)> {
    let status = ProcessStatus {
        namespace: "gse".into(),
        name: "proc-test".into(),
        state: 1,
        pid: 4437,
        version: "1.2.19".into(),
        started_at_ms: 1_441_006_057_000,
        reported_at_ms: 1_441_006_058_000,
        cpu: 0.5,
        mem: 0.25,
        fd: 12,
        disk: 100,
        net: 200,
        message: "fine".into(),
        ..Default::default()
    };
    let detailed = ProcessStatus {
        namespace: "gse".into(),
        name: "proc-test".into(),
        state: 2,
        process_state: 4,
        next_at_ms: 1_441_006_067_000,
        restarts: 3,
        last_exit: Some(wire::up::LastExitFrame {
            code: None,
            signal: Some(9),
            at_ms: 1_441_006_057_000,
            oom: true,
            ..Default::default()
        }),
        health: Some(wire::up::HealthFrame {
            ok: false,
            checked_at_ms: 1_441_006_056_000,
            message: "exited with code 1".into(),
        }),
        restart_needed: true,
        ..Default::default()
    };
    let wanted = ProcessStatus {
        namespace: "gse".into(),
        name: "proc-test".into(),
        flag: Some(2),
        managed: Some(true),
        ..Default::default()
    };
    vec![
        (
            "up-hello",
            Hello {
                oldest: 1,
                newest: 1,
                agent_version: "0.1.0".into(),
                cloud: 3,
                ip: "10.0.0.1".into(),
                agent_id: "agent-1".into(),
                held_digest: 0xFEED_F00D,
                held_ops: vec![OP],
                root: true,
                hostname: "host".into(),
                kernel: "6.1".into(),
                cores: 2,
                memory_kib: 1024,
                ..Hello::default()
            }
            .into(),
        ),
        (
            "up-hello-session",
            Hello {
                oldest: 1,
                newest: 1,
                cloud: 3,
                ip: "10.0.0.1".into(),
                session: 1_441_006_057_001,
                ..Default::default()
            }
            .into(),
        ),
        (
            "up-hello-extensions",
            Hello {
                oldest: 1,
                newest: 1,
                cloud: 3,
                ip: "10.0.0.1".into(),
                extensions: vec!["restart".into()],
                ..Default::default()
            }
            .into(),
        ),
        (
            "up-report-memory",
            Report {
                statuses: vec![ProcessStatus {
                    namespace: "gse".into(),
                    name: "proc-test".into(),
                    last_exit: Some(wire::up::LastExitFrame {
                        signal: Some(9),
                        at_ms: 1_441_006_057_000,
                        oom: true,
                        memory_used: 104_800_000,
                        memory_limit: 104_857_600,
                        host_restarted: false,
                        ..Default::default()
                    }),
                    ..Default::default()
                }],
            }
            .into(),
        ),
        (
            "up-report-probes",
            Report {
                statuses: vec![ProcessStatus {
                    namespace: "gse".into(),
                    name: "proc-test".into(),
                    state: 1,
                    process_state: 9,
                    probes: Some(wire::up::ProbesFrame {
                        ready: Some(wire::up::HealthFrame {
                            ok: true,
                            checked_at_ms: 1_441_006_057_000,
                            message: String::new(),
                        }),
                        live: Some(wire::up::HealthFrame {
                            ok: false,
                            checked_at_ms: 1_441_006_056_000,
                            message: "127.0.0.1:80: connection refused".into(),
                        }),
                    }),
                    ..Default::default()
                }],
            }
            .into(),
        ),
        (
            "up-report",
            Report {
                statuses: vec![status],
            }
            .into(),
        ),
        (
            "up-report-wanted",
            Report {
                statuses: vec![wanted],
            }
            .into(),
        ),
        (
            "up-report-state",
            Report {
                statuses: vec![detailed],
            }
            .into(),
        ),
        ("up-heartbeat", Report::default().into()),
        (
            "up-result",
            ResultFrame {
                op: Some(OP),
                outcome_json: b"{\"code\":0}".to_vec(),
            }
            .into(),
        ),
        (
            "up-event",
            EventFrame {
                seq: 9,
                at_ms: 1_441_006_057_000,
                namespace: "gse".into(),
                name: "proc-test".into(),
                kind: "process_exit".into(),
                reason: "exited with code 1 after 3 s".into(),
                exit_code: Some(1),
                exit_signal: None,
                report_id: 0,
            }
            .into(),
        ),
        (
            "up-output",
            Output {
                id: 2,
                chunk: b"GET / 200\n".to_vec(),
                last: true,
                refused: String::new(),
            }
            .into(),
        ),
        (
            "up-output-refused",
            Output::refuse(2, "gse/proc-test is not held").into(),
        ),
    ]
}

fn downs() -> Vec<(&'static str, Down)> {
    let process = DesiredProcess {
        name: Some(name()),
        incarnation: 42,
        spec_json: "{\"identity\":{}}".into(),
        labels_json: "{\"a\":\"b\"}".into(),
        flag: 1,
        managed: true,
        registered_at_ms: 1_441_006_057_000,
    };
    vec![
        (
            "down-welcome",
            Welcome {
                version: 1,
                server_time_ms: 5,
                server_version: "0.1.0".into(),
                grants_reports: false,
            }
            .into(),
        ),
        (
            "down-welcome-grants",
            Welcome {
                version: 1,
                server_time_ms: 5,
                server_version: "0.1.0".into(),
                grants_reports: true,
            }
            .into(),
        ),
        (
            "down-desired-full",
            Desired {
                full: true,
                last: true,
                processes: vec![process],
                forget: vec![],
                groups: vec![],
            }
            .into(),
        ),
        (
            "down-desired-forget",
            Desired {
                forget: vec![name()],
                ..Default::default()
            }
            .into(),
        ),
        (
            "down-desired-groups",
            Desired {
                groups: vec![GroupSet {
                    namespace: "gse".into(),
                    groups_json: "[]".into(),
                }],
                ..Default::default()
            }
            .into(),
        ),
        (
            "down-command",
            Command {
                op: Some(OP),
                name: Some(name()),
                op_type: 7,
                probe_json: "{\"proc_name\":\"p\"}".into(),
                deadline_ms: 1_441_006_157_000,
                sent_ms: 0,
            }
            .into(),
        ),
        (
            "down-ack",
            Ack {
                results: vec![OP],
                events_through: 9,
                may_report: 0,
            }
            .into(),
        ),
        (
            "down-ack-grant",
            Ack {
                may_report: 128,
                ..Default::default()
            }
            .into(),
        ),
        (
            "down-bye",
            Bye {
                reason: "the server is stopping".into(),
                permanent: true,
                rejoin: false,
            }
            .into(),
        ),
        (
            "down-bye-rejoin",
            Bye {
                reason: "revoked".into(),
                permanent: true,
                rejoin: true,
            }
            .into(),
        ),
        (
            "down-move",
            Move {
                reason: "the server is draining".into(),
            }
            .into(),
        ),
        (
            "down-dependencies",
            Dependencies {
                states: vec![
                    DependencyState::new(
                        &"db/postgres".parse().unwrap(),
                        When::Ready,
                        Place::Any,
                        None,
                    ),
                    DependencyState::new(
                        &"db/migrate".parse().unwrap(),
                        When::ExitedOk,
                        Place::All,
                        Some("2 of 5 hosts"),
                    ),
                ],
            }
            .into(),
        ),
        ("down-ask-held", Ask::new(1, &Question::Held {}).into()),
        ("down-ask-write-file", Ask::new(3, &write_file()).into()),
        ("down-ask-read-file", Ask::new(4, &read_file()).into()),
        (
            "down-ask-figures",
            Ask::new(
                5,
                &Question::Figures(wire::ask::FiguresOf {
                    process: "web/nginx".parse().unwrap(),
                }),
            )
            .into(),
        ),
        (
            "down-ask-runs",
            Ask::new(
                9,
                &Question::Runs(wire::ask::RunsOf {
                    process: "web/nginx".parse().unwrap(),
                }),
            )
            .into(),
        ),
        ("down-ask-run-logs", Ask::new(10, &run_logs()).into()),
        ("down-ask-check", Ask::new(6, &Question::Check {}).into()),
        ("down-ask-logs", Ask::new(2, &logs()).into()),
        (
            "down-ask-selected-logs",
            Ask::new(8, &selected_logs()).into(),
        ),
        (
            "down-ask-more",
            Ask::new(2, &Question::More { chunks: 4 }).into(),
        ),
        ("down-ask-cancel", Ask::new(2, &Question::Cancel).into()),
    ]
}

fn golden(file: &str, encoded: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(format!("{file}.hex"));
    if !path.exists() && std::env::var_os("UPDATE_GOLDEN").is_some() {
        let hex: String = encoded.iter().map(|byte| format!("{byte:02x}")).collect();
        std::fs::write(&path, hex + "\n").unwrap();
    }
    let hex = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let digits = hex.trim().as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn check<M: Message + Default + wire::Bounded + PartialEq + Clone + Debug>(file: &str, frame: M) {
    let mut codec = Codec::<M, M>::new();
    let mut bytes = BytesMut::new();
    codec.encode(frame.clone(), &mut bytes).unwrap();
    let kept = golden(file, &bytes);
    let read = codec.decode(&mut BytesMut::from(&kept[..])).unwrap();
    assert_eq!(
        read,
        Some(frame),
        "{file}: what agents in the field send is read"
    );
    assert_eq!(&bytes[..], kept, "{file}: what they expect is written");
}

#[test]
fn agent_frames_keep_their_bytes() {
    ups()
        .into_iter()
        .for_each(|(file, frame)| check(file, frame));
}

#[test]
fn server_frames_keep_their_bytes() {
    downs()
        .into_iter()
        .for_each(|(file, frame)| check(file, frame));
}

#[test]
fn enrolment_frames_keep_their_bytes() {
    check(
        "enrol-question",
        Enrol {
            token: "secret".into(),
            cloud: 3,
            ip: "10.0.0.1".into(),
            agent_id: "agent-1".into(),
            csr_der: vec![1, 2, 3],
        },
    );
    check(
        "enrol-answer",
        Enrolled {
            refused: String::new(),
            certificate_der: vec![4, 5],
            ca_der: vec![6],
            agent_id: "agent-1".into(),
            retry: false,
            server_time_ms: 0,
        },
    );
    check(
        "enrol-answer-time",
        Enrolled {
            refused: "neither a certificate nor a token".into(),
            server_time_ms: 1_800_000_000_000,
            ..Enrolled::default()
        },
    );
    check(
        "enrol-answer-retry",
        Enrolled {
            refused: "host 0:10.0.0.1 has an agent that is connected".into(),
            retry: true,
            ..Enrolled::default()
        },
    );
}

/// Fields of newer versions are skipped.
#[test]
fn unknown_fields_are_skipped() {
    let mut bytes = Up::from(Report::default()).encode_to_vec();
    bytes.extend([0xFA, 0x3E, 0x02, 0x08, 0x01]); // field 1007, two bytes
    assert_eq!(Up::decode(&bytes[..]).unwrap(), Up::from(Report::default()));
}

/// An older agent decodes an unknown frame as one without a kind.
#[test]
fn unknown_frames_have_no_kind() {
    let newer = [0xC2, 0x3E, 0x02, 0x0A, 0x00]; // field 1000, two bytes
    assert_eq!(Down::decode(&newer[..]).unwrap(), Down { kind: None });
}
