//! Limits of connections and of silence.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::{Agent, MODES, Mode, TestRelay, TestServer, closed, settings};

#[tokio::test]
async fn a_connection_beyond_the_limit_is_closed_and_one_that_ends_makes_room() {
    for (mode, (max_connections, max_per_address)) in MODES
        .into_iter()
        .flat_map(|mode| [(mode, (2, 100)), (mode, (100, 2))])
    {
        let server = TestServer::start(mode).await;
        let relay = TestRelay::start(&relay::Settings {
            max_connections,
            max_per_address,
            ..settings(mode, &[server.address])
        });
        let (first, mut second) = (relay.connect().await, relay.connect().await);
        let (there, _also_there) = (server.accept().await, server.accept().await);
        let mut third = relay.connect().await;
        closed(&mut third).await;
        // The others are untouched, and one that ends makes room.
        second.write_all(b"x").await.unwrap();
        drop((first, there));
        let (mut fourth, there) = wait_for_room(&relay, &server).await;
        fourth.write_all(b"y").await.unwrap();
        let mut byte = [0];
        let mut there = there.bytes;
        there.read_exact(&mut byte).await.unwrap();
        assert_eq!(&byte, b"y");
        let totals = relay.stop().await;
        assert!(totals.over_limit >= 1, "{totals:?}");
    }
}

/// Connects until the relay forwards a connection; returns both ends of it.
async fn wait_for_room(relay: &TestRelay, server: &TestServer) -> (TcpStream, Agent) {
    loop {
        let mut stream = relay.connect().await;
        tokio::select! {
            there = server.accept() => return (stream, there),
            () = closed(&mut stream) => {}
        }
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed_on_both_sides_and_a_busy_one_is_not() {
    // One after the other would take three times as long.
    let [first, second, third] = MODES.map(is_closed_when_silent);
    tokio::join!(first, second, third);
}

async fn is_closed_when_silent(mode: Mode) {
    let idle_timeout = Duration::from_secs(3);
    let server = TestServer::start(mode).await;
    let relay = TestRelay::start(&relay::Settings {
        idle_timeout,
        ..settings(mode, &[server.address])
    });
    let (mut busy, mut silent) = (relay.connect().await, relay.connect().await);
    let (one, other) = (server.accept().await, server.accept().await);
    let (mut one, mut other) = (one.bytes, other.bytes);
    let busy_loop = async {
        let mut ticks = tokio::time::interval(idle_timeout / 32);
        loop {
            ticks.tick().await;
            busy.write_all(b"x").await.unwrap();
        }
    };
    let (mut got, mut also_got) = ([0; 64], [0; 64]);
    let reading = async {
        // Whichever of the two is behind the busy one.
        loop {
            tokio::select! {
                n = one.read(&mut got) => if n.unwrap_or(0) == 0 { break },
                n = other.read(&mut also_got) => if n.unwrap_or(0) == 0 { break },
            }
        }
    };
    tokio::select! {
        () = async { tokio::join!(closed(&mut silent), reading); } => {}
        () = busy_loop => {}
    }
    busy.write_all(b"still there").await.unwrap();
    let totals = relay.stop().await;
    assert_eq!((totals.idle, totals.open), (1, 1), "{totals:?}");
}
