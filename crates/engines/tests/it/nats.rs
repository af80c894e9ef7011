//! NATS, alone and as a cluster, by its text protocol.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use engines::{Nats, NatsCluster};

/// A connection that has received the first `INFO` of the server.
fn connect(url: &str) -> Option<BufReader<TcpStream>> {
    let address = url.strip_prefix("nats://").unwrap();
    let mut connection = BufReader::new(TcpStream::connect(address).ok()?);
    let patience = Duration::from_secs(10);
    connection
        .get_mut()
        .set_read_timeout(Some(patience))
        .unwrap();
    let mut greeting = String::new();
    connection.read_line(&mut greeting).ok()?;
    assert!(greeting.starts_with("INFO "), "{greeting}");
    Some(connection)
}

fn send(connection: &mut BufReader<TcpStream>, text: &str) {
    connection.get_mut().write_all(text.as_bytes()).unwrap();
}

fn expect(connection: &mut BufReader<TcpStream>, expected: &str) {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), expected);
}

#[test]
fn a_restarted_server_keeps_its_port() {
    let mut nats = Nats::start().unwrap();
    let url = nats.url();
    assert!(connect(&url).is_some());
    nats.kill().unwrap();
    assert!(connect(&url).is_none());
    nats.start_again().unwrap();
    assert!(connect(&url).is_some());
    nats.stop().unwrap();
    assert!(connect(&url).is_none());
    nats.start_again().unwrap();
    assert_eq!(nats.url(), url);
    assert!(connect(&url).is_some());
}

#[test]
fn a_failed_start_reports_the_log() {
    let error = Nats::start_with(&["-c", "/no/such/file"]).unwrap_err();
    assert!(error.to_string().contains("/no/such/file"), "{error}");
}

#[test]
fn a_restarted_node_forwards_messages_again() {
    let mut cluster = NatsCluster::start(3).unwrap();
    let urls = cluster.urls();
    cluster.node(1).kill().unwrap();
    assert!(connect(&urls[1]).is_none());
    cluster.start_again(1).unwrap();
    let mut listener = connect(&urls[1]).unwrap();
    send(
        &mut listener,
        "CONNECT {\"verbose\":false}\r\nSUB news 1\r\nPING\r\n",
    );
    expect(&mut listener, "PONG");
    let mut speaker = connect(&urls[2]).unwrap();
    send(&mut speaker, "CONNECT {\"verbose\":false}\r\n");
    // The subscription reaches the other nodes after the PONG; messages published before that are lost.
    listener
        .get_mut()
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let heard = (0..200).find_map(|_| {
        send(&mut speaker, "PUB news 2\r\nhi\r\n");
        let mut line = String::new();
        listener.read_line(&mut line).ok().map(|_| line)
    });
    assert_eq!(heard.as_deref(), Some("MSG news 1 2\r\n"));
}
