//! Counts requests, and writes everything down in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use control::{Control, Figures};
use locks::Mutex;

use super::HttpState;
use super::front::Noted;

/// Upper bounds of the latency histogram, in seconds.
const BUCKETS: [f64; 13] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

/// Requests by endpoint. The endpoints are a fixed list, so this cannot grow without bound.
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
    pub(crate) fn count(&self, noted: &Noted, took: Duration) {
        let mut dialects = self.0.lock();
        let endpoints = dialects.entry(noted.dialect).or_default();
        let series = match endpoints.get_mut(noted.endpoint.as_ref()) {
            Some(series) => series,
            None => endpoints.entry(noted.endpoint.to_string()).or_default(),
        };
        match class(noted) {
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
                endpoints
                    .iter()
                    .map(move |(endpoint, series)| (dialect, endpoint, series))
            })
        };
        head(
            out,
            "muster_http_requests_total",
            "counter",
            "Answered requests by result class.",
        );
        for (dialect, endpoint, series) in all() {
            for (class, n) in [
                ("ok", series.ok),
                ("client_error", series.client_error),
                ("server_error", series.server_error),
            ] {
                if n > 0 {
                    line(
                        out,
                        format_args!(
                            "muster_http_requests_total{{dialect=\"{dialect}\",endpoint=\"{endpoint}\",class=\"{class}\"}} {n}"
                        ),
                    );
                }
            }
        }
        head(
            out,
            "muster_http_request_seconds",
            "histogram",
            "Time from the head of a request to its answer.",
        );
        for (dialect, endpoint, series) in all() {
            let labels = format!("dialect=\"{dialect}\",endpoint=\"{endpoint}\"");
            let mut n = 0;
            for (le, in_bucket) in BUCKETS.iter().zip(series.buckets) {
                n += in_bucket;
                line(
                    out,
                    format_args!("muster_http_request_seconds_bucket{{{labels},le=\"{le}\"}} {n}"),
                );
            }
            let count = series.ok + series.client_error + series.server_error;
            line(
                out,
                format_args!("muster_http_request_seconds_bucket{{{labels},le=\"+Inf\"}} {count}"),
            );
            line(
                out,
                format_args!(
                    "muster_http_request_seconds_sum{{{labels}}} {}",
                    series.seconds
                ),
            );
            line(
                out,
                format_args!("muster_http_request_seconds_count{{{labels}}} {count}"),
            );
        }
    }
}

enum Class {
    Ok,
    ClientError,
    ServerError,
}

fn class(noted: &Noted) -> Class {
    let is_envelope = noted.dialect != "native";
    match noted.code {
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
    head(
        &mut out,
        "muster_build_info",
        "gauge",
        "The version that runs.",
    );
    line(
        &mut out,
        format_args!("muster_build_info{{version=\"{}\"}} 1", http.version),
    );
    write_figures(&mut out, &http.control.figures());
    write_company(&mut out, &http.control);
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

/// How this replica stands with the others and with the store.
fn write_company(out: &mut String, control: &Control) {
    let replicas = control.replicas();
    let here = replicas.first();
    for (name, help, value) in [
        (
            "muster_replicas",
            "Servers of this installation, as this one sees them.",
            replicas.len() as u64,
        ),
        (
            "muster_agents_here",
            "Agents that are connected to this server.",
            here.map_or(0, |here| here.n_agents as u64),
        ),
        (
            "muster_leads",
            "1: this server does the background work.",
            u64::from(control.leads()),
        ),
        (
            "muster_bus_up",
            "0: messages to other replicas go through the store.",
            u64::from(control.is_bus_up()),
        ),
        (
            "muster_store_up",
            "0: the store is away, and reads are answered with what is known here.",
            u64::from(!control.is_behind()),
        ),
    ] {
        head(out, name, "gauge", help);
        line(out, format_args!("{name} {value}"));
    }
}

fn write_figures(out: &mut String, figures: &Figures) {
    for (name, help, value) in [
        (
            "muster_revision",
            "The last commit that this server shows.",
            figures.revision,
        ),
        (
            "muster_hosts",
            "Hosts that anybody ever named.",
            figures.n_hosts as u64,
        ),
        (
            "muster_agents_connected",
            "Agents with a connection.",
            figures.n_agents_up as u64,
        ),
        (
            "muster_processes",
            "Registered processes.",
            figures.n_processes as u64,
        ),
        (
            "muster_processes_running",
            "Processes that run.",
            figures.n_running as u64,
        ),
        (
            "muster_tasks_open",
            "Tasks that go on.",
            figures.n_tasks_open as u64,
        ),
        (
            "muster_targets_open",
            "Targets that go on.",
            figures.n_targets_open as u64,
        ),
    ] {
        head(out, name, "gauge", help);
        line(out, format_args!("{name} {value}"));
    }
    for (name, help, value) in [
        (
            "muster_commits_total",
            "Commits to the store.",
            figures.commits,
        ),
        (
            "muster_reports_total",
            "Status reports from agents.",
            figures.reports,
        ),
        (
            "muster_statuses_total",
            "Statuses in those reports.",
            figures.statuses,
        ),
        (
            "muster_results_total",
            "Results from agents.",
            figures.results,
        ),
        (
            "muster_operations_total",
            "Targets of operate requests.",
            figures.operations,
        ),
    ] {
        head(out, name, "counter", help);
        line(out, format_args!("{name} {value}"));
    }
    let name = "muster_events_total";
    head(out, name, "counter", "Events from agents by kind.");
    for (kind, n) in &figures.events {
        let kind = kind.as_str();
        line(out, format_args!("{name}{{kind=\"{kind}\"}} {n}"));
    }
    let name = "muster_webhook_deliveries_total";
    let help = "Attempts to tell a webhook of an event, by result.";
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

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(dialect: &'static str, code: i64) -> Noted {
        Noted {
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
        metrics.count(&noted("esb", 0), Duration::from_millis(3));
        metrics.count(&noted("esb", 1_000_400), Duration::from_millis(300));
        metrics.count(&noted("esb", 1_000_503), Duration::from_secs(100));
        metrics.count(&noted("native", 202), Duration::ZERO);
        metrics.count(&noted("native", 404), Duration::ZERO);
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
