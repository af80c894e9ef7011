//! Agents that do not read, do not write, or write too much: backpressure, then a disconnect, and no delay for others.

use std::time::Duration;

use futures_util::StreamExt;
use model::{Flag, Host};
use serde_json::json;
use server::agents::{ConnectionError, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::codec::{Decoder, Encoder, FramedRead};
use wire::{Codec, Down, DownKind, Hello, Report, Up};

use crate::rig::{JOIN, Rig, spec};

const HOST: &str = "0:10.0.0.7";
/// The buffer of a connection: small, so that it fills up.
const BUFFER: usize = 4096;

fn bytes_of(frame: impl Into<Up>) -> Vec<u8> {
    let mut bytes = bytes::BytesMut::new();
    let mut codec = Codec::<Down, Up>::new();
    codec.encode(frame.into(), &mut bytes).unwrap();
    bytes.to_vec()
}

/// A connection of [`HOST`] that has sent its hello, and the server's task.
async fn connection(rig: &Rig) -> (DuplexStream, JoinHandle<Result<(), ConnectionError>>) {
    let host: Host = HOST.parse().unwrap();
    let (mut near, far) = duplex(BUFFER);
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

/// A server with an enrolled [`HOST`].
async fn enrolled() -> Rig {
    let rig = Rig::new().await;
    let host: Host = HOST.parse().unwrap();
    rig.control
        .enrolment()
        .enrol(JOIN, host, None, None)
        .await
        .unwrap();
    rig
}

/// Registers more than the buffer of a connection holds.
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
    let host: Host = HOST.parse().unwrap();
    let fleet = rig.control.inspect_fleet();
    let id = fleet.host_id(&host).unwrap();
    fleet.host(id).unwrap().link.is_up()
}

async fn until_up(rig: &Rig) {
    while !is_up(rig) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_disconnected_and_delays_no_other() {
    let rig = enrolled().await;
    let good = rig.agent("0:10.0.0.8").await;
    register(&rig).await;
    let (unread, serving) = connection(&rig).await;
    until_up(&rig).await;

    let operate = json!({
        "meta": {"namespace": "gse", "name": "proc-3"},
        "hosts": [{"ip": "10.0.0.7", "bk_cloud_id": 0}, {"ip": "10.0.0.8", "bk_cloud_id": 0}],
        "op_type": 0,
    });
    let task = rig.esb_ok("operate_proc", operate).await;
    good.end_well(Flag::Running, true).await;
    let result = loop {
        let result = rig.esb_ok("get_proc_operate_result", task.clone()).await;
        if result["0:0:10.0.0.8:gse:proc-3"]["error_code"] == 0 {
            break result;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(result["0:0:10.0.0.7:gse:proc-3"]["error_code"], 115);

    // From here on the test waits for timers only.
    tokio::time::pause();
    let ended = serving.await.unwrap();
    assert!(matches!(ended, Err(ConnectionError::TooSlow)), "{ended:?}");
    assert!(!is_up(&rig));
    drop(unread);
}

#[tokio::test]
async fn a_silent_agent_is_disconnected() {
    let rig = enrolled().await;
    let (_silent, serving) = connection(&rig).await;
    until_up(&rig).await;
    tokio::time::pause();
    let ended = serving.await.unwrap();
    assert!(matches!(ended, Err(ConnectionError::TooSlow)), "{ended:?}");
    assert!(!is_up(&rig));
}

/// Responses wait in no queue: the server reads nothing more until they are read.
#[tokio::test]
async fn an_agent_that_writes_and_does_not_read_gets_backpressure() {
    let rig = enrolled().await;
    register(&rig).await;
    let (flood, serving) = connection(&rig).await;
    until_up(&rig).await;
    let (mut unread, mut flood) = tokio::io::split(flood);
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

    // When it reads again, the session goes on.
    tokio::spawn(async move { tokio::io::copy(&mut unread, &mut tokio::io::sink()).await });
    let written = flood.write_all(&heartbeat);
    let written = tokio::time::timeout(Duration::from_secs(20), written).await;
    written.expect("there is room again").unwrap();
    serving.abort();
}

fn report(pid: i32) -> Report {
    let status = wire::ProcessStatus {
        namespace: "gse".into(),
        name: "proc-1".into(),
        pid,
        ..Default::default()
    };
    Report {
        statuses: vec![status],
    }
}

/// When frames of the server arrived, until the connection ends.
async fn frame_times(half: ReadHalf<DuplexStream>) -> Vec<Instant> {
    let mut frames = FramedRead::new(half, Codec::<Down, Up>::new());
    let mut times = vec![Instant::now()];
    while let Some(Ok(_)) = frames.next().await {
        times.push(Instant::now());
    }
    times
}

fn longest_silence(mut times: Vec<Instant>) -> Duration {
    times.push(Instant::now());
    let silences = times.windows(2).map(|pair| pair[1] - pair[0]);
    silences.max().unwrap()
}

/// Agents of earlier versions send no heartbeat while they report.
#[tokio::test]
async fn an_agent_that_only_reports_gets_keepalives() {
    let rig = enrolled().await;
    let (near, serving) = connection(&rig).await;
    until_up(&rig).await;
    let (read, mut write) = tokio::io::split(near);
    tokio::time::pause();
    let began = Instant::now();
    let reporting = async {
        for pid in 1..=100 {
            tokio::time::sleep(Duration::from_secs(3)).await;
            write.write_all(&bytes_of(report(pid))).await.unwrap();
        }
        serving.abort();
    };
    let (times, ()) = tokio::join!(frame_times(read), reporting);
    assert_eq!(began.elapsed().as_secs(), 300);
    let longest = longest_silence(times).as_secs();
    assert!(longest < wire::SILENCE_SECS - 5, "silent for {longest} s");
}

#[tokio::test]
async fn a_slow_frame_is_a_sign_of_life_and_gets_keepalives() {
    let rig = enrolled().await;
    let (near, serving) = connection(&rig).await;
    until_up(&rig).await;
    let (read, mut write) = tokio::io::split(near);
    tokio::time::pause();
    let bytes = bytes_of(report(1));
    let uploading = async {
        for byte in bytes.chunks(1) {
            tokio::time::sleep(Duration::from_secs(20)).await;
            write.write_all(byte).await.unwrap();
        }
        assert!(is_up(&rig), "it was dropped in the middle of a frame");
        serving.abort();
    };
    let (times, ()) = tokio::join!(frame_times(read), uploading);
    let longest = longest_silence(times).as_secs();
    assert!(longest < wire::SILENCE_SECS, "silent for {longest} s");
}

/// The agent takes minutes for one batch of frames, and reads some of it all the time.
#[tokio::test]
async fn an_agent_that_reads_slowly_gets_every_frame() {
    let rig = enrolled().await;
    register(&rig).await;
    let (near, serving) = connection(&rig).await;
    until_up(&rig).await;
    let (mut read, mut write) = tokio::io::split(near);
    tokio::time::pause();
    let began = Instant::now();
    let beating = async {
        loop {
            tokio::time::sleep(Duration::from_secs(wire::HEARTBEAT_SECS)).await;
            write.write_all(&bytes_of(Report::default())).await.unwrap();
        }
    };
    let reading = async {
        let (mut bytes, mut part) = (bytes::BytesMut::new(), [0; 256]);
        let mut codec = Codec::<Down, Up>::new();
        loop {
            let n = read.read(&mut part).await.unwrap();
            assert!(n > 0, "it was dropped while it was reading");
            bytes.extend_from_slice(&part[..n]);
            while let Some(frame) = codec.decode(&mut bytes).unwrap() {
                if let Some(DownKind::Desired(desired)) = frame.kind
                    && desired.last
                {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    };
    tokio::select! {
        () = reading => {}
        () = beating => {}
    }
    let took = began.elapsed().as_secs();
    assert!(took > 2 * wire::SILENCE_SECS, "{took} s are no long time");
    assert!(is_up(&rig));
    serving.abort();
}

/// The store accepts nothing, so events wait. The agent must not take that for a dead server.
#[tokio::test]
async fn an_agent_whose_events_wait_for_the_store_gets_keepalives() {
    let dir = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite:{}/muster.db", dir.path().display());
    let store = store::Store::open(&url).await.unwrap();
    let clock = control::Clock::new(|| model::UnixMillis(1_800_000_000_000));
    // Without the background task the recorder commits nothing.
    let (control, _background) = control::Control::alone(store, clock).await.unwrap();
    let fixed = control::FirstKeys {
        join_token: Some(JOIN.into()),
        ..Default::default()
    };
    control.access().ensure_first_keys(fixed).await.unwrap();
    let host: Host = HOST.parse().unwrap();
    control
        .enrolment()
        .enrol(JOIN, host, None, None)
        .await
        .unwrap();
    let (near, far) = duplex(BUFFER);
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let serving = {
        let control = control.clone();
        tokio::spawn(async move { serve(&control, far, host, stopped).await })
    };
    let (read, mut write) = tokio::io::split(near);
    let hello = Hello {
        oldest: 1,
        newest: 1,
        ip: host.ip.to_string(),
        ..Default::default()
    };
    write.write_all(&bytes_of(hello)).await.unwrap();
    tokio::time::pause();
    let flooding = async {
        let mut n_taken = 0_u64;
        let flood = async {
            loop {
                let result = wire::ResultFrame::new(
                    model::OpId {
                        task: model::TaskId::from_number(n_taken),
                        ordinal: 0,
                    },
                    &model::Outcome::plain(model::Code::OK, "done", model::UnixMillis(1)),
                );
                write.write_all(&bytes_of(result)).await.unwrap();
                n_taken += 1;
            }
        };
        let flooded = tokio::time::timeout(Duration::from_secs(200), flood).await;
        assert!(flooded.is_err(), "it was stopped");
        assert!(!serving.is_finished(), "it was dropped");
        serving.abort();
    };
    let (times, ()) = tokio::join!(frame_times(read), flooding);
    let longest = longest_silence(times).as_secs();
    assert!(longest < wire::SILENCE_SECS - 5, "silent for {longest} s");
}
