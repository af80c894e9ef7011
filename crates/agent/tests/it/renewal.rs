//! Certificates: renewal, revocation, expiry.

use agent::data::DataDir;
use agent::identity::{self, EnrolmentState};
use futures_util::{SinkExt, StreamExt};
use model::UnixMillis;
use rustls_pki_types::CertificateDer;
use tokio_util::codec::Framed;
use wire::enrol::{Enrol, Enrolled};
use wire::{Bye, Codec, Down, Up, UpKind, Welcome};

use crate::enrolment::{NOW, agent, config};
use crate::fake_server::{Ca, FakeServer, SessionFrames};

/// An accepted connection of the agent.
enum Accepted {
    Enrolment(
        Framed<tokio_rustls::server::TlsStream<tokio::net::TcpStream>, Codec<Enrol, Enrolled>>,
        Enrol,
    ),
    Session(SessionFrames),
}

/// The next connection, and its client certificate.
async fn next_connection(server: &FakeServer) -> (Accepted, Option<CertificateDer<'static>>) {
    let stream = server.accept().await.unwrap();
    let tls = stream.get_ref().1;
    let certificate = tls.peer_certificates().map(|chain| chain[0].clone());
    if tls.alpn_protocol() == Some(wire::enrol::ALPN) {
        let mut framed = Framed::new(stream, Codec::with_limit(wire::enrol::MAX_FRAME));
        let question = framed.next().await.unwrap().unwrap();
        return (Accepted::Enrolment(framed, question), certificate);
    }
    let mut framed: SessionFrames = Framed::new(stream, Codec::new());
    let Some(Ok(Up {
        kind: Some(UpKind::Hello(_)),
    })) = framed.next().await
    else {
        panic!("no hello");
    };
    let welcome = Welcome {
        version: 1,
        ..Welcome::default()
    };
    framed.send(Down::from(welcome)).await.unwrap();
    (Accepted::Session(framed), certificate)
}

/// Enrols an agent with a certificate that is due for renewal.
async fn enrol_long_ago(server: &FakeServer, ca: &Ca) -> CertificateDer<'static> {
    let (Accepted::Enrolment(mut connection, question), None) = next_connection(server).await
    else {
        panic!("no enrolment");
    };
    let answer = ca.sign_at(&question, UnixMillis(0));
    connection.send(answer.clone()).await.unwrap();
    answer.certificate_der.into()
}

fn certificate_in(dir: &std::path::Path, address: &str) -> CertificateDer<'static> {
    let data = DataDir::open(dir).unwrap();
    match identity::determine(&data, &config(dir, address, None), NOW).unwrap() {
        EnrolmentState::Enrolled(identity) => identity.certificate,
        EnrolmentState::NotEnrolled { .. } => panic!("not enrolled"),
    }
}

#[tokio::test]
async fn a_due_certificate_is_renewed_with_a_new_key() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let config = config(dir.path(), &server.address(), Some(ca.token()));
    let (old, new) = agent(
        &config,
        Box::pin(async {
            let old = enrol_long_ago(&server, &ca).await;
            let mut new = None;
            let mut is_confirmed = false;
            let mut sessions = Vec::new();
            while !is_confirmed {
                match next_connection(&server).await {
                    (Accepted::Session(session), certificate) => {
                        assert_eq!(certificate.as_ref(), Some(&old));
                        sessions.push(session);
                    }
                    (Accepted::Enrolment(mut connection, question), certificate) => {
                        assert_eq!(question.token, "", "the secret is not sent again");
                        let answer = match question.csr_der.is_empty() {
                            true => {
                                assert_eq!(certificate, new, "asked with the new one");
                                is_confirmed = true;
                                Enrolled::default()
                            }
                            false => {
                                assert_eq!(certificate.as_ref(), Some(&old));
                                let answer = ca.sign_at(&question, NOW);
                                new = Some(answer.certificate_der.clone().into());
                                answer
                            }
                        };
                        connection.send(answer).await.unwrap();
                    }
                }
            }
            // New connections use it once it is on disk.
            drop(sessions);
            loop {
                match next_connection(&server).await {
                    (Accepted::Session(_), certificate) if certificate == new => break,
                    (Accepted::Session(_), certificate) => {
                        assert_eq!(certificate.as_ref(), Some(&old))
                    }
                    (Accepted::Enrolment(..), _) => panic!("it was renewed already"),
                }
            }
            (old, new.unwrap())
        }),
    )
    .await
    .unwrap();
    assert_ne!(old, new);
    assert_eq!(certificate_in(dir.path(), &server.address()), new);
}

#[tokio::test]
async fn a_new_certificate_that_the_server_refuses_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let config = config(dir.path(), &server.address(), Some(ca.token()));
    let old = agent(
        &config,
        Box::pin(async {
            let old = enrol_long_ago(&server, &ca).await;
            let mut sessions = Vec::new();
            loop {
                match next_connection(&server).await {
                    (Accepted::Session(session), _) => sessions.push(session),
                    (Accepted::Enrolment(mut connection, question), _) => {
                        let is_asked = question.csr_der.is_empty();
                        let answer = match is_asked {
                            true => Enrolled {
                                refused: "not this one".into(),
                                ..Enrolled::default()
                            },
                            false => ca.sign_at(&question, NOW),
                        };
                        connection.send(answer).await.unwrap();
                        // Until the agent has read it.
                        while connection.next().await.is_some() {}
                        if is_asked {
                            return old;
                        }
                    }
                }
            }
        }),
    )
    .await
    .unwrap();
    assert_eq!(certificate_in(dir.path(), &server.address()), old);
}

#[tokio::test]
async fn an_agent_killed_while_it_replaces_its_key_keeps_its_identity() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let config = config(dir.path(), &server.address(), Some(ca.token()));
    agent(&config, async {
        server.enrol(&ca).await;
        server.welcome().await;
    })
    .await
    .unwrap();
    let path = dir.path().join("agent-key.pem");
    let old = std::fs::read_to_string(&path).unwrap();
    let new = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let before = certificate_in(dir.path(), &server.address());
    std::fs::write(&path, format!("{new}{old}")).unwrap();
    assert_eq!(certificate_in(dir.path(), &server.address()), before);
    agent(&config, async { server.welcome().await })
        .await
        .unwrap();
}

#[tokio::test]
async fn a_revoked_agent_joins_again_with_its_token_and_a_new_key() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let config = config(dir.path(), &server.address(), Some(ca.token()));
    agent(
        &config,
        Box::pin(async {
            let first = server.enrol(&ca).await;
            let (mut session, ..) = server.welcome().await;
            let bye = Bye {
                reason: "revoked".into(),
                permanent: true,
                rejoin: true,
            };
            session.send(bye.into()).await.unwrap();
            let second = server.enrol(&ca).await;
            assert_ne!(first.csr_der, second.csr_der);
            assert_eq!(second.token, crate::fake_server::SECRET);
            assert_eq!(second.agent_id, "chosen-by-server");
            server.welcome().await;
        }),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn an_expired_certificate_needs_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let with_token = config(dir.path(), &server.address(), Some(ca.token()));
    agent(&with_token, async {
        server.enrol(&ca).await;
        server.welcome().await;
    })
    .await
    .unwrap();
    let in_5000_years = UnixMillis(NOW.0 + 5000 * 365 * 24 * 3600 * 1000);
    let data = DataDir::open(dir.path()).unwrap();
    let enrolment = identity::determine(&data, &with_token, in_5000_years).unwrap();
    assert!(matches!(enrolment, EnrolmentState::NotEnrolled { .. }));
    // Without a token the agent goes on: perhaps only the clock is wrong.
    let without = config(dir.path(), &server.address(), None);
    let enrolment = identity::determine(&data, &without, in_5000_years).unwrap();
    assert!(matches!(enrolment, EnrolmentState::Enrolled(_)));
}
