//! The limits of the API under attack: floods, slow senders, slow readers; and TLS. Over real sockets.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use server::http::BodyPace;
use server::{HttpListenerSettings, TlsFiles};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::rig::{APP, HEADERS, Rig, SECRET, TIMEOUT, example};

/// A limit that a test waits for.
const SHORT: Duration = Duration::from_millis(200);
/// A limit that no test reaches.
const LONG: Duration = Duration::from_secs(600);

fn short_timeouts() -> HttpListenerSettings {
    HttpListenerSettings {
        handshake_timeout: SHORT,
        head_timeout: SHORT,
        write_timeout: SHORT,
        ..HttpListenerSettings::default()
    }
}

/// Reads until the server closes or resets the connection.
async fn read_to_end(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let ended = tokio::time::timeout(TIMEOUT, reading).await;
    ended.expect("the server closes the connection").ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn is_healthy(rig: &Rig) -> bool {
    rig.send("GET", "/healthz", &[], b"").await.status == 200
}

/// Sends the byte again and again until the server closes the connection; returns what the server sent.
async fn drip(stream: &mut TcpStream, byte: u8) -> String {
    let (mut from, mut to) = stream.split();
    let writing = async {
        while to.write_all(&[byte]).await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    tokio::join!(read_to_end(&mut from), writing).0
}

#[tokio::test]
async fn silent_slow_and_idle_connections_are_closed() {
    let rig = Rig::with(short_timeouts(), |state| state).await;
    let mut silent = TcpStream::connect(rig.address).await.unwrap();
    let mut slow = TcpStream::connect(rig.address).await.unwrap();
    let mut idle = TcpStream::connect(rig.address).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nx: ")
        .await
        .unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let response = drip(&mut slow, b'y').await;
    assert!(!response.contains("200 OK"), "{response}");
    read_to_end(&mut silent).await;
    assert!(read_to_end(&mut idle).await.contains("200 OK"));
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

/// Sends the head of a request and the first byte of its body.
async fn send_head(pace: BodyPace) -> (Rig, TcpStream) {
    let settings = HttpListenerSettings::default();
    let rig = Rig::with(settings, |state| state.with_bounds(pace, 100)).await;
    let head = "POST /v2/gse/get_proc_status/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 100000\r\n\r\n{";
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    (rig, stream)
}

#[tokio::test]
async fn a_body_that_stops_is_refused() {
    let (rig, mut stopped) = send_head(BodyPace {
        silence: SHORT,
        small_within: LONG,
        rate: 1024,
    })
    .await;
    let response = read_to_end(&mut stopped).await;
    assert!(
        response.contains("ended before it was complete"),
        "{response}"
    );
    assert!(is_healthy(&rig).await);
}

#[tokio::test]
async fn a_body_that_arrives_too_slowly_is_refused() {
    let (rig, mut slow) = send_head(BodyPace {
        silence: LONG,
        small_within: SHORT,
        rate: 1024 * 1024,
    })
    .await;
    let response = drip(&mut slow, b' ').await;
    assert!(response.contains("came too slowly"), "{response}");
    assert!(is_healthy(&rig).await);
}

#[tokio::test]
async fn connections_are_limited_by_address_and_in_all() {
    let per_address = HttpListenerSettings {
        max_connections_per_address: 3,
        ..HttpListenerSettings::default()
    };
    let in_all = HttpListenerSettings {
        max_connections: 3,
        ..HttpListenerSettings::default()
    };
    for (settings, reason) in [
        (per_address, "connections_of_address"),
        (in_all, "connections"),
    ] {
        let rig = Rig::with(settings, |state| state).await;
        // Connections with a request under way, whose body does not arrive.
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(begin(rig.address).await);
        }
        let mut one_too_many = begin(rig.address).await;
        assert_eq!(read_to_end(&mut one_too_many).await, "", "closed at once");
        open.pop();
        until_answered(rig.address).await;
        drop(open);
        until_answered(rig.address).await;
        let metrics = metrics(&rig).await;
        assert!(shed(&metrics, reason) >= 1, "{metrics}");
    }
}

/// Sends a head and one byte of its body.
async fn begin(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = b"POST /v2/gse/get_proc_status/ HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n";
    // The connection may be closed before or after this is written.
    let _ = stream.write_all(head).await;
    // The server sends this when it reads the body, so the request is under way by then.
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
    read_to_end(&mut stream).await.contains("200 OK")
}

/// Waits until a connection slot is free.
async fn until_answered(address: SocketAddr) {
    let answered = async {
        while !is_answered(address).await {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(TIMEOUT, answered).await;
    in_time.expect("a free connection slot");
}

async fn metrics(rig: &Rig) -> String {
    let metrics = rig.send("GET", "/metrics", &[], b"").await;
    String::from_utf8(metrics.body).unwrap()
}

/// How many were shed for a reason, by the metrics.
fn shed(metrics: &str, reason: &str) -> u64 {
    let prefix = format!("muster_shed_total{{reason=\"{reason}\"}} ");
    let found = metrics.lines().find_map(|line| line.strip_prefix(&prefix));
    found.expect("every reason has a line").parse().unwrap()
}

#[tokio::test]
async fn the_longest_idle_connection_is_evicted_for_a_new_one() {
    let settings = HttpListenerSettings {
        max_connections: 3,
        head_timeout: LONG,
        ..HttpListenerSettings::default()
    };
    let rig = Rig::with(settings, |state| state).await;
    let mut silent = TcpStream::connect(rig.address).await.unwrap();
    let mut kept_alive = TcpStream::connect(rig.address).await.unwrap();
    let ask = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    kept_alive.write_all(ask).await.unwrap();
    let mut head = [0; 12];
    kept_alive.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    let busy = begin(rig.address).await;

    // All slots are taken. The silent connection is evicted first, then the one that has its response.
    assert!(is_answered(rig.address).await);
    assert_eq!(read_to_end(&mut silent).await, "");
    for _ in 0..5 {
        assert!(is_answered(rig.address).await);
    }
    let mut pair = [begin(rig.address).await, begin(rig.address).await];
    let rest = read_to_end(&mut kept_alive).await;
    assert!(rest.contains("\"status\"") || rest.contains("ok"), "{rest}");
    // None is idle now.
    assert!(!is_answered(rig.address).await);
    pair[0].write_all(b"{}        ").await.unwrap();
    drop(pair);
    drop(busy);
    until_answered(rig.address).await;
    let metrics = metrics(&rig).await;
    assert!(shed(&metrics, "idle_connections") >= 2, "{metrics}");
    assert!(shed(&metrics, "connections") >= 1, "{metrics}");
}

#[tokio::test]
async fn concurrent_requests_are_limited_in_every_dialect() {
    let rig = Rig::with(HttpListenerSettings::default(), |state| {
        state.with_bounds(BodyPace::default(), 1)
    })
    .await;
    // A request under way, whose body does not arrive.
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
    let metrics = metrics(&rig).await;
    assert!(shed(&metrics, "requests") >= 3, "{metrics}");
    for dialect in ["native", "gse", "gsekit"] {
        let counted = format!("muster_http_requests_total{{dialect=\"{dialect}\",endpoint=");
        let is_counted = |line: &str| line.starts_with(&counted) && line.contains("server_error");
        assert!(metrics.lines().any(is_counted), "{dialect}: {metrics}");
    }
}

#[tokio::test]
async fn streams_are_limited_for_each_caller() {
    let rig = Rig::new().await;
    let mut open = Vec::new();
    let refused = loop {
        let mut stream = rig.open("GET", "/api/v1/watch", &HEADERS, b"").await;
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
        let mut stream = rig.open("GET", "/api/v1/watch", &HEADERS, b"").await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        if head == *b"HTTP/1.1 200" {
            break;
        }
    }
}

/// Whether the server's side of a connection is open, by the kernel's table of sockets.
fn is_established(server: SocketAddr, client: SocketAddr) -> bool {
    let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let ports = [server, client].map(|address| format!(":{:04X}", address.port()));
    sockets.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&ports[0]) && fields[2].ends_with(&ports[1]) && fields[3] == "01"
    })
}

#[tokio::test]
async fn a_caller_that_does_not_read_its_response_is_disconnected() {
    let settings = HttpListenerSettings {
        write_timeout: SHORT,
        ..HttpListenerSettings::default()
    };
    let rig = Rig::with(settings, |state| state).await;
    rig.agent("1:10.0.0.1").await;
    rig.esb_ok("register_proc_info", example()).await;
    // A response of many megabytes, of which nothing is read.
    let host = json!({"ip": "10.0.0.1", "bk_cloud_id": 1});
    let body = json!({"hosts": vec![host; 100_000]}).to_string();
    let path = "/v2/gse/list_agent_info/";
    let mut stream = rig.open("POST", path, &HEADERS, body.as_bytes()).await;
    stream.peek(&mut [0]).await.unwrap();
    let client = stream.local_addr().unwrap();
    let closed = async {
        while is_established(rig.address, client) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let in_time = tokio::time::timeout(TIMEOUT, closed).await;
    in_time.expect("the server closes the connection");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.ok();
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok())
        .expect("a response of a known length");
    assert!(length > 10_000_000, "{length}");
    assert!(bytes.len() < length, "the whole response came: {length}");
}

/// Writes a new self-signed certificate for localhost.
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

async fn handshake(
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
async fn the_api_serves_tls_and_reloads_its_certificate() {
    let folder = TempDir::new().unwrap();
    let (files, first) = issue(folder.path());
    let settings = HttpListenerSettings {
        tls: Some(files),
        certificate_poll: Duration::from_millis(20),
        ..HttpListenerSettings::default()
    };
    let rig = Rig::with(settings, |state| state).await;
    let user = json!({"name": "ada", "password": "correct horse"});
    let (headers, body) = (
        format!("X-Bkapi-App-Code: {APP}\r\nX-Bkapi-App-Secret: {SECRET}\r\nX-Bkapi-User-Name: x"),
        user.to_string(),
    );
    let ask = async |path: &str, body: &str| -> String {
        let mut stream = handshake(rig.address, &first).await.unwrap();
        let length = body.len();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        read_to_end(&mut stream).await
    };
    assert!(ask("/api/v1/users", &body).await.contains("201 Created"));
    let login = json!({"username": "ada", "password": "correct horse"}).to_string();
    let answer = ask("/api/v1/login", &login).await;
    // The cookie of a login over TLS is for TLS only.
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
    let reloaded = tokio::time::timeout(TIMEOUT, async {
        while handshake(rig.address, &second).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    reloaded.await.expect("the new certificate is used");
    assert!(handshake(rig.address, &first).await.is_err());
}

#[tokio::test]
async fn silent_and_plain_connections_to_tls_are_closed() {
    let folder = TempDir::new().unwrap();
    let (files, trusted) = issue(folder.path());
    let settings = HttpListenerSettings {
        tls: Some(files),
        ..short_timeouts()
    };
    let rig = Rig::with(settings, |state| state).await;
    let mut silent = TcpStream::connect(rig.address).await.unwrap();
    assert_eq!(read_to_end(&mut silent).await, "");
    let mut plain = TcpStream::connect(rig.address).await.unwrap();
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert!(!read_to_end(&mut plain).await.contains("200 OK"));
    assert!(handshake(rig.address, &trusted).await.is_ok());
}

#[tokio::test]
async fn silent_connections_do_not_delay_handshakes() {
    let folder = TempDir::new().unwrap();
    let (files, trusted) = issue(folder.path());
    let settings = HttpListenerSettings {
        tls: Some(files),
        handshake_timeout: LONG,
        ..HttpListenerSettings::default()
    };
    let rig = Rig::with(settings, |state| state).await;
    let mut silent = Vec::new();
    for _ in 0..500 {
        silent.push(TcpStream::connect(rig.address).await.unwrap());
    }
    let handshake = tokio::time::timeout(TIMEOUT, handshake(rig.address, &trusted)).await;
    assert!(
        handshake
            .expect("long before the silent ones time out")
            .is_ok()
    );
}

#[tokio::test]
async fn guessing_passwords_is_rate_limited() {
    let rig = Rig::new().await;
    let login = json!({"username": "ada", "password": "wrong horse"}).to_string();
    let mut n_refused = 0;
    // Five at once, and one more every 12 s.
    let limited = loop {
        let answer = rig
            .send("POST", "/api/v1/login", &[], login.as_bytes())
            .await;
        match answer.status {
            401 => n_refused += 1,
            _ => break answer,
        }
        assert!(n_refused < 50, "passwords can be guessed");
    };
    assert!(n_refused >= 5, "{n_refused}");
    let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(limited.status, 429);
    assert!((1..=12).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_watch_ends_when_its_app_is_deleted() {
    let settings = HttpListenerSettings::default();
    let rig = Rig::with(settings, |state| state.with_stream_checks(SHORT)).await;
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
    read_to_end(&mut watch).await;
}
