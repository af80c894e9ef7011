//! Config files on hosts, written and read by a fake agent.

use std::time::Duration;

use control::{ControlError, FileOnHost, Mode};
use model::Host;
use model::config_file::{DesiredFile, FileLookup, FileMetadata, MAX_BYTES, WrittenFile};
use testkit::FakeAgent;
use wire::ask::{Question, ReadFile, WriteFile};
use wire::{DownKind, Output};

use crate::rig::Rig;

const HOST: &str = "10.0.0.1";
const PATH: &str = "/etc/app.conf";

fn host() -> Host {
    HOST.parse().unwrap()
}

async fn rig() -> (Rig, FakeAgent) {
    let rig = Rig::new().await;
    rig.register("ns/p", &[HOST], "./a", Mode::Register).await;
    let agent = rig.agent(HOST).await;
    agent.received().await;
    (rig, agent)
}

fn wanted() -> DesiredFile {
    DesiredFile {
        path: PATH.into(),
        owner: "app".into(),
        group: "app".into(),
        mode: 0o640,
        md5: "900150983cd24fb0d6963f7d28e17f72".into(),
        keep_backups: 5,
    }
}

fn written() -> WrittenFile {
    WrittenFile {
        path: PATH.into(),
        md5: wanted().md5,
        unchanged: false,
        previous_md5: None,
        backup_path: None,
    }
}

#[tokio::test]
async fn a_file_is_sent_to_its_host_and_the_result_comes_back() {
    let (rig, agent) = rig().await;
    let writing = rig
        .control
        .sessions()
        .write_file(host(), wanted(), b"abc".to_vec());
    let doing = async {
        let (id, question) = agent.next_question().await;
        let expected = WriteFile {
            file: wanted(),
            content: "abc".into(),
        };
        assert_eq!(question, Question::WriteFile(expected));
        agent
            .send_all(id, serde_json::to_vec(&written()).unwrap())
            .await;
    };
    assert_eq!(tokio::join!(writing, doing).0.unwrap(), written());
}

#[tokio::test]
async fn any_bytes_are_read_and_a_missing_file_is_none() {
    let (rig, agent) = rig().await;
    let content = b"\n{\"x\":1}\r\n\xff\0".to_vec();
    let head = FileMetadata {
        size: content.len() as u64,
        md5: "m".into(),
        owner: "app".into(),
        group: "7".into(),
        mode: 0o600,
    };
    let cut = FileMetadata {
        size: 100,
        ..head.clone()
    };
    let file = FileOnHost {
        content: content.clone(),
        md5: "m".into(),
        owner: "app".into(),
        group: "7".into(),
        mode: 0o600,
    };
    for (found, expected) in [
        (FileLookup::Nothing, Some(None)),
        (FileLookup::File(head), Some(Some(file))),
        (FileLookup::File(cut), None),
    ] {
        let doing = async {
            let (id, question) = agent.next_question().await;
            let expected = ReadFile {
                path: PATH.into(),
                max_bytes: 1000,
            };
            assert_eq!(question, Question::ReadFile(expected));
            let mut bytes = serde_json::to_vec(&found).unwrap();
            bytes.push(b'\n');
            if matches!(found, FileLookup::File(_)) {
                bytes.extend(&content);
            }
            agent.send_all(id, bytes).await;
        };
        let reading = rig.control.sessions().read_file(host(), PATH, 1000);
        assert_eq!(tokio::join!(reading, doing).0.ok(), expected);
    }
}

#[tokio::test]
async fn the_refusal_of_a_host_reaches_the_caller() {
    let (rig, agent) = rig().await;
    for has_begun in [false, true] {
        let doing = async {
            let (id, _) = agent.next_question().await;
            if has_begun {
                agent.send_chunk(id, "").await;
            }
            agent.send(Output::refuse(id, "owner: no")).await;
        };
        let writing = rig
            .control
            .sessions()
            .write_file(host(), wanted(), Vec::new());
        let error = tokio::join!(writing, doing).0.unwrap_err();
        assert!(matches!(&error, ControlError::Declined(_)), "{error:?}");
        assert_eq!(error.to_string(), "owner: no");
    }
}

#[tokio::test]
async fn a_slow_disk_is_waited_for_but_not_a_stuck_one() {
    let (rig, agent) = rig().await;
    tokio::time::pause();
    for secs in [60, 300] {
        let doing = async {
            let (id, _) = agent.next_question().await;
            agent.send_chunk(id, "").await;
            tokio::time::sleep(Duration::from_secs(secs)).await;
            agent
                .send_all(id, serde_json::to_vec(&written()).unwrap())
                .await;
        };
        let writing = rig
            .control
            .sessions()
            .write_file(host(), wanted(), Vec::new());
        let done = tokio::join!(writing, doing).0;
        match secs {
            60 => assert_eq!(done.unwrap(), written()),
            _ => {
                let error = done.unwrap_err();
                assert!(matches!(&error, ControlError::Away(_)), "{error:?}");
                assert!(error.to_string().contains("in 120 s"), "{error}");
            }
        }
    }
    // An agent that does not know the question sends nothing.
    agent.received().await;
    let writing = rig
        .control
        .sessions()
        .write_file(host(), wanted(), Vec::new());
    let error = tokio::join!(writing, agent.next_question()).0.unwrap_err();
    assert!(error.to_string().contains("it may be older"), "{error}");
}

#[tokio::test]
async fn transfers_are_limited_and_end_with_their_connection() {
    let (rig, agent) = rig().await;
    let mut writing = Vec::new();
    for _ in 0..40 {
        let control = rig.control.clone();
        writing.push(tokio::spawn(async move {
            control
                .sessions()
                .write_file(host(), wanted(), Vec::new())
                .await
        }));
    }
    let mut n_done = 0;
    while n_done < 20 {
        let heard = agent.received().await;
        assert!((1..=4).contains(&heard.len()), "{heard:?}");
        for kind in heard {
            let DownKind::Ask(ask) = kind else {
                panic!("{kind:?}");
            };
            agent
                .send_all(ask.id, serde_json::to_vec(&written()).unwrap())
                .await;
            n_done += 1;
        }
    }
    drop(agent);
    let (mut n_written, mut n_away) = (0, 0);
    for writing in writing {
        match writing.await.unwrap() {
            Ok(_) => n_written += 1,
            Err(ControlError::Away(_)) => n_away += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((n_written, n_away), (n_done, 40 - n_done));
    let error = rig
        .control
        .sessions()
        .read_file(host(), PATH, 1)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not connected"), "{error}");
}

#[tokio::test]
async fn an_invalid_file_is_not_sent() {
    let (rig, agent) = rig().await;
    let long = vec![0; MAX_BYTES + 1];
    let error = rig
        .control
        .sessions()
        .write_file(host(), wanted(), long)
        .await;
    assert!(matches!(error, Err(ControlError::Invalid(_))), "{error:?}");
    let ownerless = DesiredFile {
        owner: String::new(),
        ..wanted()
    };
    let error = rig
        .control
        .sessions()
        .write_file(host(), ownerless, Vec::new())
        .await;
    assert_eq!(error.unwrap_err().to_string(), "owner: is required");
    let elsewhere = "10.9.9.9".parse().unwrap();
    let error = rig.control.sessions().read_file(elsewhere, PATH, 1).await;
    assert!(matches!(error, Err(ControlError::NotFound(_))), "{error:?}");
    assert!(agent.received().await.is_empty());
}
