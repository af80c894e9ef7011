//! Counts requests, and writes all metrics in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use control::{Control, Figures};
use locks::Mutex;

use super::HttpState;
use super::front::ResponseRecord;

/// Upper bounds of the latency histogram, in seconds.
const BUCKETS: [f64; 13] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

/// Requests by endpoint. The endpoints are a fixed list, so their number is bounded.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<&'static str, BTreeMap<String, Series>>>);

#[derive(Debug, Default, Clone)]
struct Series {
    ok: u64,
    client_error: u64,
    server_error: u64,
    buckets: [u64; BUCKETS.len()],
    seconds: f64,
}

impl Metrics {
    pub(crate) fn count(&self, record: &ResponseRecord, took: Duration) {
        let mut dialects = self.0.lock();
        let endpoints = dialects.entry(record.dialect).or_default();
        let series = match endpoints.get_mut(record.endpoint.as_ref()) {
            Some(series) => series,
            None => endpoints.entry(record.endpoint.to_string()).or_default(),
        };
        match class(record) {
            Class::Ok => series.ok += 1,
            Class::ClientError => series.client_error += 1,
            Class::ServerError => series.server_error += 1,
        }
        series.seconds += took.as_secs_f64();
        if let Some(bucket) = BUCKETS.iter().position(|le| took.as_secs_f64() <= *le) {
            series.buckets[bucket] += 1;
        }
    }

    fn write(&self, out: &mut String) {
        let dialects = self.0.lock().clone();
        let all = || {
            dialects.iter().flat_map(|(dialect, endpoints)| {
                endpoints.iter().map(move |(endpoint, series)| {
                    let labels = format!("dialect=\"{dialect}\",endpoint=\"{endpoint}\"");
                    (labels, series)
                })
            })
        };
        let name = "muster_http_requests_total";
        head(out, name, "counter", "Answered requests by result class.");
        for (labels, series) in all() {
            for (class, n) in [
                ("ok", series.ok),
                ("client_error", series.client_error),
                ("server_error", series.server_error),
            ] {
                if n > 0 {
                    line(
                        out,
                        format_args!("{name}{{{labels},class=\"{class}\"}} {n}"),
                    );
                }
            }
        }
        let name = "muster_http_request_seconds";
        let help = "Time from the head of a request to its answer.";
        head(out, name, "histogram", help);
        for (labels, series) in all() {
            let mut n = 0;
            for (le, in_bucket) in BUCKETS.iter().zip(series.buckets) {
                n += in_bucket;
                line(
                    out,
                    format_args!("{name}_bucket{{{labels},le=\"{le}\"}} {n}"),
                );
            }
            let count = series.ok + series.client_error + series.server_error;
            line(
                out,
                format_args!("{name}_bucket{{{labels},le=\"+Inf\"}} {count}"),
            );
            line(
                out,
                format_args!("{name}_sum{{{labels}}} {}", series.seconds),
            );
            line(out, format_args!("{name}_count{{{labels}}} {count}"));
        }
    }
}

enum Class {
    Ok,
    ClientError,
    ServerError,
}

fn class(record: &ResponseRecord) -> Class {
    let is_envelope = record.dialect != "native";
    match record.code {
        0 if is_envelope => Class::Ok,
        1_000_500..1_000_600 => Class::ServerError,
        500..600 => Class::ServerError,
        100..400 if !is_envelope => Class::Ok,
        _ => Class::ClientError,
    }
}

/// Figures of the server in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "server", security(()), responses(
    (status = 200, description = "Prometheus text format", body = String, content_type = "text/plain")
))]
pub(crate) async fn metrics(State(http): State<HttpState>) -> impl IntoResponse {
    let mut out = String::with_capacity(16 * 1024);
    let (name, version) = ("muster_build_info", http.version);
    head(&mut out, name, "gauge", "The version that runs.");
    line(&mut out, format_args!("{name}{{version=\"{version}\"}} 1"));
    write_figures(&mut out, &http.control.figures());
    write_replicas(&mut out, &http.control);
    http.metrics.write(&mut out);
    let name = "muster_shed_total";
    let help = "What was turned away for want of room, by reason.";
    head(&mut out, name, "counter", help);
    for (reason, n) in http.shed.counts() {
        line(&mut out, format_args!("{name}{{reason=\"{reason}\"}} {n}"));
    }
    (
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        out,
    )
}

/// This replica, the others, and the store.
fn write_replicas(out: &mut String, control: &Control) {
    let replicas = control.replicas().list();
    let n_agents = replicas.first().map_or(0, |here| here.n_agents as u64);
    let mut gauge = |name, help, value| single(out, name, "gauge", help, value);
    let help = "Servers of this installation, as this one sees them.";
    gauge("muster_replicas", help, replicas.len() as u64);
    let help = "Agents that are connected to this server.";
    gauge("muster_agents_here", help, n_agents);
    let help = "1: this server does the background work.";
    gauge("muster_leads", help, control.replicas().leads().into());
    let help = "0: messages to other replicas go through the store.";
    gauge("muster_bus_up", help, control.replicas().is_bus_up().into());
    let help = "0: the store is away, and reads are answered with what is known here.";
    gauge(
        "muster_store_up",
        help,
        (!control.replicas().is_behind()).into(),
    );
}

fn write_figures(out: &mut String, figures: &Figures) {
    for (name, help, value) in [
        (
            "revision",
            "The last commit that this server shows.",
            figures.revision,
        ),
        (
            "hosts",
            "Hosts that were ever named.",
            figures.n_hosts as u64,
        ),
        (
            "agents_connected",
            "Agents with a connection.",
            figures.n_agents_up as u64,
        ),
        (
            "processes",
            "Registered processes.",
            figures.n_processes as u64,
        ),
        (
            "processes_running",
            "Processes that run.",
            figures.n_running as u64,
        ),
        (
            "tasks_open",
            "Tasks that go on.",
            figures.n_tasks_open as u64,
        ),
        (
            "targets_open",
            "Targets that go on.",
            figures.n_targets_open as u64,
        ),
    ] {
        single(out, &format!("muster_{name}"), "gauge", help, value);
    }
    for (name, help, value) in [
        ("commits", "Commits to the store.", figures.commits),
        ("reports", "Status reports from agents.", figures.reports),
        ("statuses", "Statuses in those reports.", figures.statuses),
        ("results", "Results from agents.", figures.results),
        (
            "operations",
            "Targets of operate requests.",
            figures.operations,
        ),
    ] {
        single(out, &format!("muster_{name}_total"), "counter", help, value);
    }
    let name = "muster_events_total";
    head(out, name, "counter", "Events from agents by kind.");
    for (kind, n) in &figures.events {
        let kind = kind.as_str();
        line(out, format_args!("{name}{{kind=\"{kind}\"}} {n}"));
    }
    let name = "muster_webhook_deliveries_total";
    let help = "Attempts to deliver an event to a webhook, by result.";
    head(out, name, "counter", help);
    for (id, health) in &figures.webhooks {
        for (result, n) in [("ok", health.n_delivered), ("failed", health.n_failed)] {
            line(
                out,
                format_args!("{name}{{webhook=\"{id}\",result=\"{result}\"}} {n}"),
            );
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    line(
        out,
        format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"),
    );
}

fn single(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(out, name, kind, help);
    line(out, format_args!("{name} {value}"));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(dialect: &'static str, code: i64) -> ResponseRecord {
        ResponseRecord {
            dialect,
            endpoint: "x".into(),
            app: String::new(),
            user: String::new(),
            code,
        }
    }

    #[test]
    fn requests_are_counted_by_class_and_time() {
        let metrics = Metrics::default();
        metrics.count(&record("esb", 0), Duration::from_millis(3));
        metrics.count(&record("esb", 1_000_400), Duration::from_millis(300));
        metrics.count(&record("esb", 1_000_503), Duration::from_secs(100));
        metrics.count(&record("native", 202), Duration::ZERO);
        metrics.count(&record("native", 404), Duration::ZERO);
        let mut text = String::new();
        metrics.write(&mut text);
        for line in [
            "muster_http_requests_total{dialect=\"esb\",endpoint=\"x\",class=\"ok\"} 1",
            "muster_http_requests_total{dialect=\"esb\",endpoint=\"x\",class=\"client_error\"} 1",
            "muster_http_requests_total{dialect=\"esb\",endpoint=\"x\",class=\"server_error\"} 1",
            "muster_http_requests_total{dialect=\"native\",endpoint=\"x\",class=\"ok\"} 1",
            "muster_http_request_seconds_bucket{dialect=\"esb\",endpoint=\"x\",le=\"0.005\"} 1",
            "muster_http_request_seconds_bucket{dialect=\"esb\",endpoint=\"x\",le=\"60\"} 2",
            "muster_http_request_seconds_bucket{dialect=\"esb\",endpoint=\"x\",le=\"+Inf\"} 3",
            "muster_http_request_seconds_count{dialect=\"native\",endpoint=\"x\"} 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
