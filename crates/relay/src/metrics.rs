//! The counters as a page for Prometheus, at `/metrics` of an address of its own.
//!
//! One request for each connection, and no more of HTTP than that needs.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::counters::{Counters, Totals};
use crate::servers::{LinkCounts, Servers};

/// Requests at the same time.
const MAX_REQUESTS: usize = 8;
const MAX_REQUEST: usize = 8 * 1024;
const TIMEOUT: Duration = Duration::from_secs(5);
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// A name, its help, and what it counts.
type LinkGauge = (&'static str, &'static str, fn(LinkCounts) -> usize);
const LINK_GAUGES: [LinkGauge; 2] = [
    (
        "muster_relay_shared_connections",
        "Connections to a server that carry many agents.",
        |links| links.connections,
    ),
    (
        "muster_relay_streams",
        "Agents on these connections.",
        |links| links.streams,
    ),
];

#[derive(Debug)]
pub(crate) struct MetricsPage {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    pub(crate) counters: Arc<Counters>,
    /// Of agents, and of clients of the API.
    pub(crate) servers: Vec<Arc<Servers>>,
}

impl MetricsPage {
    /// Answers until the future is dropped.
    pub(crate) async fn run(self) {
        let slots = Arc::new(Semaphore::new(MAX_REQUESTS));
        let mut requests = JoinSet::new();
        let page = Arc::new(self);
        loop {
            let accepted = tokio::select! {
                accepted = page.listener.accept() => accepted,
                Some(_) = requests.join_next() => continue,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            };
            // Beyond that many, the connection is closed.
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                continue;
            };
            let page = page.clone();
            requests.spawn(async move {
                let answered = timeout(TIMEOUT, page.answer(stream)).await;
                tracing::debug!(?answered, "metrics");
                drop(slot);
            });
        }
    }

    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            let n = stream.read_buf(&mut request).await?;
            if n == 0 || request.len() > MAX_REQUEST {
                return Ok(());
            }
        }
        let (status, body) = match request.starts_with(b"GET /metrics ") {
            true => ("200 OK", self.page()),
            false => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    }

    fn page(&self) -> String {
        let mut page = String::new();
        write_totals(&mut page, &self.counters.totals());
        head(
            &mut page,
            "muster_relay_connects_total",
            "Clients for which a server was tried, by server and result.",
        );
        let servers = || self.servers.iter().flat_map(|servers| servers.counts());
        for server in servers() {
            for (result, n) in [("ok", server.ok), ("failed", server.failed)] {
                let labels = format!("server=\"{}\",result=\"{result}\"", server.name);
                line(&mut page, "muster_relay_connects_total", &labels, n);
            }
        }
        for (name, help, count) in LINK_GAUGES {
            let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} gauge");
            // Only agents share connections.
            for server in self.servers.iter().take(1).flat_map(|it| it.counts()) {
                let labels = format!("server=\"{}\"", server.name);
                line(&mut page, name, &labels, count(server.links) as u64);
            }
        }
        page
    }
}

fn write_totals(page: &mut String, totals: &Totals) {
    let name = "muster_relay_open_connections";
    let _ = writeln!(
        page,
        "# HELP {name} Connections that are open.\n# TYPE {name} gauge\n{name} {}",
        totals.open
    );
    let name = "muster_relay_connections_total";
    head(page, name, "Connections, by what became of them.");
    for (result, n) in [
        ("forwarded", totals.forwarded),
        ("over_limit", totals.over_limit),
        ("without_server", totals.without_server),
    ] {
        line(page, name, &format!("result=\"{result}\""), n);
    }
    let name = "muster_relay_idle_closed_total";
    head(
        page,
        name,
        "Connections that were closed because both sides were silent.",
    );
    let _ = writeln!(page, "{name} {}", totals.idle);
    let name = "muster_relay_bytes_total";
    head(
        page,
        name,
        "Bytes that were forwarded, to servers (up) and from them (down).",
    );
    line(page, name, "direction=\"up\"", totals.bytes_up);
    line(page, name, "direction=\"down\"", totals.bytes_down);
}

fn head(page: &mut String, name: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} counter");
}

fn line(page: &mut String, name: &str, labels: &str, n: u64) {
    let _ = writeln!(page, "{name}{{{labels}}} {n}");
}
