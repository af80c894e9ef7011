//! Connections that break, and peers that break the rules.

use std::io::ErrorKind;
use std::time::Duration;

use multiplex::{ACCEPTOR_WINDOW, Connection, ConnectionError, Frame, PrefaceError};
use testing::Random;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::rig::{Pair, Raw, in_time, sockets};

fn bytes_of(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.iter().for_each(|frame| frame.encode(&mut bytes));
    bytes
}

const OPEN: Frame<'_> = Frame::Open {
    stream: 1,
    opening: b"",
};

#[tokio::test]
async fn the_end_of_a_connection_ends_its_streams() {
    let mut pair = Pair::new().await;
    let (mut here, mut there) = pair.stream().await;
    pair.opener_ended.abort();
    let mut bytes = [0; 8];
    for stream in [&mut here, &mut there] {
        let error = in_time(stream.read(&mut bytes)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let error = stream.write(b"x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
    let ended = in_time(pair.acceptor_ended).await.unwrap();
    assert!(
        matches!(ended, Err(ConnectionError::Closed | ConnectionError::Io(_))),
        "{ended:?}"
    );
    assert!(!pair.opener.is_open() && pair.opener.stream(b"").is_err());
    assert_eq!((pair.opener.n_streams(), pair.acceptor.n_streams()), (0, 0));
}

#[tokio::test]
async fn a_connection_that_finishes_ends_with_its_last_stream_and_loses_nothing() {
    let mut pair = Pair::new().await;
    let (mut here, mut there) = pair.stream().await;
    pair.acceptor.finish();
    // A stream that comes too late is refused.
    let mut late = pair.opener.stream(b"late").unwrap();
    let error = in_time(late.read(&mut [0; 8])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    drop(late);
    // Its user does not read what the peer sends, and ends the stream.
    here.write_all(&[7; 1000]).await.unwrap();
    there.write_all(b"the server is stopping").await.unwrap();
    there.shutdown().await.unwrap();
    drop(there);
    let mut said = Vec::new();
    in_time(here.read_to_end(&mut said)).await.unwrap();
    assert_eq!(said, b"the server is stopping");
    in_time(pair.acceptor_ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_peer_that_does_not_multiplex_is_told_from_one_that_does() {
    // TLS answers with an alert; others say something. One that closes may have no room.
    let refused = async |answer: &[u8]| {
        let (here, mut there) = sockets().await;
        there.write_all(answer).await.unwrap();
        there.shutdown().await.unwrap();
        in_time(Connection::open(here)).await.unwrap_err()
    };
    for answer in [&b"\x15\x03\x03\0\x02\x02\x46"[..], b"HTTP/1.1 400"] {
        let why = refused(answer).await;
        assert!(matches!(why, PrefaceError::NotMultiplexed), "{why:?}");
    }
    for answer in [&b""[..], b"MUSTER"] {
        let why = refused(answer).await;
        assert!(matches!(why, PrefaceError::Closed), "{why:?}");
    }
}

#[tokio::test]
async fn a_peer_that_breaks_the_rules_loses_its_connection() {
    let window = vec![7; ACCEPTOR_WINDOW as usize / 2];
    let half = Frame::Data {
        stream: 1,
        bytes: &window,
    };
    let byte = Frame::Data {
        stream: 1,
        bytes: b"x",
    };
    let most = Frame::Credit {
        stream: 1,
        bytes: u32::MAX,
    };
    for (frames, said) in [
        (&[OPEN, OPEN][..], "comes again"),
        (&[byte], "was not opened"),
        (&[Frame::Reset { stream: 9 }], "was not opened"),
        (&[OPEN, Frame::End { stream: 1 }, byte], "after the end"),
        (&[OPEN, half, half, byte], "more than the window"),
        (&[OPEN, most], "more credit"),
    ] {
        let raw = Raw::new().await;
        let error = raw.refused(&bytes_of(frames)).await;
        assert!(matches!(error, ConnectionError::Rules(_)), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
    let error = Raw::new().await.refused(b"\x09\0\0\0\0\0\0\x01").await;
    assert!(matches!(error, ConnectionError::Frame(_)), "{error:?}");
    // The accepting side opens nothing.
    let (mut tcp, there) = sockets().await;
    let opening = tokio::spawn(Connection::open(there));
    let mut preface = [0; multiplex::PREFACE];
    tcp.read_exact(&mut preface).await.unwrap();
    tcp.write_all(&preface).await.unwrap();
    let (_connection, driver) = opening.await.unwrap().unwrap();
    tcp.write_all(&bytes_of(&[OPEN])).await.unwrap();
    let error = in_time(driver.run()).await.unwrap_err();
    assert!(error.to_string().contains("this side opens"), "{error}");
}

#[tokio::test]
async fn frames_of_a_stream_that_is_over_are_dropped() {
    let mut raw = Raw::new().await;
    let byte = Frame::Data {
        stream: 1,
        bytes: b"x",
    };
    raw.tcp.write_all(&bytes_of(&[OPEN])).await.unwrap();
    let (stream, _) = in_time(raw.accepted.recv()).await.unwrap();
    drop(stream);
    let mut reset = [0; 8];
    in_time(raw.tcp.read_exact(&mut reset)).await.unwrap();
    assert_eq!(reset[..], bytes_of(&[Frame::Reset { stream: 1 }]));
    let credit = Frame::Credit {
        stream: 1,
        bytes: 1,
    };
    let end = Frame::End { stream: 1 };
    let late = bytes_of(&[byte, credit, end, Frame::Reset { stream: 1 }, Frame::Ping]);
    raw.tcp.write_all(&late).await.unwrap();
    let mut pong = [0; 8];
    in_time(raw.tcp.read_exact(&mut pong)).await.unwrap();
    assert_eq!(pong[..], bytes_of(&[Frame::Pong]), "it is still served");
    assert_eq!(raw.acceptor.n_streams(), 0);
}

#[tokio::test]
async fn a_peer_that_asks_and_does_not_read_is_cut_off() {
    let mut raw = Raw::new().await;
    let pings = bytes_of(&[Frame::Ping; 1000]);
    let flood = async { while raw.tcp.write_all(&pings).await.is_ok() {} };
    in_time(flood).await;
    let ended = in_time(raw.ended).await.unwrap();
    assert!(matches!(ended, Err(ConnectionError::Flooding)), "{ended:?}");
}

#[tokio::test]
async fn a_peer_that_owes_a_sign_of_life_gets_no_further_stream() {
    let (mut tcp, there) = sockets().await;
    let opening = tokio::spawn(Connection::open(there));
    let mut preface = [0; multiplex::PREFACE];
    tcp.read_exact(&mut preface).await.unwrap();
    tcp.write_all(&preface).await.unwrap();
    let (connection, driver) = opening.await.unwrap().unwrap();
    let driving = tokio::spawn(driver.run());
    let first = connection.stream(b"").unwrap();
    let asked = bytes_of(&[Frame::Ping, OPEN]);
    let mut bytes = vec![0; asked.len()];
    in_time(tcp.read_exact(&mut bytes)).await.unwrap();
    assert_eq!(bytes, asked);
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(2_900)).await;
    let second = connection.stream(b"").unwrap();
    tokio::time::advance(Duration::from_millis(200)).await;
    let refused = connection.stream(b"").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
    assert!(connection.is_open(), "its streams go on");
    tokio::time::resume();
    tcp.write_all(&bytes_of(&[Frame::Pong])).await.unwrap();
    let third = async {
        loop {
            match connection.stream(b"") {
                Ok(stream) => break stream,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let third = in_time(third).await;
    assert_eq!(connection.n_streams(), 3);
    drop((first, second, third));
    driving.abort();
}

#[tokio::test]
async fn random_bytes_end_the_connection_or_are_understood() {
    for seed in 0..200 {
        let mut random = Random::new(seed + 1);
        let mut raw = Raw::new().await;
        let mut bytes = Vec::new();
        for _ in 0..1 + random.below(40) {
            let stream = 1 + random.below(4) as u32;
            let payload = vec![0; 1 + random.below(3000) as usize];
            let frame = match random.below(7) {
                0 => Frame::Open {
                    stream,
                    opening: b"x",
                },
                1 => Frame::Data {
                    stream,
                    bytes: &payload,
                },
                2 => Frame::Credit { stream, bytes: 9 },
                3 => Frame::End { stream },
                4 => Frame::Reset { stream },
                5 => Frame::Ping,
                _ => Frame::Pong,
            };
            frame.encode(&mut bytes);
        }
        if random.below(2) == 0 {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        // The driver may end before all is written.
        raw.tcp.write_all(&bytes).await.ok();
        raw.tcp.shutdown().await.ok();
        let ended = in_time(raw.ended).await;
        assert!(
            ended.unwrap().is_err(),
            "seed {seed}: by rules or by its end"
        );
    }
}
