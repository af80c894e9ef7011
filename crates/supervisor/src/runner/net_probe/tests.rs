use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use model::spec::probes::StatusCodes;

use super::*;

/// Answers one connection with these pieces, and then keeps it open.
fn server(pieces: Vec<Vec<u8>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = [0; 4096];
        let n_read = stream.read(&mut request).unwrap();
        assert!(request[..n_read].starts_with(b"GET /healthz?a=b HTTP/1.1\r\nHost: 127.0.0.1:"));
        for piece in pieces {
            // The client may have seen enough.
            if stream.write_all(&piece).is_err() {
                return;
            }
        }
        // Until the client goes.
        drop(stream.read(&mut request));
    });
    port
}

fn http(port: u16, status: &[&str], body: Option<&str>) -> ProbeTarget {
    ProbeTarget::Http(HttpTarget {
        port,
        path: "/healthz?a=b".into(),
        host: None,
        status: status
            .iter()
            .map(|text| StatusCodes::parse(text).unwrap())
            .collect(),
        body: body.map(str::to_owned),
    })
}

fn tcp(port: u16) -> ProbeTarget {
    ProbeTarget::Tcp(TcpTarget { port, host: None })
}

async fn failure(target: &ProbeTarget, timeout_ms: u64) -> String {
    match probe(target, Duration::from_millis(timeout_ms)).await {
        Err(StartError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

const PLENTY: u64 = 60_000;

#[tokio::test]
async fn a_response_is_judged_by_status_and_body() {
    let answer = |text: &str| vec![text.as_bytes().to_vec()];
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nup!\n";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nal\r\n9\r\nl is well\r\n0\r\n\r\n";
    for (pieces, status, body, expected) in [
        (answer(ok), vec![], None, ""),
        (answer(ok), vec!["200"], Some("up"), ""),
        (answer(ok), vec!["204", "3xx"], None, "status 200"),
        (
            answer(ok),
            vec![],
            Some("down"),
            "the body does not contain \"down\"",
        ),
        (
            answer("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
            vec![],
            None,
            "status 503",
        ),
        (answer("HTTP/1.1 503 No\r\n\r\n"), vec!["5xx"], None, ""),
        (
            answer("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"),
            vec![],
            None,
            "",
        ),
        (answer(chunked), vec![], Some("all is well"), ""),
        (
            answer(chunked),
            vec![],
            Some("ill"),
            "the body does not contain \"ill\"",
        ),
        (
            answer(&format!("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n{ok}")),
            vec!["200"],
            Some("up"),
            "",
        ),
        (
            answer("SSH-2.0-OpenSSH_9.2\r\n"),
            vec![],
            None,
            "its answer is no HTTP: invalid HTTP version",
        ),
        (
            ok.bytes().map(|byte| vec![byte]).collect(),
            vec![],
            Some("up!"),
            "",
        ),
        (
            chunked.bytes().map(|byte| vec![byte]).collect(),
            vec![],
            Some("well"),
            "",
        ),
    ] {
        let port = server(pieces);
        let target = http(port, &status, body);
        let result = probe(&target, Duration::from_millis(PLENTY)).await;
        let said = match result {
            Ok(()) => String::new(),
            Err(StartError::Refused(why)) => {
                let url = format!("GET http://127.0.0.1:{port}/healthz?a=b: ");
                why.strip_prefix(&url).unwrap_or(&why).to_owned()
            }
            Err(StartError::Shortage(why)) => panic!("{why}"),
        };
        assert_eq!(said, expected, "{target:?}");
    }
}

#[tokio::test]
async fn a_hostile_answer_is_read_no_further_than_its_limits() {
    let endless_head = std::iter::repeat_n(b"A: b\r\n".to_vec(), 1_000_000);
    let head = std::iter::once(b"HTTP/1.1 200 OK\r\n".to_vec()).chain(endless_head);
    let port = server(head.collect());
    let said = failure(&http(port, &[], None), PLENTY).await;
    assert!(
        said.ends_with("the head of its answer is too long") || said.ends_with("too many headers"),
        "{said}"
    );

    let body = std::iter::repeat_n(vec![b'x'; 1024], 100_000);
    let body = std::iter::once(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()).chain(body);
    let port = server(body.collect());
    let said = failure(&http(port, &[], Some("y")), PLENTY).await;
    assert!(
        said.ends_with("the first 64 KiB of its body do not contain \"y\""),
        "{said}"
    );
    // A chunk of a size that no memory has.
    let huge = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nxyz";
    let port = server(vec![huge.as_bytes().to_vec()]);
    let found = probe(&http(port, &[], Some("xyz")), Duration::from_millis(PLENTY)).await;
    assert!(found.is_ok(), "{found:?}");
}

#[tokio::test]
async fn a_peer_that_says_nothing_fails_after_the_timeout() {
    let port = server(Vec::new());
    let said = failure(&http(port, &[], None), 50).await;
    let expected = format!("GET http://127.0.0.1:{port}/healthz?a=b: no answer after 0.05 s");
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_port_is_open_or_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    probe(&tcp(port), Duration::from_millis(PLENTY))
        .await
        .unwrap();
    drop(listener);
    let said = failure(&tcp(port), PLENTY).await;
    assert_eq!(said, format!("127.0.0.1:{port}: connection refused"));
}

/// An address that no host has is no lack of ports.
#[tokio::test]
async fn an_address_that_cannot_be_reached_from_here_is_a_failure() {
    let target = ProbeTarget::Tcp(TcpTarget {
        port: 9,
        // A multicast address.
        host: Some("224.0.0.1".into()),
    });
    assert!(failure(&target, PLENTY).await.starts_with("224.0.0.1:9: "));
    let unreachable = "127.0.0.1:9".parse().unwrap();
    for (number, expected) in [(libc::EADDRNOTAVAIL, true), (libc::ECONNREFUSED, false)] {
        let error = io::Error::from_raw_os_error(number);
        assert_eq!(lacks_port(&error, unreachable), expected, "{error}");
    }
    let no_address = "[2001:db8::1]:9".parse().unwrap();
    let error = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    let has_route = UdpSocket::bind("[::]:0").is_ok_and(|udp| udp.connect(no_address).is_ok());
    assert_eq!(lacks_port(&error, no_address), has_route);
}

#[tokio::test]
async fn a_name_without_an_address_is_a_failure() {
    let target = ProbeTarget::Tcp(TcpTarget {
        port: 9,
        host: Some("no-such-host.invalid".into()),
    });
    let said = failure(&target, PLENTY).await;
    assert!(said.starts_with("no-such-host.invalid:9: "), "{said}");
}

#[test]
fn what_the_host_lacks_is_no_failure_of_the_process() {
    for (number, expected) in [
        (libc::EMFILE, true),
        (libc::ENFILE, true),
        (libc::ENOMEM, true),
        (libc::ENOBUFS, true),
        (libc::ENOSPC, true),
        (libc::ECONNREFUSED, false),
        (libc::ECONNRESET, false),
        (libc::EHOSTUNREACH, false),
        (libc::EPIPE, false),
    ] {
        let failure = Failure::from(io::Error::from_raw_os_error(number));
        let is_shortage = matches!(failure, Failure::Shortage(_));
        assert_eq!(is_shortage, expected, "{failure:?}");
    }
}

#[test]
fn an_address_is_written_with_its_port() {
    assert_eq!(address("127.0.0.1", 80), "127.0.0.1:80");
    assert_eq!(address("::1", 80), "[::1]:80");
    assert_eq!(address("db.local", 5432), "db.local:5432");
}
