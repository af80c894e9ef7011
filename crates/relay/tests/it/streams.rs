//! Bytes pass untouched, in both directions, with backpressure and half-close.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::{
    MODES, Mode, PATIENCE, TestRelay, TestServer, closed, http_door, listener, settings,
};

#[tokio::test]
async fn the_server_learns_who_comes_and_bytes_pass_in_both_directions() {
    for mode in MODES {
        bytes_pass(mode).await;
    }
}

async fn bytes_pass(mode: Mode) {
    let server = TestServer::start(mode).await;
    let relay = TestRelay::start(&settings(mode, &[server.address]));
    let mut agent = relay.connect().await;
    let accepted = server.accept().await;
    assert_eq!(accepted.is_stream, mode.multiplexes());
    let (header, mut there) = (accepted.header, accepted.bytes);
    assert_eq!(&header[..16], b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c");
    let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    assert_eq!(header[16..24], [127, 0, 0, 1, 127, 0, 0, 1]);
    assert_eq!(port(24), agent.local_addr().unwrap().port());
    assert_eq!(port(26), relay.agents.port());

    agent.write_all(b"hello").await.unwrap();
    let mut bytes = [0; 5];
    there.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"hello");
    there.write_all(b"world").await.unwrap();
    agent.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"world");
    let totals = relay.stop().await;
    assert_eq!((totals.bytes_up, totals.bytes_down), (5, 5));
    assert_eq!((totals.forwarded, totals.open), (1, 1));
    closed(&mut agent).await;
    closed(&mut there).await;
}

#[tokio::test]
async fn the_api_gets_no_header() {
    let (agents, api) = (listener().await, listener().await);
    let mut settings = settings(MODES[0], &[agents.local_addr().unwrap()]);
    settings.http = Some(http_door(&[api.local_addr().unwrap()]));
    let relay = TestRelay::start(&settings);
    let mut client = TcpStream::connect(relay.http.unwrap()).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let (mut there, _) = api.accept().await.unwrap();
    let mut bytes = [0; 18];
    there.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"GET / HTTP/1.1\r\n\r\n");
}

#[tokio::test]
async fn a_side_that_has_sent_its_last_byte_still_gets_the_answer() {
    for mode in MODES {
        answer_after_the_end(mode).await;
    }
}

async fn answer_after_the_end(mode: Mode) {
    let server = TestServer::start(mode).await;
    let relay = TestRelay::start(&settings(mode, &[server.address]));
    let mut agent = relay.connect().await;
    let mut there = server.accept().await.bytes;
    agent.write_all(b"question").await.unwrap();
    agent.shutdown().await.unwrap();
    let mut question = Vec::new();
    there.read_to_end(&mut question).await.unwrap();
    assert_eq!(question, b"question");
    there.write_all(b"answer").await.unwrap();
    there.shutdown().await.unwrap();
    drop(there);
    let mut answer = Vec::new();
    agent.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"answer");
}

/// Bytes that say where they are in the stream.
fn pattern(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|n| (n % 251) as u8).collect()
}

#[tokio::test]
async fn a_slow_reader_stops_the_writer_and_loses_nothing() {
    for mode in MODES {
        slow_reader(mode).await;
    }
}

async fn slow_reader(mode: Mode) {
    const TOTAL: usize = 24 * 1024 * 1024;
    const PIECE: usize = 64 * 1024;
    let server = TestServer::start(mode).await;
    let relay = TestRelay::start(&settings(mode, &[server.address]));
    let mut agent = relay.connect().await;
    let mut there = server.accept().await.bytes;
    let (mut read_here, mut write_here) = agent.split();
    // The server does not read, so the agent cannot write all of it: what is under way fits into the buffers of the sockets.
    let mut written = 0;
    while let Ok(taken) = tokio::time::timeout(
        Duration::from_millis(500),
        write_here.write(&pattern(written, PIECE)),
    )
    .await
    {
        written += taken.unwrap();
        assert!(written < TOTAL, "the relay buffers without limit");
    }
    // The other direction still moves.
    there.write_all(b"ping").await.unwrap();
    let mut ping = [0; 4];
    read_here.read_exact(&mut ping).await.unwrap();

    let writing = async {
        while written < TOTAL {
            let bytes = pattern(written, PIECE.min(TOTAL - written));
            written += write_here.write(&bytes).await.unwrap();
        }
        write_here.shutdown().await.unwrap();
    };
    let reading = async {
        let (mut got, mut buffer) = (0, vec![0; PIECE]);
        loop {
            match there.read(&mut buffer).await.unwrap() {
                0 => break got,
                n => {
                    assert!(buffer[..n] == pattern(got, n), "after {got} bytes");
                    got += n;
                }
            }
        }
    };
    let both = async { tokio::join!(writing, reading).1 };
    let got = tokio::time::timeout(PATIENCE * 2, both).await.unwrap();
    assert_eq!(got, TOTAL);
}

/// The answer to a request, up to the end of the connection.
async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: relay\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn metrics_count_connections_bytes_and_servers() {
    for mode in MODES {
        metrics(mode).await;
    }
}

async fn metrics(mode: Mode) {
    let (server, gone) = (TestServer::start(mode).await, listener().await);
    let (address, gone_address) = (server.address, gone.local_addr().unwrap());
    drop(gone);
    let relay = TestRelay::start(&relay::Settings {
        metrics: Some("127.0.0.1:0".parse().unwrap()),
        ..settings(mode, &[gone_address, address])
    });
    let mut agent = relay.connect().await;
    let mut there = server.accept().await.bytes;
    let n_shared = u64::from(mode.multiplexes());
    agent.write_all(b"hello").await.unwrap();
    there.read_exact(&mut [0; 5]).await.unwrap();
    let expected = [
        "HTTP/1.1 200 OK".to_owned(),
        "muster_relay_open_connections 1".to_owned(),
        "muster_relay_connections_total{result=\"forwarded\"} 1".to_owned(),
        "muster_relay_bytes_total{direction=\"up\"} 5".to_owned(),
        format!("muster_relay_connects_total{{server=\"{address}\",result=\"ok\"}} 1"),
        format!("muster_relay_connects_total{{server=\"{gone_address}\",result=\"failed\"}} 1"),
        format!("muster_relay_shared_connections{{server=\"{address}\"}} {n_shared}"),
        format!("muster_relay_streams{{server=\"{address}\"}} {n_shared}"),
        format!("muster_relay_streams{{server=\"{gone_address}\"}} 0"),
    ];
    // Bytes are counted just after they were sent.
    let mut answer = String::new();
    let polling = async {
        while !expected
            .iter()
            .all(|it| answer.lines().any(|line| line == it))
        {
            answer = get(relay.metrics.unwrap(), "/metrics").await;
        }
    };
    let polled = tokio::time::timeout(PATIENCE, polling).await;
    assert!(polled.is_ok(), "{expected:#?} in {answer}");
    let answer = get(relay.metrics.unwrap(), "/").await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[tokio::test]
async fn an_agent_that_does_not_read_holds_up_no_other() {
    let [mode, ..] = MODES;
    let server = TestServer::start(mode).await;
    let relay = TestRelay::start(&settings(Mode { relay: 1, ..mode }, &[server.address]));
    let (silent, mut agent) = (relay.connect().await, relay.connect().await);
    let (first, second) = (server.accept().await, server.accept().await);
    // The relay reaches the server for one of them first, whichever that is.
    let is_silent = port_of(&first.header) == silent.local_addr().unwrap().port();
    let (unread, there) = if is_silent {
        (first, second)
    } else {
        (second, first)
    };
    let (mut unread, mut there) = (unread.bytes, there.bytes);
    // As much as the sockets of a connection and the relay hold.
    let flood = async {
        let bytes = vec![7; 64 * 1024];
        let mut written = 0;
        while written < 64 * 1024 * 1024 {
            let wrote = tokio::time::timeout(Duration::from_millis(500), unread.write(&bytes));
            match wrote.await {
                Ok(n) => written += n.unwrap(),
                Err(_) => break,
            }
        }
        assert!(written < 64 * 1024 * 1024, "it is held nowhere");
    };
    flood.await;
    let sent = pattern(0, 1024 * 1024);
    let mut got = vec![0; sent.len()];
    let both = async { tokio::join!(there.write_all(&sent), agent.read_exact(&mut got)) };
    let (wrote, read) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    wrote.unwrap();
    read.unwrap();
    assert!(got == sent);
    drop(silent);
}

/// The agent's port in a header over IPv4.
fn port_of(header: &[u8]) -> u16 {
    u16::from_be_bytes([header[24], header[25]])
}

#[tokio::test]
async fn what_a_server_said_before_it_gave_an_agent_up_arrives() {
    const SAID: usize = 8 * 1024 * 1024;
    let [mode, ..] = MODES;
    // A connection of its own would lose what its socket still holds.
    for _ in 0..3 {
        let server = TestServer::start(mode).await;
        let relay = TestRelay::start(&settings(mode, &[server.address]));
        let agent = relay.connect().await;
        let mut there = server.accept().await.bytes;
        let (mut read_here, mut write_here) = agent.into_split();
        // More than the sockets on the way to the agent hold: the relay has not delivered all of it when the server is gone.
        let saying = async {
            there.write_all(&pattern(0, SAID)).await.unwrap();
            there.shutdown().await.unwrap();
            drop(there);
        };
        let reading = async {
            let mut said = vec![0; SAID];
            // The agent speaks on all the time.
            let mut speaking = std::pin::pin!(async {
                loop {
                    if write_here.write_all(&[7; 1000]).await.is_err() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            });
            tokio::select! {
                read = read_here.read_exact(&mut said) => drop(read.unwrap()),
                () = &mut speaking => panic!("the connection was given up"),
            }
            said
        };
        let both = async { tokio::join!(saying, reading).1 };
        let said = tokio::time::timeout(PATIENCE * 2, both).await.unwrap();
        assert!(said == pattern(0, SAID));
    }
}
