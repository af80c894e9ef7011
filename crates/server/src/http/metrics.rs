//! Counts requests, and writes all metrics in Prometheus' text format.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use control::{AgentCounts, Control, Figures};
use locks::Mutex;
use model::kernel::KernelFeature;

use super::HttpState;
use super::front::ResponseRecord;

mod families;
mod page;
mod process;

pub use families::{FAMILIES, Family, Kind};

use page::Page;
use process::ProcessUsage;

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

    fn write(&self, page: &mut Page) {
        let dialects = self.0.lock().clone();
        let all = || {
            dialects.iter().flat_map(|(dialect, endpoints)| {
                endpoints
                    .iter()
                    .map(move |(endpoint, series)| ([*dialect, endpoint.as_str()], series))
            })
        };
        page.head(&families::HTTP_REQUESTS);
        for ([dialect, endpoint], series) in all() {
            for (class, n) in [
                ("ok", series.ok),
                ("client_error", series.client_error),
                ("server_error", series.server_error),
            ] {
                if n > 0 {
                    page.sample(&families::HTTP_REQUESTS, &[dialect, endpoint, class], n);
                }
            }
        }
        let family = &families::HTTP_REQUEST_DURATION;
        page.head(family);
        for (labels, series) in all() {
            let mut n = 0;
            for (le, in_bucket) in BUCKETS.iter().zip(series.buckets) {
                n += in_bucket;
                page.bucket(family, &labels, &le.to_string(), n);
            }
            let count = series.ok + series.client_error + series.server_error;
            page.bucket(family, &labels, "+Inf", count);
            page.sum_and_count(family, &labels, series.seconds, count);
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
    // The list of open descriptors is long on a server with many agents.
    let usage = tokio::task::spawn_blocking(ProcessUsage::read).await;
    let mut page = Page::default();
    page.head(&families::BUILD_INFO);
    let labels = [http.version, std::env::consts::ARCH];
    page.sample(&families::BUILD_INFO, &labels, 1);
    if let Ok(Ok(usage)) = usage {
        usage.write(&mut page);
    }
    write_figures(&mut page, &http.control.figures());
    write_replicas(&mut page, &http.control);
    http.metrics.write(&mut page);
    page.head(&families::SHED);
    for (reason, n) in http.shed.counts() {
        page.sample(&families::SHED, &[reason], n);
    }
    (
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        page.into_text(),
    )
}

/// This replica, the others, and the store.
fn write_replicas(page: &mut Page, control: &Control) {
    let replicas = control.replicas().list();
    let n_agents = replicas.first().map_or(0, |here| here.n_agents as u64);
    page.single(&families::REPLICAS, replicas.len() as u64);
    page.single(&families::AGENTS_HERE, n_agents);
    page.single(&families::LEADER, u64::from(control.replicas().leads()));
    page.single(&families::BUS_UP, u64::from(control.replicas().is_bus_up()));
    let is_store_up = !control.replicas().is_behind();
    page.single(&families::STORE_UP, u64::from(is_store_up));
}

fn write_agents(page: &mut Page, agents: &AgentCounts) {
    page.single(&families::AGENTS_CONNECTED, agents.n_up as u64);
    page.head(&families::AGENTS_BY_VERSION);
    for (version, n) in &agents.by_version {
        page.sample(&families::AGENTS_BY_VERSION, &[version], n);
    }
    page.head(&families::AGENTS_MISSING);
    for (feature, n) in KernelFeature::ALL.iter().zip(agents.missing) {
        page.sample(&families::AGENTS_MISSING, &[feature.as_str()], n);
    }
}

fn write_figures(page: &mut Page, figures: &Figures) {
    page.single(&families::REVISION, figures.revision);
    page.single(&families::HOSTS, figures.n_hosts as u64);
    write_agents(page, &figures.agents);
    page.single(&families::PROCESSES, figures.n_processes as u64);
    page.single(&families::PROCESSES_RUNNING, figures.n_running as u64);
    page.single(&families::PROCESSES_READY, figures.n_ready as u64);
    page.single(&families::TASKS_OPEN, figures.n_tasks_open as u64);
    page.single(&families::TARGETS_OPEN, figures.n_targets_open as u64);
    page.single(&families::COMMITS, figures.commits);
    page.single(&families::REPORTS, figures.reports);
    page.single(&families::STATUSES, figures.statuses);
    page.single(&families::RESULTS, figures.results);
    page.single(&families::OPERATIONS, figures.operations);
    page.head(&families::EVENTS);
    for (kind, n) in &figures.events {
        page.sample(&families::EVENTS, &[kind.as_str()], n);
    }
    page.head(&families::WEBHOOK_DELIVERIES);
    for (id, health) in &figures.webhooks {
        for (result, n) in [("ok", health.n_delivered), ("failed", health.n_failed)] {
            page.sample(&families::WEBHOOK_DELIVERIES, &[id, result], n);
        }
    }
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
        let mut page = Page::default();
        metrics.write(&mut page);
        let text = page.into_text();
        for line in [
            "muster_http_requests_total{dialect=\"esb\",endpoint=\"x\",class=\"ok\"} 1",
            "muster_http_requests_total{dialect=\"esb\",endpoint=\"x\",class=\"client_error\"} 1",
            "muster_http_requests_total{dialect=\"esb\",endpoint=\"x\",class=\"server_error\"} 1",
            "muster_http_requests_total{dialect=\"native\",endpoint=\"x\",class=\"ok\"} 1",
            "muster_http_request_duration_seconds_bucket{dialect=\"esb\",endpoint=\"x\",le=\"0.005\"} 1",
            "muster_http_request_duration_seconds_bucket{dialect=\"esb\",endpoint=\"x\",le=\"60\"} 2",
            "muster_http_request_duration_seconds_bucket{dialect=\"esb\",endpoint=\"x\",le=\"+Inf\"} 3",
            "muster_http_request_duration_seconds_count{dialect=\"native\",endpoint=\"x\"} 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
