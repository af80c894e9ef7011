//! Change events as JSON.

use api::{
    AgentChange, JobProgress, RegistrationChange, StatusChange, TaskProgress, TemplateChange,
    TopologyChange,
};
use control::{ChangeEvent, Registered};
use serde::Serialize;

use crate::http::native::events::event_row;
use crate::http::native::jobs::counts as job_counts;
use crate::http::native::processes::pid;

/// The name of the server-sent event.
pub(super) fn kind(change: &ChangeEvent) -> &'static str {
    match change {
        ChangeEvent::Status { .. } => "status",
        ChangeEvent::Task { .. } => "task",
        ChangeEvent::Job { .. } => "job",
        ChangeEvent::Event { .. } => "event",
        ChangeEvent::Agent { .. } => "agent",
        ChangeEvent::Registration { .. } => "registration",
        ChangeEvent::Topology { .. } => "topology",
        ChangeEvent::Template { .. } => "template",
    }
}

/// A member of a batch: the data of a single event with its kind before it. An event has a `kind` of its own, so it is nested.
pub(super) fn batched(kind: &str, data: &str) -> String {
    match (kind, data.strip_prefix('{')) {
        ("event", _) | (_, None) => format!("{{\"kind\":\"{kind}\",\"{kind}\":{data}}}"),
        (_, Some(members)) => format!("{{\"kind\":\"{kind}\",{members}"),
    }
}

/// The data of the server-sent event.
pub(super) fn data(change: &ChangeEvent) -> String {
    match change {
        ChangeEvent::Status {
            id: _,
            process,
            host,
            state,
            wanted,
            managed,
            next_at,
            restarts,
            last_exit,
            restart_needed,
            pid: number,
            started_at,
            cpu,
            mem,
            message,
            at,
        } => json(&StatusChange {
            process: process.to_string(),
            host: (*host).into(),
            state: state.as_str().into(),
            wanted: wanted.as_str().into(),
            managed: *managed,
            next_at: *next_at,
            restarts: *restarts,
            last_exit: last_exit.map(Into::into),
            restart_needed: *restart_needed,
            pid: pid(*number),
            started_at: *started_at,
            cpu: crate::http::percent(*cpu),
            mem: crate::http::percent(*mem),
            message: message.as_str().into(),
            at: *at,
        }),
        ChangeEvent::Task {
            id,
            n_targets,
            n_ended,
            n_ok,
            ..
        } => json(&TaskProgress {
            id: id.to_string(),
            state: match n_ended == n_targets {
                true => "finished".into(),
                false => "running".into(),
            },
            total: *n_targets,
            ended: *n_ended,
            ok: *n_ok,
        }),
        ChangeEvent::Job {
            id,
            area,
            action,
            status,
            paused_by,
            counts,
        } => json(&JobProgress {
            id: id.0,
            business: area.business().map(|business| business.0),
            action: action.as_str().into(),
            status: status.as_str().into(),
            paused_by: paused_by.clone(),
            counts: job_counts(*counts),
        }),
        ChangeEvent::Agent { host, up, at } => json(&AgentChange {
            host: (*host).into(),
            connected: *up,
            at: *at,
        }),
        ChangeEvent::Event { host, event } => json(&event_row(None, *host, event)),
        ChangeEvent::Registration {
            process,
            n_hosts,
            what,
        } => json(&RegistrationChange {
            process: process.to_string(),
            hosts: *n_hosts,
            what: match what {
                Registered::New => "registered",
                Registered::Updated => "updated",
                Registered::Gone => "unregistered",
            }
            .into(),
        }),
        ChangeEvent::Topology { business } => json(&TopologyChange {
            business: business.0,
        }),
        ChangeEvent::Template { business, template } => json(&TemplateChange {
            business: business.0,
            template: template.0,
        }),
    }
}

pub(super) fn json<T: Serialize>(data: &T) -> String {
    serde_json::to_string(data).expect("change events have only string keys")
}
