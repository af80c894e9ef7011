//! Rotation over servers, and servers that cannot be reached.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::rig::{TestRelay, accept, closed, listener, settings};

#[tokio::test]
async fn connections_go_to_each_server_in_turn() {
    let servers = [listener().await, listener().await];
    let addresses = [0, 1].map(|n| servers[n].local_addr().unwrap());
    let relay = TestRelay::start(&settings(&addresses));
    for _ in 0..3 {
        for server in &servers {
            let mut agent = relay.connect().await;
            let mut there = accept(server).await;
            agent.write_all(b"x").await.unwrap();
            there.read_exact(&mut [0]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_is_skipped_and_comes_back() {
    let gone = listener().await;
    let (server, address) = (listener().await, gone.local_addr().unwrap());
    drop(gone);
    let relay = TestRelay::start(&settings(&[address, server.local_addr().unwrap()]));
    for _ in 0..4 {
        let mut agent = relay.connect().await;
        let mut there = accept(&server).await;
        there.write_all(b"x").await.unwrap();
        agent.read_exact(&mut [0]).await.unwrap();
    }
    // It is up again, and gets connections after a while.
    let back = tokio::net::TcpListener::bind(address).await.unwrap();
    let trying = async {
        loop {
            let mut agent = relay.connect().await;
            let mut there = accept(&server).await;
            there.write_all(b"x").await.unwrap();
            agent.read_exact(&mut [0]).await.unwrap();
        }
    };
    tokio::select! {
        _there = accept(&back) => {}
        () = trying => {}
    }
    let totals = relay.stop().await;
    assert_eq!(totals.without_server, 0, "{totals:?}");
}

#[tokio::test]
async fn without_any_server_the_connection_is_closed_at_once() {
    let gone = [listener().await, listener().await];
    let addresses = [0, 1].map(|n| gone[n].local_addr().unwrap());
    drop(gone);
    let relay = TestRelay::start(&settings(&addresses));
    let mut agent = relay.connect().await;
    closed(&mut agent).await;
    let totals = relay.stop().await;
    assert_eq!((totals.without_server, totals.forwarded), (1, 0));
}
