//! Identity, trust and enrolment, over real TLS.

use std::path::Path;

use agent::config::{Join, ServerAddress};
use agent::data::DataDir;
use agent::identity::{self, EnrolmentState, IdentityError};
use agent::run::keep_connected;
use agent::{AgentConfig, AgentError};
use futures_util::{SinkExt, StreamExt};
use model::UnixMillis;
use supervisor::{Notice, Recovered};
use tokio_util::sync::CancellationToken;
use wire::enrol::{Enrolled, JoinToken};
use wire::{Ack, Bye, UpKind};

use crate::fake_server::{Ca, FakeServer, SECRET};
use crate::fixture::{host, name, op, outcome, recovered, running, state};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub(crate) fn config(data: &Path, server: &str, join: Option<JoinToken>) -> AgentConfig {
    AgentConfig {
        servers: vec![ServerAddress::parse(server).unwrap()],
        data: data.into(),
        ip: Some(host().ip),
        cloud: Some(host().cloud),
        agent_id: None,
        join: join.map(Join),
        memory_max: 256 << 20,
        cpu_max: 50,
        output_runs: 3,
        output_max: 1 << 20,
        cgroups: Default::default(),
        release: Default::default(),
        log: Default::default(),
        log_format: Default::default(),
    }
}

/// Runs an agent with a fake supervisor until the script or the agent ends.
pub(crate) async fn agent<T>(
    config: &AgentConfig,
    script: impl Future<Output = T>,
) -> Result<T, AgentError> {
    let data = DataDir::open(&config.data)?;
    let enrolment = identity::determine(&data, config, NOW)?;
    let (mut state, _supervisor) = state(Recovered::default(), 8);
    let stop = CancellationToken::new();
    tokio::select! {
        ended = keep_connected(config, &data, enrolment, &mut state, &stop) => {
            ended?;
            panic!("an agent ends only with an error");
        }
        value = script => Ok(value),
    }
}

#[tokio::test]
async fn an_agent_enrols_once() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let first = config(dir.path(), &server.address(), Some(ca.token()));
    let (enrol, certified, hello) = agent(&first, async {
        let enrol = server.enrol(&ca).await;
        let (_, certified, hello) = server.welcome().await;
        (enrol, certified, hello)
    })
    .await
    .unwrap();
    assert_eq!(enrol.token, SECRET);
    assert_eq!((enrol.cloud, enrol.ip.as_str()), (3, "10.0.0.7"));
    assert_eq!(certified, host());
    assert_eq!(hello.agent_id, "chosen-by-server");

    // Later it needs neither token nor address.
    let mut later = config(dir.path(), &server.address(), None);
    (later.ip, later.cloud) = (None, None);
    let hello = agent(&later, async { server.welcome().await.2 })
        .await
        .unwrap();
    assert_eq!((hello.cloud, hello.ip.as_str()), (3, "10.0.0.7"));
}

#[tokio::test]
async fn a_server_with_another_ca_does_not_get_the_secret() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Ca::new(), Ca::new());
    let server = FakeServer::start(&theirs).await;
    let config = config(dir.path(), &server.address(), Some(ours.token()));
    let error = agent(&config, async {
        // The agent aborts the handshake before it sends application data.
        if server.accept().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
    .await
    .unwrap_err();
    assert!(error.to_string().contains("nothing was sent"), "{error}");
}

#[tokio::test]
async fn a_presented_ca_must_have_signed_the_certificate() {
    // The impostor presents the right CA beside a certificate that its own CA signed.
    let dir = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Ca::new(), Ca::new());
    let impostor = FakeServer::start_showing(&theirs, &ours).await;
    let config = config(dir.path(), &impostor.address(), Some(ours.token()));
    let connected = agent(&config, async { impostor.accept().await.is_ok() }).await;
    assert!(!connected.unwrap());
}

#[tokio::test]
async fn without_a_fingerprint_the_first_ca_is_pinned() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Ca::new(), Ca::new());
    let server = FakeServer::start(&ours).await;
    let bare = JoinToken {
        secret: SECRET.into(),
        ca_sha256: None,
    };
    let first = config(dir.path(), &server.address(), Some(bare));
    agent(&first, async {
        server.enrol(&ours).await;
        server.welcome().await;
    })
    .await
    .unwrap();

    let other = FakeServer::start(&theirs).await;
    let later = config(dir.path(), &other.address(), None);
    let accepted = agent(&later, async { other.accept().await.is_ok() }).await;
    assert!(!accepted.unwrap());
}

/// Makes a response wrong.
type Spoil<'a> = &'a dyn Fn(&mut Enrolled);

#[tokio::test]
async fn a_response_that_is_not_for_this_agent_is_refused() {
    let (ca, theirs) = (Ca::new(), Ca::new());
    let cases: [(&str, Spoil); 4] = [
        ("no such token", &|answer| {
            answer.refused = "no such token".into()
        }),
        ("CA", &|answer| {
            answer.ca_der = theirs.sign(&some_request()).ca_der;
        }),
        ("another key", &|answer| {
            answer.certificate_der = ca.sign(&some_request()).certificate_der;
        }),
        ("no agent id", &|answer| answer.agent_id = String::new()),
    ];
    for (words, spoil) in cases {
        let dir = tempfile::tempdir().unwrap();
        let server = FakeServer::start(&ca).await;
        let config = config(dir.path(), &server.address(), Some(ca.token()));
        let error = agent(&config, async {
            let (mut connection, question) = server.accept_enrolment().await;
            let mut answer = ca.sign(&question);
            spoil(&mut answer);
            connection.send(answer).await.unwrap();
            std::future::pending::<()>().await;
        })
        .await
        .unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!dir.path().join("identity.toml").exists());
    }
}

fn some_request() -> wire::enrol::Enrol {
    let key = rcgen::KeyPair::generate().unwrap();
    let request = rcgen::CertificateParams::default().serialize_request(&key);
    wire::enrol::Enrol {
        csr_der: request.unwrap().der().to_vec(),
        ..Default::default()
    }
}

#[tokio::test]
async fn an_enrolled_directory_is_refused_for_another_host() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let enrolled = config(dir.path(), &server.address(), Some(ca.token()));
    agent(&enrolled, async {
        server.enrol(&ca).await;
        server.welcome().await;
    })
    .await
    .unwrap();

    let changes: [fn(&mut AgentConfig); 3] = [
        |config| config.ip = Some("10.0.0.8".parse().unwrap()),
        |config| config.cloud = Some(4),
        |config| config.agent_id = Some(model::AgentId::parse("else").unwrap()),
    ];
    for change in changes {
        let mut other = enrolled.clone();
        change(&mut other);
        let data = DataDir::open(dir.path()).unwrap();
        let error = identity::determine(&data, &other, NOW).unwrap_err();
        assert!(matches!(error, IdentityError::Other { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("is enrolled as") && text.contains("--data"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn enrolment_without_token_or_address_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    let mut config = config(dir.path(), "h:1", None);
    let error = identity::determine(&data, &config, NOW)
        .unwrap_err()
        .to_string();
    assert!(error.contains("--join"), "{error}");
    config.join = Some(Join(Ca::new().token()));
    config.ip = None;
    let error = identity::determine(&data, &config, NOW)
        .unwrap_err()
        .to_string();
    assert!(error.contains("--ip"), "{error}");
}

#[tokio::test]
async fn an_interrupted_enrolment_is_repeated_with_the_same_key() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let config = config(dir.path(), &server.address(), Some(ca.token()));
    let key = || {
        let data = DataDir::open(dir.path()).unwrap();
        match identity::determine(&data, &config, NOW).unwrap() {
            EnrolmentState::NotEnrolled { key, .. } => key.serialize_der(),
            other => panic!("{other:?}"),
        }
    };
    let before = key();
    agent(&config, async { drop(server.accept_enrolment().await) })
        .await
        .unwrap();
    assert_eq!(key(), before);
}

#[tokio::test]
async fn an_agent_whose_host_is_in_use_retries() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let config = config(dir.path(), &server.address(), Some(ca.token()));
    let asked_again = agent(&config, async {
        let (mut connection, first) = server.accept_enrolment().await;
        let answer = Enrolled {
            refused: "host 3:10.0.0.7 has an agent that is connected".into(),
            retry: true,
            ..Enrolled::default()
        };
        connection.send(answer).await.unwrap();
        while connection.next().await.is_some() {}
        // From here on time is simulated.
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let (_, second) = server.accept_enrolment().await;
        assert_eq!(first.token, second.token);
        began.elapsed()
    });
    let waited = asked_again.await.unwrap();
    assert!(waited.as_secs() >= 60, "{waited:?}");
}

#[tokio::test]
async fn the_supervisor_is_served_while_there_is_no_server() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let address = FakeServer::start(&ca).await.address();
    let config = config(dir.path(), &address, Some(ca.token()));
    let data = DataDir::open(&config.data).unwrap();
    let enrolment = identity::determine(&data, &config, NOW).unwrap();
    let held = vec![recovered("gse/p", 1)];
    let (mut state, supervisor) = state(
        Recovered {
            held,
            ..Recovered::default()
        },
        1,
    );
    let stop = CancellationToken::new();
    let script = async {
        for pid in 0..100 {
            let status = Notice::Status(name("gse/p"), running(pid).into());
            supervisor.notices.send(status).await.unwrap();
        }
        supervisor
            .notices
            .send(Notice::Ended(op(1), outcome(1)))
            .await
            .unwrap();
        // Only now a server starts; it disconnects once.
        let server = FakeServer::start_at(&ca, &address).await;
        server.enrol(&ca).await;
        drop(server.welcome().await);
        let (mut session, _, hello) = server.welcome().await;
        assert_eq!(hello.held_ops.len(), 1);
        let mut seen = Vec::new();
        while seen.len() < 2 {
            match session.next().await.unwrap().unwrap().kind.unwrap() {
                UpKind::Report(report) => seen.push(format!("pid {}", report.statuses[0].pid)),
                UpKind::Result(result) => seen.push(result.outcome().unwrap().message),
                other => panic!("{other:?}"),
            }
        }
        session.send(Ack::default().into()).await.unwrap();
        assert_eq!(seen, ["pid 99", "result 1"]);
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(
        keep_connected(&config, &data, enrolment, &mut state, &stop),
        script
    );
    ended.unwrap();
}

#[tokio::test]
async fn a_refused_agent_stops_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let config = config(dir.path(), &server.address(), Some(ca.token()));
    let data = DataDir::open(&config.data).unwrap();
    let enrolment = identity::determine(&data, &config, NOW).unwrap();
    let (mut state, _supervisor) = state(Recovered::default(), 1);
    let stop = CancellationToken::new();
    let script = async {
        server.enrol(&ca).await;
        let (mut session, ..) = server.welcome().await;
        let bye = Bye {
            reason: "revoked".into(),
            permanent: true,
            rejoin: false,
        };
        session.send(bye.into()).await.unwrap();
        while session.next().await.is_some_and(|frame| frame.is_ok()) {}
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(
        keep_connected(&config, &data, enrolment, &mut state, &stop),
        script
    );
    ended.unwrap();
}
