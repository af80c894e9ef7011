//! Rotation over servers, and servers that cannot be reached.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use multiplex::{Connection, MAGIC, Stream};
use relay::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::rig::{
    MODES, Mode, PATIENCE, TestRelay, TestServer, closed, http_door, listener, settings,
};

#[tokio::test]
async fn connections_go_to_each_server_in_turn() {
    for mode in MODES {
        let servers = [TestServer::start(mode).await, TestServer::start(mode).await];
        let addresses = [0, 1].map(|n| servers[n].address);
        let relay = TestRelay::start(&settings(mode, &addresses));
        for _ in 0..3 {
            for server in &servers {
                let mut agent = relay.connect().await;
                let mut there = server.accept().await.bytes;
                agent.write_all(b"x").await.unwrap();
                there.read_exact(&mut [0]).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_is_skipped_and_comes_back() {
    let [first, second, third] = MODES.map(a_refusing_server_comes_back);
    tokio::join!(first, second, third);
}

async fn a_refusing_server_comes_back(mode: Mode) {
    let gone = listener().await;
    let (server, address) = (TestServer::start(mode).await, gone.local_addr().unwrap());
    drop(gone);
    let relay = TestRelay::start(&settings(mode, &[address, server.address]));
    for _ in 0..4 {
        let mut agent = relay.connect().await;
        let mut there = server.accept().await.bytes;
        there.write_all(b"x").await.unwrap();
        agent.read_exact(&mut [0]).await.unwrap();
    }
    // It is up again, and gets connections after a while.
    let back = tokio::net::TcpListener::bind(address).await.unwrap();
    let back = TestServer::start_on(back, mode);
    let trying = async {
        loop {
            let mut agent = relay.connect().await;
            let mut there = server.accept().await.bytes;
            there.write_all(b"x").await.unwrap();
            agent.read_exact(&mut [0]).await.unwrap();
        }
    };
    tokio::select! {
        _there = back.accept() => {}
        () = trying => {}
    }
    let totals = relay.stop().await;
    assert_eq!(totals.without_server, 0, "{totals:?}");
}

/// Addresses at which nothing listens.
async fn gone() -> [SocketAddr; 2] {
    let gone = [listener().await, listener().await];
    [0, 1].map(|n| gone[n].local_addr().unwrap())
}

#[tokio::test]
async fn without_any_server_the_connection_waits_for_a_while_and_is_closed() {
    for mode in MODES {
        let wait_for_server = Duration::from_millis(700);
        let relay = TestRelay::start(&Settings {
            wait_for_server,
            ..settings(mode, &gone().await)
        });
        let (begun, mut agents) = (Instant::now(), Vec::new());
        for _ in 0..3 {
            agents.push(relay.connect().await);
        }
        for agent in &mut agents {
            closed(agent).await;
        }
        assert!(begun.elapsed() >= wait_for_server);
        let totals = relay.stop().await;
        assert_eq!((totals.without_server, totals.forwarded), (3, 0));
    }
}

#[tokio::test]
async fn agents_that_came_before_the_server_reach_it_when_it_is_there() {
    for mode in MODES {
        let addresses = gone().await;
        let relay = TestRelay::start(&settings(mode, &addresses));
        let mut agents = Vec::new();
        for _ in 0..50 {
            let mut agent = relay.connect().await;
            agent.write_all(b"x").await.unwrap();
            agents.push(agent);
        }
        let mut impatient = relay.connect().await;
        impatient.write_all(b"y").await.unwrap();
        // The relay closes its side, and so forgets it, before there is a server.
        impatient.shutdown().await.unwrap();
        closed(&mut impatient).await;
        let listener = TcpListener::bind(addresses[1]).await.unwrap();
        let server = TestServer::start_on(listener, mode);
        let mut served = Vec::new();
        for _ in &agents {
            let mut there = server.accept().await.bytes;
            let mut byte = [0];
            there.read_exact(&mut byte).await.unwrap();
            assert_eq!(&byte, b"x");
            // Whichever agent it is: all get one answer.
            there.write_all(b"z").await.unwrap();
            served.push(there);
        }
        for agent in &mut agents {
            let mut byte = [0];
            agent.read_exact(&mut byte).await.unwrap();
            assert_eq!(&byte, b"z");
        }
        let totals = relay.stop().await;
        assert_eq!((totals.without_server, totals.forwarded), (1, 50));
    }
}

#[tokio::test]
async fn a_client_of_the_api_does_not_wait_for_a_server() {
    let addresses = gone().await;
    let mut settings = settings(MODES[0], &addresses);
    settings.http = Some(http_door(&addresses));
    let relay = TestRelay::start(&settings);
    let mut client = TcpStream::connect(relay.http.unwrap()).await.unwrap();
    let closed = tokio::time::timeout(PATIENCE / 2, closed(&mut client));
    assert!(closed.await.is_ok(), "long before an agent");
}

#[tokio::test]
async fn the_end_of_a_server_ends_its_agents_and_the_next_go_to_another() {
    for mode in MODES {
        let (first, second) = (TestServer::start(mode).await, TestServer::start(mode).await);
        let relay = TestRelay::start(&settings(mode, &[first.address, second.address]));
        let (mut lost, mut kept) = (relay.connect().await, relay.connect().await);
        let (_there, mut there) = (first.accept().await, second.accept().await.bytes);
        drop(_there);
        first.kill().await;
        closed(&mut lost).await;
        kept.write_all(b"x").await.unwrap();
        there.read_exact(&mut [0]).await.unwrap();
        for _ in 0..4 {
            let mut agent = relay.connect().await;
            let mut there = second.accept().await.bytes;
            agent.write_all(b"x").await.unwrap();
            there.read_exact(&mut [0]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_server_that_was_upgraded_carries_many_agents_over_one_connection() {
    let [new, _, old] = MODES;
    let server = TestServer::start(old).await;
    let address = server.address;
    let relay = TestRelay::start(&settings(Mode { relay: 1, ..new }, &[address]));
    let mut agent = relay.connect().await;
    let there = server.accept().await;
    drop(there);
    server.kill().await;
    closed(&mut agent).await;
    // The port may be taken for a moment by what is left of the connections.
    let upgraded = loop {
        match tokio::net::TcpListener::bind(address).await {
            Ok(listener) => break TestServer::start_on(listener, new),
            Err(_) => tokio::task::yield_now().await,
        }
    };
    // It is asked again after a while.
    let asked = async {
        let mut ticks = tokio::time::interval(PATIENCE / 600);
        loop {
            ticks.tick().await;
            let mut agent = relay.connect().await;
            tokio::select! {
                there = upgraded.accept() => if there.is_stream { return },
                () = closed(&mut agent) => {}
            }
        }
    };
    let asked = tokio::time::timeout(PATIENCE, asked).await;
    assert!(asked.is_ok(), "it is asked again");
}

/// Accepts a connection that begins as that of a relay which multiplexes.
async fn accept_relay(listener: &TcpListener) -> TcpStream {
    let accepted = tokio::time::timeout(PATIENCE, listener.accept()).await;
    let (tcp, _) = accepted.unwrap().unwrap();
    let mut first = [0];
    tcp.peek(&mut first).await.unwrap();
    assert_eq!(first[0], MAGIC[0], "it carries one agent");
    tcp
}

/// Serves it, and returns its streams. Dropping the second ends it.
async fn carry(tcp: TcpStream) -> (mpsc::Receiver<Stream>, JoinSet<()>) {
    let (_, driver) = Connection::accept(tcp).await.unwrap();
    let (sender, streams) = mpsc::channel(16);
    let mut driving = JoinSet::new();
    driving.spawn(async move {
        let on_stream = |stream, _: &[u8]| drop(sender.try_send(stream));
        driver.serve(on_stream).await.ok();
    });
    (streams, driving)
}

#[tokio::test]
async fn a_server_that_multiplexed_and_is_busy_is_not_taken_for_an_old_one() {
    let [mode, ..] = MODES;
    let listener = listener().await;
    let address = listener.local_addr().unwrap();
    let relay = TestRelay::start(&settings(Mode { relay: 1, ..mode }, &[address]));
    let mut first = relay.connect().await;
    let (mut streams, driving) = carry(accept_relay(&listener).await).await;
    streams.recv().await.unwrap();
    drop(driving);
    closed(&mut first).await;
    // It closes without an answer; then it is itself again.
    let _second = relay.connect().await;
    drop(accept_relay(&listener).await);
    let (mut streams, _driving) = carry(accept_relay(&listener).await).await;
    streams.recv().await.unwrap();
}

#[tokio::test]
async fn one_open_connection_carries_all_agents_while_no_other_can_be_opened() {
    let [mode, ..] = MODES;
    let listener = listener().await;
    let address = listener.local_addr().unwrap();
    let relay = TestRelay::start(&settings(mode, &[address]));
    let mut agents = vec![relay.connect().await];
    let (mut streams, _driving) = carry(accept_relay(&listener).await).await;
    let mut carried = vec![streams.recv().await.unwrap()];
    let refusing = async {
        loop {
            drop(accept_relay(&listener).await);
        }
    };
    let connecting = async {
        for _ in 0..6 {
            agents.push(relay.connect().await);
            carried.push(streams.recv().await.unwrap());
        }
    };
    tokio::select! {
        () = refusing => {}
        all = tokio::time::timeout(PATIENCE, connecting) => all.unwrap(),
    }
    let totals = relay.stop().await;
    assert_eq!((totals.without_server, totals.forwarded), (0, 7));
}
