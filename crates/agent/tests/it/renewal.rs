//! Certificates that are renewed, and those that are of no use any more.

use agent::data::DataDir;
use agent::identity::{self, Standing};
use futures_util::{SinkExt, StreamExt};
use model::UnixMillis;
use rustls_pki_types::CertificateDer;
use tokio_util::codec::Framed;
use wire::enrol::{Enrol, Enrolled};
use wire::{Bye, Codec, Down, Up, UpKind, Welcome};

use crate::enrolment::{NOW, agent, config};
use crate::peer::{Ca, Peer, Talking};

/// What a connection of the agent turned out to be.
enum Visit {
    Enrolment(
        Framed<tokio_rustls::server::TlsStream<tokio::net::TcpStream>, Codec<Enrol, Enrolled>>,
        Enrol,
    ),
    Session(Talking),
}

/// The next connection, and the certificate that it was made with.
async fn visit(peer: &Peer) -> (Visit, Option<CertificateDer<'static>>) {
    let stream = peer.accept().await.unwrap();
    let tls = stream.get_ref().1;
    let certificate = tls.peer_certificates().map(|chain| chain[0].clone());
    if tls.alpn_protocol() == Some(wire::enrol::ALPN) {
        let mut framed = Framed::new(stream, Codec::with_limit(wire::enrol::MAX_FRAME));
        let question = framed.next().await.unwrap().unwrap();
        return (Visit::Enrolment(framed, question), certificate);
    }
    let mut framed: Talking = Framed::new(stream, Codec::new());
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
    (Visit::Session(framed), certificate)
}

/// Enrols an agent with a certificate that is due to be renewed.
async fn enrol_long_ago(peer: &Peer, ca: &Ca) -> CertificateDer<'static> {
    let (Visit::Enrolment(mut connection, question), None) = visit(peer).await else {
        panic!("no enrolment");
    };
    let answer = ca.sign_at(&question, UnixMillis(0));
    connection.send(answer.clone()).await.unwrap();
    answer.certificate_der.into()
}

fn certificate_in(dir: &std::path::Path, address: &str) -> CertificateDer<'static> {
    let data = DataDir::open(dir).unwrap();
    match identity::settle(&data, &config(dir, address, None), NOW).unwrap() {
        Standing::Enrolled(identity) => identity.certificate,
        Standing::Stranger { .. } => panic!("not enrolled"),
    }
}

#[tokio::test]
async fn a_certificate_that_is_due_is_renewed_with_a_new_key_and_used_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let peer = Peer::start(&ca).await;
    let config = config(dir.path(), &peer.address(), Some(ca.token()));
    let (old, new) = agent(
        &config,
        Box::pin(async {
            let old = enrol_long_ago(&peer, &ca).await;
            let mut new = None;
            let mut is_confirmed = false;
            let mut sessions = Vec::new();
            while !is_confirmed {
                match visit(&peer).await {
                    (Visit::Session(session), certificate) => {
                        assert_eq!(certificate.as_ref(), Some(&old));
                        sessions.push(session);
                    }
                    (Visit::Enrolment(mut connection, question), certificate) => {
                        assert_eq!(question.token, "", "the secret is not said again");
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
            // The next connection is made with it, once it is on disk.
            drop(sessions);
            loop {
                match visit(&peer).await {
                    (Visit::Session(_), certificate) if certificate == new => break,
                    (Visit::Session(_), certificate) => {
                        assert_eq!(certificate.as_ref(), Some(&old))
                    }
                    (Visit::Enrolment(..), _) => panic!("it was renewed already"),
                }
            }
            (old, new.unwrap())
        }),
    )
    .await
    .unwrap();
    assert_ne!(old, new);
    assert_eq!(certificate_in(dir.path(), &peer.address()), new);
}

#[tokio::test]
async fn a_new_certificate_that_the_server_does_not_take_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let peer = Peer::start(&ca).await;
    let config = config(dir.path(), &peer.address(), Some(ca.token()));
    let old = agent(
        &config,
        Box::pin(async {
            let old = enrol_long_ago(&peer, &ca).await;
            let mut sessions = Vec::new();
            loop {
                match visit(&peer).await {
                    (Visit::Session(session), _) => sessions.push(session),
                    (Visit::Enrolment(mut connection, question), _) => {
                        let is_asked = question.csr_der.is_empty();
                        let answer = match is_asked {
                            true => Enrolled {
                                refused: "not this one".into(),
                                ..Enrolled::default()
                            },
                            false => ca.sign_at(&question, NOW),
                        };
                        connection.send(answer).await.unwrap();
                        // Until it has heard it.
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
    assert_eq!(certificate_in(dir.path(), &peer.address()), old);
}

#[tokio::test]
async fn an_agent_killed_while_it_replaces_its_key_is_still_itself() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let peer = Peer::start(&ca).await;
    let config = config(dir.path(), &peer.address(), Some(ca.token()));
    agent(&config, async {
        peer.enrol(&ca).await;
        peer.welcome().await;
    })
    .await
    .unwrap();
    let path = dir.path().join("agent-key.pem");
    let old = std::fs::read_to_string(&path).unwrap();
    let new = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let before = certificate_in(dir.path(), &peer.address());
    std::fs::write(&path, format!("{new}{old}")).unwrap();
    assert_eq!(certificate_in(dir.path(), &peer.address()), before);
    agent(&config, async { peer.welcome().await })
        .await
        .unwrap();
}

#[tokio::test]
async fn an_agent_whose_certificate_was_revoked_joins_again_with_its_token_and_a_new_key() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let peer = Peer::start(&ca).await;
    let config = config(dir.path(), &peer.address(), Some(ca.token()));
    agent(
        &config,
        Box::pin(async {
            let first = peer.enrol(&ca).await;
            let (mut session, ..) = peer.welcome().await;
            let bye = Bye {
                reason: "revoked".into(),
                permanent: true,
                rejoin: true,
            };
            session.send(bye.into()).await.unwrap();
            let second = peer.enrol(&ca).await;
            assert_ne!(first.csr_der, second.csr_der);
            assert_eq!(second.token, crate::peer::SECRET);
            assert_eq!(second.agent_id, "chosen-by-server");
            peer.welcome().await;
        }),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn an_expired_certificate_needs_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let peer = Peer::start(&ca).await;
    let with_token = config(dir.path(), &peer.address(), Some(ca.token()));
    agent(&with_token, async {
        peer.enrol(&ca).await;
        peer.welcome().await;
    })
    .await
    .unwrap();
    let in_5000_years = UnixMillis(NOW.0 + 5000 * 365 * 24 * 3600 * 1000);
    let data = DataDir::open(dir.path()).unwrap();
    let standing = identity::settle(&data, &with_token, in_5000_years).unwrap();
    assert!(matches!(standing, Standing::Stranger { .. }));
    // Perhaps it is only the clock: without a token there is nothing better to do than to go on.
    let without = config(dir.path(), &peer.address(), None);
    let standing = identity::settle(&data, &without, in_5000_years).unwrap();
    assert!(matches!(standing, Standing::Enrolled(_)));
}
