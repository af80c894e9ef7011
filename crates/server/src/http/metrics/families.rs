//! Every metric of the server: name, type, labels and help. `docs/reference/metrics.md` is made from this list.
//!
//! Names follow Prometheus' conventions: base units, `_total` for counters. A test checks them, and that the server writes
//! each family and no other.

use std::fmt;

/// One metric, with all its series.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        })
    }
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family {
        name,
        kind: Kind::Counter,
        labels,
        help,
    }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family {
        name,
        kind: Kind::Gauge,
        labels: &[],
        help,
    }
}

pub(super) const BUILD_INFO: Family = Family {
    name: "muster_build_info",
    kind: Kind::Gauge,
    labels: &["version", "arch"],
    help: "Always 1; the labels say which version runs, and for which processor it was built.",
};

pub(super) const PROCESS_CPU: Family = counter(
    "process_cpu_seconds_total",
    &[],
    "Processor time of the server, user and system.",
);
pub(super) const PROCESS_RESIDENT: Family = gauge(
    "process_resident_memory_bytes",
    "Memory of the server that is in RAM.",
);
pub(super) const PROCESS_VIRTUAL: Family = gauge(
    "process_virtual_memory_bytes",
    "Address space of the server.",
);
pub(super) const PROCESS_OPEN_FDS: Family = gauge(
    "process_open_fds",
    "File descriptors that the server has open.",
);
pub(super) const PROCESS_MAX_FDS: Family = gauge(
    "process_max_fds",
    "File descriptors that the server may have open; agents and callers share them.",
);
pub(super) const PROCESS_START_TIME: Family = gauge(
    "process_start_time_seconds",
    "Start of the server, in seconds since 1970.",
);
pub(super) const PROCESS_THREADS: Family = gauge("process_threads", "Threads of the server.");

pub(super) const REVISION: Family = gauge(
    "muster_revision",
    "The last commit that this server shows; equal on all replicas, but for a moment.",
);
pub(super) const HOSTS: Family = gauge("muster_hosts", "Hosts that the installation knows.");
pub(super) const AGENTS_CONNECTED: Family = gauge(
    "muster_agents_connected",
    "Agents that are connected to any replica.",
);
pub(super) const AGENTS_BY_VERSION: Family = Family {
    name: "muster_agents_by_version",
    kind: Kind::Gauge,
    labels: &["version"],
    help: "Connected agents of each version.",
};
pub(super) const AGENTS_MISSING: Family = Family {
    name: "muster_agents_missing_feature",
    kind: Kind::Gauge,
    labels: &["feature"],
    help: "Connected agents whose kernel does not offer or permit a feature, and that do without it.",
};
pub(super) const PROCESSES: Family = gauge("muster_processes", "Registered processes.");
pub(super) const PROCESSES_RUNNING: Family =
    gauge("muster_processes_running", "Registered processes that run.");
pub(super) const PROCESSES_READY: Family = gauge(
    "muster_processes_ready",
    "Registered processes whose ready probe succeeds.",
);
pub(super) const TASKS_OPEN: Family = gauge("muster_tasks_open", "Tasks that have not ended.");
pub(super) const TARGETS_OPEN: Family = gauge(
    "muster_targets_open",
    "Targets of tasks that have not ended.",
);
pub(super) const COMMITS: Family = counter(
    "muster_commits_total",
    &[],
    "Commits to the store by this server.",
);
pub(super) const REPORTS: Family = counter(
    "muster_reports_total",
    &[],
    "Status reports from agents of this server.",
);
pub(super) const STATUSES: Family =
    counter("muster_statuses_total", &[], "Statuses in those reports.");
pub(super) const RESULTS: Family = counter(
    "muster_results_total",
    &[],
    "Results of operations from agents of this server.",
);
pub(super) const OPERATIONS: Family = counter(
    "muster_operations_total",
    &[],
    "Targets of operate requests to this server.",
);
pub(super) const EVENTS: Family = counter(
    "muster_events_total",
    &["kind"],
    "Events from agents of this server, by kind.",
);
pub(super) const WEBHOOK_DELIVERIES: Family = counter(
    "muster_webhook_deliveries_total",
    &["webhook", "result"],
    "Attempts to deliver an event to a webhook, by result: ok or failed.",
);

pub(super) const REPLICAS: Family = gauge(
    "muster_replicas",
    "Servers of the installation, as this one sees them.",
);
pub(super) const AGENTS_HERE: Family = gauge(
    "muster_agents_here",
    "Agents that are connected to this server.",
);
pub(super) const LEADER: Family = gauge(
    "muster_leader",
    "1 on the server that does the background work, else 0.",
);
pub(super) const BUS_UP: Family = gauge(
    "muster_bus_up",
    "0 while messages to other replicas go through the store instead of NATS, else 1.",
);
pub(super) const STORE_UP: Family = gauge(
    "muster_store_up",
    "0 while the store is away: writes are refused, reads show what is known here; else 1.",
);

pub(super) const HTTP_REQUESTS: Family = counter(
    "muster_http_requests_total",
    &["dialect", "endpoint", "class"],
    "Answered requests, by class: ok, client_error or server_error.",
);
pub(super) const HTTP_REQUEST_DURATION: Family = Family {
    name: "muster_http_request_duration_seconds",
    kind: Kind::Histogram,
    labels: &["dialect", "endpoint"],
    help: "Time from the head of a request to its answer.",
};
pub(super) const SHED: Family = counter(
    "muster_shed_total",
    &["reason"],
    "Requests and connections that were refused or closed at a limit, by reason.",
);

/// All of them, in the order of the page.
pub const FAMILIES: [&Family; 33] = [
    &BUILD_INFO,
    &PROCESS_CPU,
    &PROCESS_RESIDENT,
    &PROCESS_VIRTUAL,
    &PROCESS_OPEN_FDS,
    &PROCESS_MAX_FDS,
    &PROCESS_START_TIME,
    &PROCESS_THREADS,
    &REVISION,
    &HOSTS,
    &AGENTS_CONNECTED,
    &AGENTS_BY_VERSION,
    &AGENTS_MISSING,
    &PROCESSES,
    &PROCESSES_RUNNING,
    &PROCESSES_READY,
    &TASKS_OPEN,
    &TARGETS_OPEN,
    &COMMITS,
    &REPORTS,
    &STATUSES,
    &RESULTS,
    &OPERATIONS,
    &EVENTS,
    &WEBHOOK_DELIVERIES,
    &REPLICAS,
    &AGENTS_HERE,
    &LEADER,
    &BUS_UP,
    &STORE_UP,
    &HTTP_REQUESTS,
    &HTTP_REQUEST_DURATION,
    &SHED,
];
