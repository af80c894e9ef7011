//! A real server near its limit of open files: the API goes on answering.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, geteuid, kill_process, prlimit};
use tempfile::TempDir;

/// Fewer than the idle connections below.
const LIMIT: u64 = 160;
const IDLE: usize = 300;
/// Longer than an answer takes even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    child: Child,
    address: String,
    _home: TempDir,
}

impl Server {
    /// Starts `muster server` as a child of `wrapped`.
    fn start(wrapped: &[&str]) -> Self {
        let home = TempDir::new().unwrap();
        let muster = env!("CARGO_BIN_EXE_muster");
        let words = [wrapped, &[muster, "server", "--http", "127.0.0.1:0"]].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .args(["--agents", "127.0.0.1:0"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("MUSTER_DATA", home.path().join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(
                std::fs::File::create(home.path().join("log")).unwrap(),
            ))
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut said).unwrap();
        let address = said
            .strip_prefix("API on http://")
            .and_then(|rest| rest.split(',').next())
            .unwrap_or_else(|| panic!("{said:?}: {}", log(&home)))
            .to_owned();
        Self {
            child,
            address,
            _home: home,
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// The body of an answer on a connection of its own.
    fn get(&self, path: &str) -> String {
        let mut stream = self.connect();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .unwrap_or_else(|error| panic!("{path}: {error}: {}", self.log()));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    fn log(&self) -> String {
        log(&self._home)
    }

    fn shed(&self, reason: &str) -> u64 {
        let metrics = self.get("/metrics");
        let prefix = format!("muster_shed_total{{reason=\"{reason}\"}} ");
        let found = metrics.lines().find_map(|line| line.strip_prefix(&prefix));
        found.unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone_already = kill_process(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

fn log(home: &TempDir) -> String {
    std::fs::read_to_string(home.path().join("log")).unwrap_or_default()
}

/// Whether the server still holds this connection, on which nothing was asked.
fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    match (&mut &*stream).read(&mut [0]) {
        Err(error) => error.kind() == ErrorKind::WouldBlock,
        Ok(n) => n > 0,
    }
}

/// With idle connections beyond the limit, requests are answered, and not because idle connections ran into their time.
fn stays_reachable(server: &Server) {
    let idle: Vec<TcpStream> = (0..IDLE).map(|_| server.connect()).collect();
    for _ in 0..5 {
        server.get("/healthz");
        server.get("/readyz");
    }
    // The oldest went first. Each closes by itself, so the last of them may still be about to.
    let began = Instant::now();
    let n_closed = loop {
        let newest_closed = idle.iter().rposition(|stream| !is_open(stream));
        let oldest_open = idle.iter().position(is_open);
        match (newest_closed, oldest_open) {
            (Some(closed), Some(open)) if closed < open => break open,
            (_, None) => panic!("all were closed: {}", server.log()),
            _ => assert!(began.elapsed() < PATIENCE, "{}", server.log()),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(server.shed("idle_connections") >= n_closed as u64);
    assert!(server.log().contains("turned away for want of room"));
}

#[test]
fn a_server_with_few_descriptors_answers_beside_idle_connections() {
    let limited = format!("ulimit -n {LIMIT} && exec \"$@\"");
    let mut wrapped = vec!["sh", "-c", &limited, "sh"];
    // Root could raise the limit again.
    if geteuid().is_root() {
        wrapped.extend(["setpriv", "--bounding-set=-sys_resource", "--"]);
    }
    let server = Server::start(&wrapped);
    stays_reachable(&server);
    let log = server.log();
    assert!(log.contains("limit of open files"), "{log}");
    assert!(log.contains("allows the API fewer connections"), "{log}");
    assert_eq!(server.shed("accept_failed"), 0, "{log}");
}

#[test]
fn a_server_that_runs_out_of_descriptors_closes_idle_connections() {
    let server = Server::start(&[]);
    // With an answer it has shared out its descriptors, by a limit that then becomes smaller.
    server.get("/healthz");
    let limit = Rlimit {
        current: Some(LIMIT),
        maximum: Some(LIMIT),
    };
    prlimit(Some(server.pid()), Resource::Nofile, limit).unwrap();
    stays_reachable(&server);
    assert!(server.shed("accept_failed") >= 1, "{}", server.log());
}
