//! The server on a loopback port with a real store, a client that writes bytes, and an agent made of frames.

use std::net::SocketAddr;
use std::time::Duration;

use control::{Clock, Control, FirstKeys};
use model::Host;
use serde_json::{Value, json};
use server::Config;
use server::http::listen::{HttpListener, HttpListenerSettings};
use server::http::{HttpState, Readiness};
use store::Store;
use tempfile::TempDir;
use testkit::FakeAgent;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) const APP: &str = "demo";
pub(crate) const SECRET: &str = "demo-secret-0123456789";
pub(crate) const JOIN: &str = "join-me-0123456789";
/// The headers of a request by the app and its user alice.
pub(crate) const HEADERS: [(&str, &str); 3] = [
    ("X-Bkapi-App-Code", APP),
    ("X-Bkapi-App-Secret", SECRET),
    ("X-Bkapi-User-Name", "alice"),
];
/// How long a test waits for what has to happen.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Rig {
    pub(crate) control: Control,
    pub(crate) ready: Readiness,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) address: SocketAddr,
    _dir: TempDir,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(HttpListenerSettings::default(), |state| state).await
    }

    /// With other settings, or other limits.
    pub(crate) async fn with(
        settings: HttpListenerSettings,
        limit: impl FnOnce(HttpState) -> HttpState,
    ) -> Self {
        let dir = TempDir::new().unwrap();
        let url = format!("sqlite:{}/muster.db", dir.path().display());
        let store = Store::open(&url).await.unwrap();
        let (control, background) = Control::alone(store, Clock::system()).await.unwrap();
        let keys = FirstKeys {
            app_code: Some(APP.into()),
            app_secret: Some(SECRET.into()),
            join_token: Some(JOIN.into()),
            ..FirstKeys::default()
        };
        control.access().ensure_first_keys(keys).await.unwrap();
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(background.run(stopped.clone()));
        let ready = Readiness::default();
        let state =
            HttpState::new(control.clone(), "9.9.9", ready.clone(), stopped).with_ca([7; 32]);
        let state = limit(state);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listener = HttpListener::new(listener, settings).unwrap();
        // The listener goes on after a stop, so that tests see how requests under way end.
        let (open, opened) = watch::channel(false);
        tokio::spawn(async move {
            listener.run(state, opened).await;
            drop(open);
        });
        Self {
            control,
            ready,
            stop,
            address,
            _dir: dir,
        }
    }

    /// Sends one request and reads the response to its end.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut stream = self.open(method, path, headers, body).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        parse(&bytes)
    }

    /// Sends a request and leaves the response in the stream.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += "host: muster\r\n";
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let has_type = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if path.starts_with("/api/v1") && !body.is_empty() && !has_type {
            head += "content-type: application/json\r\n";
        }
        if !body.is_empty() || method == "POST" || method == "PUT" {
            head += &format!("content-length: {}\r\n", body.len());
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        stream
    }

    /// Sends a request of the GSE family with credentials in the body: the envelope, whose status is always 200.
    pub(crate) async fn gse(&self, method: &str, path: &str, body: Value) -> Value {
        let mut body = body;
        body["bk_app_code"] = json!(APP);
        body["bk_app_secret"] = json!(SECRET);
        body["bk_username"] = json!("alice");
        self.bare(method, path, &body.to_string()).await
    }

    /// The same without credentials, and with any body.
    pub(crate) async fn bare(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.send(method, path, &[], body.as_bytes()).await;
        assert_eq!(answer.status, 200, "{method} {path}");
        let envelope = answer.json();
        let keys: Vec<&String> = envelope.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "data", "message", "result"]);
        assert_eq!(envelope["result"], json!(envelope["code"] == json!(0)));
        envelope
    }

    pub(crate) async fn esb(&self, name: &str, body: Value) -> Value {
        self.gse("POST", &format!("/api/c/compapi/v2/gse/{name}/"), body)
            .await
    }

    /// `data` of a successful response.
    pub(crate) async fn esb_ok(&self, name: &str, body: Value) -> Value {
        let envelope = self.esb(name, body).await;
        assert_eq!(envelope["code"], json!(0), "{envelope}");
        envelope["data"].clone()
    }

    /// Sends a native request: status and body.
    pub(crate) async fn native(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let path = format!("/api/v1{path}");
        let answer = self.send(method, &path, &HEADERS, body.as_bytes()).await;
        match answer.body.is_empty() {
            true => (answer.status, Value::Null),
            false => (answer.status, answer.json()),
        }
    }

    /// Enrols a host and connects its agent.
    pub(crate) async fn agent(&self, host: &str) -> FakeAgent {
        attach(&self.control, host).await
    }
}

/// Enrols a host with a server that knows [`JOIN`], and connects its agent.
pub(crate) async fn attach(control: &Control, host: &str) -> FakeAgent {
    let host: Host = host.parse().unwrap();
    FakeAgent::enrol(control, JOIN, host, None).await;
    FakeAgent::connect(control, host, &FakeAgent::hello(host))
}

/// Reads until the text holds all of `parts`.
pub(crate) async fn read_until(stream: &mut TcpStream, parts: &[&str]) -> String {
    let mut text = String::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while !parts.iter().all(|part| text.contains(part)) {
            let n = stream.read(&mut buffer).await.unwrap();
            assert_ne!(n, 0, "the stream ended after {text}");
            text += &String::from_utf8_lossy(&buffer[..n]);
        }
    };
    let in_time = tokio::time::timeout(TIMEOUT, reading).await.is_ok();
    assert!(in_time, "{parts:?} did not come, but {text}");
    text
}

/// The configuration of a whole server in a folder of its own.
pub(crate) fn config(folder: &TempDir) -> Config {
    let loopback = "127.0.0.1:0".parse().unwrap();
    Config {
        data: folder.path().to_owned(),
        http: loopback,
        agents: loopback,
        agent_listener: server::AgentListenerSettings::default(),
        http_listener: HttpListenerSettings::default(),
        outgoing_ca: None,
        store_url: None,
        bus: Vec::new(),
        bus_ca: None,
        app_code: None,
        app_secret: None,
        join_token: Some(JOIN.into()),
        cmdb: None,
    }
}

fn parse(bytes: &[u8]) -> Answer {
    let end = bytes
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let body = &bytes[end + 4..];
    let is_chunked = headers.iter().any(|(_, value)| value == "chunked");
    Answer {
        status: status.parse().unwrap(),
        body: match is_chunked {
            true => unchunk(body),
            false => body.to_vec(),
        },
        headers,
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|w| w == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

/// The documented example of register_proc_info.
pub(crate) fn example() -> Value {
    json!({
        "meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
        "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2}],
        "spec": spec(),
    })
}

pub(crate) fn spec() -> Value {
    json!({
        "identity": {"index_key": "", "proc_name": "proc-test", "setup_path": "/data/gsetest/",
            "pid_path": "/data/gsetest/proc-test.pid", "config_path": "/data/gsetest/proc-test.conf",
            "log_path": "/data/gsetest/logs/", "user": "root"},
        "control": {"start_cmd": "./start.sh", "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh",
            "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh", "version_cmd": "./version.sh",
            "health_cmd": "./health.sh"},
        "resource": {"cpu": 10.0, "mem": 10.0, "fd": 10000, "disk": 100, "net": 0},
        "monitor_policy": {"auto_type": 1, "start_check_secs": 5, "stop_check_secs": 5, "start_retries": 3,
            "start_interval": 20, "crotab_rule": ""},
        "warn_report_policy": {"report_id": 0},
        "configmap": [{"path": "", "md5": ""}],
    })
}

/// The selector of the example: its meta and hosts.
pub(crate) fn target() -> Value {
    let mut target = example();
    target.as_object_mut().unwrap().remove("spec");
    target
}
