//! `--join-only`: an identity, or everything as it was.

use std::path::Path;

use agent::join_only::{Joined, join_only};
use agent::{AgentConfig, AgentError};
use futures_util::{SinkExt, StreamExt};
use wire::enrol::Enrolled;

use crate::enrolment::config;
use crate::fake_server::{Ca, FakeServer};
use crate::fixture::host;

async fn join(config: &AgentConfig) -> Result<Joined, AgentError> {
    let config = config.clone();
    let joining = tokio::task::spawn_blocking(move || join_only(&config));
    joining.await.unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_host_joins_once_without_an_agent() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("a/data");
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let first = config(&data, &server.address(), Some(ca.token()));
    let (joined, _) = tokio::join!(join(&first), server.enrol(&ca));
    let joined = joined.unwrap();
    assert_eq!((joined.host, joined.joined), (host(), true));
    assert_eq!(
        joined.to_string(),
        "joined as host 3:10.0.0.7, agent chosen-by-server"
    );
    assert_eq!(names(&data), ["agent-key.pem", "identity.toml", "lock"]);
    // Without a token there is nothing to ask.
    let later = config(&data, &server.address(), None);
    assert!(!join(&later).await.unwrap().joined);
}

#[tokio::test]
async fn a_join_that_fails_leaves_everything_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let mine = dir.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("notes"), "kept").unwrap();
    for data in [dir.path().join("a/data"), mine] {
        let config = config(&data, &server.address(), Some(ca.token()));
        // An answer that a retry might change is an answer as well.
        for retry in [false, true] {
            let refusing = async {
                let (mut connection, _) = server.accept_enrolment().await;
                let answer = Enrolled {
                    refused: "the token is for another host".into(),
                    retry,
                    ..Enrolled::default()
                };
                connection.send(answer).await.unwrap();
                while connection.next().await.is_some() {}
            };
            let (refused, ()) = tokio::join!(join(&config), refusing);
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("the token is for another host"), "{said}");
        }
    }
    let nowhere = config(&dir.path().join("b"), "127.0.0.1:1", Some(ca.token()));
    let said = join(&nowhere).await.unwrap_err().to_string();
    assert!(said.contains("cannot connect to the server"), "{said}");
    assert_eq!(names(dir.path()), ["mine"]);
    assert_eq!(names(&dir.path().join("mine")), ["notes"]);
}
