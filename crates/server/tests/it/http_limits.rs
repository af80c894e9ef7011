//! The door of the API under attack: floods, slow senders, slow readers; and TLS. Over real sockets.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use server::http::BodyPace;
use server::{HttpDoor, TlsFiles};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::rig::{APP, Rig, SECRET, example};

const SOON: Duration = Duration::from_millis(300);

fn quick() -> HttpDoor {
    HttpDoor {
        handshake_within: SOON,
        head_within: SOON,
        read_within: SOON,
        ..HttpDoor::default()
    }
}

fn slow_bodies_end() -> BodyPace {
    BodyPace {
        silence: SOON,
        small_within: SOON * 3,
        rate: 1024,
    }
}

/// Reads until the other side closes, which it must within a time; a reset is an end, too.
async fn to_the_end(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let ended = tokio::time::timeout(Duration::from_secs(20), reading).await;
    let _ = ended.expect("the server closes the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn is_healthy(rig: &Rig) -> bool {
    rig.send("GET", "/healthz", &[], b"").await.status == 200
}

#[tokio::test]
async fn a_head_that_does_not_come_and_an_idle_connection_are_closed() {
    let rig = Rig::with(quick(), |state| state).await;
    let mut silent = TcpStream::connect(rig.address).await.unwrap();
    let mut dripping = TcpStream::connect(rig.address).await.unwrap();
    let mut idle = TcpStream::connect(rig.address).await.unwrap();
    dripping
        .write_all(b"GET /healthz HTTP/1.1\r\nx: ")
        .await
        .unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let (mut from_dripping, mut to_dripping) = dripping.split();
    let drip = async {
        // Bytes that come for ever do not make a head.
        while to_dripping.write_all(b"y").await.is_ok() {
            tokio::time::sleep(SOON / 10).await;
        }
    };
    tokio::select! {
        () = drip => {}
        said = to_the_end(&mut from_dripping) => assert!(!said.contains("200 OK"), "{said}"),
    }
    to_the_end(&mut silent).await;
    assert!(to_the_end(&mut idle).await.contains("200 OK"));
    assert!(is_healthy(&rig).await);
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let rig = Rig::new().await;
    let long = "x".repeat(100 * 1024);
    let answer = rig.send("GET", "/healthz", &[("x-long", &long)], b"").await;
    assert_eq!(answer.status, 431);
    assert!(is_healthy(&rig).await);
}

#[tokio::test]
async fn a_body_that_stops_or_crawls_is_given_up() {
    let rig = Rig::with(HttpDoor::default(), |state| {
        state.with_bounds(slow_bodies_end(), 100)
    })
    .await;
    let head = "POST /v2/gse/get_proc_status/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 100000\r\n\r\n{";
    let mut stopped = TcpStream::connect(rig.address).await.unwrap();
    stopped.write_all(head.as_bytes()).await.unwrap();
    let said = to_the_end(&mut stopped).await;
    assert!(said.contains("ended before it was complete"), "{said}");

    let mut crawling = TcpStream::connect(rig.address).await.unwrap();
    crawling.write_all(head.as_bytes()).await.unwrap();
    let (mut answer, mut body) = crawling.split();
    let crawl = async {
        while body.write_all(b" ").await.is_ok() {
            tokio::time::sleep(SOON / 5).await;
        }
    };
    let said = tokio::select! {
        () = crawl => String::new(),
        said = to_the_end(&mut answer) => said,
    };
    assert!(said.contains("came too slowly"), "{said}");
    assert!(is_healthy(&rig).await);
}

#[tokio::test]
async fn connections_are_bounded_from_one_address_and_in_all() {
    let per_address = HttpDoor {
        max_connections_per_address: 3,
        ..HttpDoor::default()
    };
    let in_all = HttpDoor {
        max_connections: 3,
        ..HttpDoor::default()
    };
    for (door, reason) in [
        (per_address, "connections_of_address"),
        (in_all, "connections"),
    ] {
        let rig = Rig::with(door, |state| state).await;
        // Connections with a request under way: its body does not come.
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(begin(rig.address).await);
        }
        let mut one_too_many = begin(rig.address).await;
        assert_eq!(to_the_end(&mut one_too_many).await, "", "closed at once");
        open.pop();
        // There is room again as soon as the server has noticed.
        let has_room = tokio::time::timeout(Duration::from_secs(20), async {
            while !is_answered(rig.address).await {
                tokio::task::yield_now().await;
            }
        });
        has_room.await.expect("a place is free again");
        drop(open);
        let has_room = tokio::time::timeout(Duration::from_secs(20), async {
            while !is_answered(rig.address).await {
                tokio::task::yield_now().await;
            }
        });
        has_room.await.expect("places are free again");
        let metrics = rig.send("GET", "/metrics", &[], b"").await;
        let metrics = String::from_utf8(metrics.body).unwrap();
        assert!(shed(&metrics, reason) >= 1, "{metrics}");
    }
}

/// Sends a head and one byte of its body.
async fn begin(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = b"POST /v2/gse/get_proc_status/ HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n";
    // The connection may be closed before or after this is written.
    let _ = stream.write_all(head).await;
    // The server says this when it reads the body, so the request is under way by then.
    let mut go_on = [0; 25];
    if stream.read_exact(&mut go_on).await.is_ok() {
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    stream
}

/// Whether a connection of its own gets an answer.
async fn is_answered(address: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head).await;
    to_the_end(&mut stream).await.contains("200 OK")
}

/// How many were turned away for a reason, as the metrics say.
fn shed(metrics: &str, reason: &str) -> u64 {
    let prefix = format!("muster_shed_total{{reason=\"{reason}\"}} ");
    let found = metrics.lines().find_map(|line| line.strip_prefix(&prefix));
    found.expect("every reason has a line").parse().unwrap()
}

#[tokio::test]
async fn the_longest_idle_connection_makes_room_for_a_new_one() {
    let door = HttpDoor {
        max_connections: 3,
        // Idle connections would stay for longer than the test may take.
        head_within: Duration::from_secs(600),
        ..HttpDoor::default()
    };
    let rig = Rig::with(door, |state| state).await;
    let mut silent = TcpStream::connect(rig.address).await.unwrap();
    let mut kept_alive = TcpStream::connect(rig.address).await.unwrap();
    let ask = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    kept_alive.write_all(ask).await.unwrap();
    let mut head = [0; 12];
    kept_alive.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let busy = begin(rig.address).await;

    // All places are taken. The first to go is the one that never asked, then the one that has its answer.
    assert!(is_answered(rig.address).await);
    assert_eq!(to_the_end(&mut silent).await, "");
    for _ in 0..5 {
        assert!(is_answered(rig.address).await);
    }
    let mut pair = [begin(rig.address).await, begin(rig.address).await];
    let rest = to_the_end(&mut kept_alive).await;
    assert!(rest.contains("\"status\"") || rest.contains("ok"), "{rest}");
    // None is idle now.
    assert!(!is_answered(rig.address).await);
    pair[0].write_all(b"{}        ").await.unwrap();
    drop(pair);
    drop(busy);
    let has_room = tokio::time::timeout(Duration::from_secs(20), async {
        while !is_answered(rig.address).await {
            tokio::task::yield_now().await;
        }
    });
    has_room.await.expect("places are free again");
    let metrics = rig.send("GET", "/metrics", &[], b"").await;
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(shed(&metrics, "idle_connections") >= 2, "{metrics}");
    assert!(shed(&metrics, "connections") >= 1, "{metrics}");
}

#[tokio::test]
async fn requests_at_a_time_are_bounded_in_every_dialect() {
    let rig = Rig::with(HttpDoor::default(), |state| {
        state.with_bounds(BodyPace::default(), 1)
    })
    .await;
    // One that goes on: its body has not come.
    let mut first = TcpStream::connect(rig.address).await.unwrap();
    first
        .write_all(b"POST /api/v1/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n")
        .await
        .unwrap();
    let answer = loop {
        let answer = rig.send("GET", "/healthz", &[], b"").await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    let envelope = rig.bare("POST", "/v2/gse/get_proc_status/", "{}").await;
    assert_eq!(envelope["code"], 1_000_503);
    let path = "/v2/gsekit/api/process/process_status/";
    assert_eq!(rig.bare("POST", path, "{}").await["code"], 1_000_503);
    drop(first);
    while !is_healthy(&rig).await {
        tokio::task::yield_now().await;
    }
    let metrics = rig.send("GET", "/metrics", &[], b"").await;
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(shed(&metrics, "requests") >= 3, "{metrics}");
    for dialect in ["native", "gse", "gsekit"] {
        let counted = format!("muster_http_requests_total{{dialect=\"{dialect}\",endpoint=");
        let is_counted = |line: &str| line.starts_with(&counted) && line.contains("server_error");
        assert!(metrics.lines().any(is_counted), "{dialect}: {metrics}");
    }
}

#[tokio::test]
async fn streams_are_bounded_for_each_caller() {
    let rig = Rig::new().await;
    let headers = [
        ("X-Bkapi-App-Code", APP),
        ("X-Bkapi-App-Secret", SECRET),
        ("X-Bkapi-User-Name", "alice"),
    ];
    let mut open = Vec::new();
    let refused = loop {
        let mut stream = rig.open("GET", "/api/v1/watch", &headers, b"").await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        match &head {
            b"HTTP/1.1 200" => open.push(stream),
            other => break String::from_utf8_lossy(other).into_owned(),
        }
        assert!(open.len() < 1000);
    };
    assert_eq!((refused.as_str(), open.len()), ("HTTP/1.1 503", 64));
    open.pop();
    loop {
        let mut stream = rig.open("GET", "/api/v1/watch", &headers, b"").await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        if head == *b"HTTP/1.1 200" {
            break;
        }
    }
}

#[tokio::test]
async fn a_caller_that_does_not_read_its_answer_is_dropped() {
    let rig = Rig::with(quick(), |state| state).await;
    rig.agent("1:10.0.0.1").await;
    rig.esb_ok("register_proc_info", example()).await;
    let headers = [
        ("X-Bkapi-App-Code", APP),
        ("X-Bkapi-App-Secret", SECRET),
        ("X-Bkapi-User-Name", "alice"),
    ];
    // An answer of many megabytes, of which nothing is read.
    let host = json!({"ip": "10.0.0.1", "bk_cloud_id": 1});
    let body = json!({"hosts": vec![host; 100_000]}).to_string();
    let mut stream = rig
        .open(
            "POST",
            "/v2/gse/list_agent_info/",
            &headers,
            body.as_bytes(),
        )
        .await;
    // It has begun to come; nothing is read for longer than it may be, then everything that is still there.
    stream.peek(&mut [0]).await.unwrap();
    tokio::time::sleep(SOON * 4).await;
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok())
        .expect("an answer of a known length");
    assert!(length > 10_000_000, "{length}");
    assert!(bytes.len() < length, "it came whole: {length}");
    assert!(is_healthy(&rig).await);
}

/// A certificate for localhost of an authority of its own; the files are written anew.
fn issue(folder: &Path) -> (TlsFiles, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.serial_number = Some(u64::from(std::process::id()).into());
    let certificate = params.self_signed(&key).unwrap();
    let files = TlsFiles {
        chain: folder.join("chain.pem"),
        key: folder.join("key.pem"),
    };
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    std::fs::write(&files.chain, certificate.pem()).unwrap();
    (files, certificate.der().clone())
}

async fn shake(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

#[tokio::test]
async fn the_api_speaks_tls_and_takes_up_a_new_certificate_without_a_restart() {
    let folder = TempDir::new().unwrap();
    let (files, first) = issue(folder.path());
    let door = HttpDoor {
        tls: Some(files),
        ..HttpDoor::default()
    };
    let rig = Rig::with(door, |state| state).await;
    let user = json!({"name": "ada", "password": "correct horse"});
    let (headers, body) = (
        format!("X-Bkapi-App-Code: {APP}\r\nX-Bkapi-App-Secret: {SECRET}\r\nX-Bkapi-User-Name: x"),
        user.to_string(),
    );
    let ask = async |path: &str, body: &str| -> String {
        let mut stream = shake(rig.address, &first).await.unwrap();
        let length = body.len();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        to_the_end(&mut stream).await
    };
    assert!(ask("/api/v1/users", &body).await.contains("201 Created"));
    let login = json!({"username": "ada", "password": "correct horse"}).to_string();
    let answer = ask("/api/v1/login", &login).await;
    // The cookie of a login over TLS goes over TLS alone.
    assert!(answer.contains("SameSite=Lax; Secure"), "{answer}");
    assert!(
        answer.contains("set-cookie: __Host-muster_session="),
        "{answer}"
    );
    assert!(
        answer.contains("; Path=/;") && !answer.contains("Domain="),
        "{answer}"
    );

    let (_, second) = issue(folder.path());
    assert_ne!(first, second);
    let took = tokio::time::timeout(Duration::from_secs(20), async {
        while shake(rig.address, &second).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    took.await.expect("the new certificate is taken up");
    assert!(shake(rig.address, &first).await.is_err());

    // One that cannot be used changes nothing.
    std::fs::write(folder.path().join("chain.pem"), "nonsense").unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(shake(rig.address, &second).await.is_ok());
}

#[tokio::test]
async fn a_handshake_that_does_not_come_and_plain_http_are_closed() {
    let folder = TempDir::new().unwrap();
    let (files, trusted) = issue(folder.path());
    let door = HttpDoor {
        tls: Some(files),
        ..quick()
    };
    let rig = Rig::with(door, |state| state).await;
    let mut silent = TcpStream::connect(rig.address).await.unwrap();
    assert_eq!(to_the_end(&mut silent).await, "");
    let mut plain = TcpStream::connect(rig.address).await.unwrap();
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert!(!to_the_end(&mut plain).await.contains("200 OK"));
    assert!(shake(rig.address, &trusted).await.is_ok());
}

#[tokio::test]
async fn strangers_who_say_nothing_keep_nobody_waiting() {
    let folder = TempDir::new().unwrap();
    let (files, trusted) = issue(folder.path());
    let door = HttpDoor {
        tls: Some(files),
        ..HttpDoor::default()
    };
    let rig = Rig::with(door, |state| state).await;
    let mut silent = Vec::new();
    for _ in 0..500 {
        silent.push(TcpStream::connect(rig.address).await.unwrap());
    }
    let shaking = tokio::time::timeout(Duration::from_secs(5), shake(rig.address, &trusted));
    assert!(shaking.await.expect("within half of their time").is_ok());
}

#[tokio::test]
async fn one_who_guesses_passwords_is_asked_to_wait() {
    let rig = Rig::new().await;
    let login = json!({"username": "ada", "password": "wrong horse"}).to_string();
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let answer = rig
            .send("POST", "/api/v1/login", &[], login.as_bytes())
            .await;
        statuses.push(answer.status);
        if answer.status == 429 {
            let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=12).contains(&wait));
        }
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429]);
}

#[tokio::test]
async fn a_watcher_whose_role_is_taken_back_hears_no_more() {
    let rig = Rig::new().await;
    let app = json!({"code": "eyes", "secret": "secret-123", "trusted": true, "grants": [{"role": "viewer"}]});
    assert_eq!(rig.native("POST", "/apps", app).await.0, 201);
    let headers = [
        ("X-Bkapi-App-Code", "eyes"),
        ("X-Bkapi-App-Secret", "secret-123"),
        ("X-Bkapi-User-Name", "x"),
    ];
    let mut watch = rig.open("GET", "/api/v1/watch", &headers, b"").await;
    let mut head = [0; 12];
    watch.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let (status, _) = rig.native("DELETE", "/apps/eyes", Value::Null).await;
    assert_eq!(status, 204);
    to_the_end(&mut watch).await;
}
