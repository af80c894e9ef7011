//! Configuration files, from a real server through TLS to a real agent and its disk.

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use control::{Control, ControlError};
use model::Host;
use model::config_file::{DesiredFile, MAX_BYTES, WrittenFile};
use server::Running;
use tempfile::TempDir;
use testkit::{program, wait};

const IP: &str = "10.4.0.1";
const TOKEN: &str = "test-join-token";

fn host() -> Host {
    IP.parse().unwrap()
}

async fn start_server(dir: &Path) -> Running {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = server::Config {
        data: dir.join("server"),
        http: any,
        agents: any,
        agent_listener: server::AgentListenerSettings::default(),
        http_listener: server::HttpListenerSettings::default(),
        outgoing_ca: None,
        store_url: None,
        bus: Vec::new(),
        bus_ca: None,
        app_code: None,
        app_secret: None,
        join_token: Some(TOKEN.into()),
        cmdb: None,
    };
    server::start(config).await.unwrap()
}

/// Killed at the end of the test.
struct Agent(Child);

impl Agent {
    fn start(dir: &Path, server: SocketAddr, release: &str) -> Self {
        let child = Command::new(program::path("muster-agent"))
            .args(["--server", &server.to_string(), "--ip", IP])
            .arg("--data")
            .arg(dir.join("agent"))
            .env("MUSTER_JOIN_TOKEN", TOKEN)
            .env("MUSTER_RELEASE", release)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

fn wanted(path: &Path, content: &[u8]) -> DesiredFile {
    let me = std::fs::metadata(path.ancestors().nth(2).unwrap()).unwrap();
    let sum = Command::new("sh")
        .args(["-c", "md5sum < \"$0\""])
        .arg(with_content(path, content))
        .output()
        .unwrap();
    DesiredFile {
        path: path.to_str().unwrap().to_owned(),
        owner: me.uid().to_string(),
        group: me.gid().to_string(),
        mode: 0o600,
        md5: String::from_utf8(sum.stdout).unwrap()[..32].to_owned(),
        keep_backups: 2,
    }
}

fn with_content(path: &Path, content: &[u8]) -> PathBuf {
    let file = path.ancestors().nth(2).unwrap().join("content");
    std::fs::write(&file, content).unwrap();
    file
}

async fn write(
    control: &Control,
    path: &Path,
    content: &[u8],
) -> Result<WrittenFile, ControlError> {
    let wanted = wanted(path, content);
    control
        .sessions()
        .write_file(host(), wanted, content.to_vec())
        .await
}

/// Reads as soon as the agent is connected.
async fn read_when_there(
    control: &Control,
    path: &Path,
) -> Result<Option<control::FileOnHost>, ControlError> {
    let trying = async {
        loop {
            let read =
                control
                    .sessions()
                    .read_file(host(), path.to_str().unwrap(), MAX_BYTES as u64);
            match read.await {
                Err(ControlError::Away(_) | ControlError::NotFound(_)) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                answer => return answer,
            }
        }
    };
    tokio::time::timeout(wait::PATIENCE, trying).await.unwrap()
}

#[tokio::test]
async fn files_are_written_and_read_atomically_through_agent_kills() {
    let dir = TempDir::with_prefix("muster-test-").unwrap();
    let running = start_server(dir.path()).await;
    let control = &running.control;
    let path = dir.path().join("etc/app.conf");
    let mut agent = Agent::start(dir.path(), running.agents, "on");
    assert_eq!(read_when_there(control, &path).await.unwrap(), None);

    // The largest file, of bytes that JSON escapes.
    let long = vec![1; MAX_BYTES];
    let written = write(control, &path, &long).await.unwrap();
    assert!(!written.unchanged && written.backup_path.is_none());
    assert!(write(control, &path, &long).await.unwrap().unchanged);
    let found = read_when_there(control, &path).await.unwrap().unwrap();
    assert_eq!((found.mode, found.md5), (0o600, written.md5));
    assert!(found.content == long);

    // Killed during writes: the file is either the old or the new one.
    let other = vec![b'x'; MAX_BYTES];
    for round in 0..5 {
        let killing = async {
            tokio::time::sleep(Duration::from_millis(7 * round)).await;
            agent.kill();
        };
        let (_either, ()) = tokio::join!(write(control, &path, &other), killing);
        let found = std::fs::read(&path).unwrap();
        assert!(found == long || found == other);
        agent = Agent::start(dir.path(), running.agents, "on");
        read_when_there(control, &path).await.unwrap();
        write(control, &path, &long).await.unwrap();
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            !names.iter().any(|name| name.contains("muster-new")),
            "{names:?}"
        );
        assert!(names.len() <= 3, "{names:?}");
    }

    agent.kill();
    let _agent = Agent::start(dir.path(), running.agents, "off");
    let error = read_when_there(control, &path).await.unwrap_err();
    assert!(error.to_string().ends_with("`release` is off"), "{error}");
    let error = write(control, &path, b"x").await.unwrap_err();
    assert!(matches!(error, ControlError::Declined(_)), "{error}");
    running.stop().await;
}
