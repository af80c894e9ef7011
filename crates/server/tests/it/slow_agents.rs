//! Agents that do not read, do not write, or write too much: slowed, then dropped, and no burden to anybody else.

use std::time::Duration;

use model::{Flag, Host};
use serde_json::json;
use server::agents::{ConnectionError, serve};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio_util::codec::Encoder;
use wire::{Codec, Down, Hello, Report, Up};

use crate::rig::{JOIN, Rig, spec};

const DEAF: &str = "0:10.0.0.7";
/// What a connection holds on its way, as little as it takes to fill it.
const ROOM: usize = 4096;

fn bytes_of(frame: impl Into<Up>) -> Vec<u8> {
    let mut bytes = bytes::BytesMut::new();
    let mut codec = Codec::<Down, Up>::new();
    codec.encode(frame.into(), &mut bytes).unwrap();
    bytes.to_vec()
}

/// A connection of [`DEAF`] that has said hello, and the server's side of it.
async fn connection(rig: &Rig) -> (DuplexStream, JoinHandle<Result<(), ConnectionError>>) {
    let host: Host = DEAF.parse().unwrap();
    let (mut near, far) = duplex(ROOM);
    let (control, stop) = (rig.control.clone(), rig.stop.subscribe());
    let serving = tokio::spawn(async move { serve(&control, far, host, stop).await });
    let hello = Hello {
        oldest: 1,
        newest: 1,
        ip: host.ip.to_string(),
        ..Default::default()
    };
    near.write_all(&bytes_of(hello)).await.unwrap();
    (near, serving)
}

/// Registers more than a connection holds.
async fn register(rig: &Rig) {
    for n in 0..10 {
        let body = json!({
            "meta": {"namespace": "gse", "name": format!("proc-{n}")},
            "hosts": [{"ip": "10.0.0.7", "bk_cloud_id": 0}, {"ip": "10.0.0.8", "bk_cloud_id": 0}],
            "spec": spec(),
        });
        rig.esb_ok("register_proc_info", body).await;
    }
}

fn is_up(rig: &Rig) -> bool {
    let host: Host = DEAF.parse().unwrap();
    let fleet = rig.control.fleet();
    let id = fleet.host_id(&host).unwrap();
    fleet.host(id).unwrap().link.is_up()
}

async fn until_up(rig: &Rig) {
    while !is_up(rig) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_dropped_and_holds_nobody_up() {
    let rig = Rig::new().await;
    let host: Host = DEAF.parse().unwrap();
    rig.control.enrol(JOIN, host, None, None).await.unwrap();
    let good = rig.agent("0:10.0.0.8").await;
    register(&rig).await;
    let (deaf, serving) = connection(&rig).await;
    until_up(&rig).await;

    let operate = json!({
        "meta": {"namespace": "gse", "name": "proc-3"},
        "hosts": [{"ip": "10.0.0.7", "bk_cloud_id": 0}, {"ip": "10.0.0.8", "bk_cloud_id": 0}],
        "op_type": 0,
    });
    let task = rig.esb_ok("operate_proc", operate).await;
    good.ends_well(Flag::Running, true).await;
    let result = loop {
        let result = rig.esb_ok("get_proc_operate_result", task.clone()).await;
        if result["0:0:10.0.0.8:gse:proc-3"]["error_code"] == 0 {
            break result;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(result["0:0:10.0.0.7:gse:proc-3"]["error_code"], 115);

    // From here on nothing but clocks is waited for.
    tokio::time::pause();
    let ended = serving.await.unwrap();
    assert!(matches!(ended, Err(ConnectionError::TooSlow)), "{ended:?}");
    assert!(!is_up(&rig));
    drop(deaf);
}

#[tokio::test]
async fn an_agent_that_falls_silent_is_dropped() {
    let rig = Rig::new().await;
    let host: Host = DEAF.parse().unwrap();
    rig.control.enrol(JOIN, host, None, None).await.unwrap();
    let (_silent, serving) = connection(&rig).await;
    until_up(&rig).await;
    tokio::time::pause();
    let ended = serving.await.unwrap();
    assert!(matches!(ended, Err(ConnectionError::TooSlow)), "{ended:?}");
    assert!(!is_up(&rig));
}

/// Answers wait in no queue: as long as they are not read, nothing more is taken in.
#[tokio::test]
async fn an_agent_that_writes_and_does_not_read_is_slowed() {
    let rig = Rig::new().await;
    let host: Host = DEAF.parse().unwrap();
    rig.control.enrol(JOIN, host, None, None).await.unwrap();
    register(&rig).await;
    let (flood, serving) = connection(&rig).await;
    until_up(&rig).await;
    let (mut deaf_half, mut flood) = tokio::io::split(flood);
    let heartbeat = bytes_of(Report::default());
    let mut n_taken = 0;
    let flooding = async {
        loop {
            flood.write_all(&heartbeat).await.unwrap();
            n_taken += heartbeat.len();
        }
    };
    let stuck = tokio::time::timeout(Duration::from_millis(300), flooding).await;
    assert!(stuck.is_err(), "it was stopped");
    assert!(n_taken <= 64 * 1024, "{n_taken} bytes were taken in");

    // As soon as it reads again, all goes on.
    tokio::spawn(async move { tokio::io::copy(&mut deaf_half, &mut tokio::io::sink()).await });
    let written = flood.write_all(&heartbeat);
    let written = tokio::time::timeout(Duration::from_secs(20), written).await;
    written.expect("there is room again").unwrap();
    serving.abort();
}
