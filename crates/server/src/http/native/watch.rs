//! Streams change events as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use api::{AgentChange, JobProgress, Lagged, StatusChange, TaskProgress};
use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use control::ChangeEvent;
use futures_util::{Stream, StreamExt, stream};
use model::access::{Caller, Permission};
use model::job::JobArea;
use model::topology::namespace_of;
use model::{Host, Invalid, Namespace};
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::ApiError;
use super::caller::AuthenticatedStream;
use super::events::event_row;
use super::jobs::counts as job_counts;
use super::recheck::CredentialRecheck;
use super::refusals::Refusals;
use super::request::QueryParams;
use crate::http::HttpState;
use crate::http::stream_slots::StreamSlot;

/// How often a stream without events sends a keep-alive comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const KINDS: [&str; 5] = ["status", "task", "job", "event", "agent"];

/// Which change events a watcher gets.
#[derive(Debug)]
struct WatchFilter {
    namespaces: Option<Vec<Namespace>>,
    hosts: Option<Vec<Host>>,
    kinds: Option<Vec<&'static str>>,
    /// What the caller may see, besides its filter.
    caller: Caller,
}

/// Streams what happens. A watcher that is too slow misses some and is sent a `lagged` event.
#[utoipa::path(get, path = "/api/v1/watch", operation_id = "watch", tag = "watch", params(
    ("namespace" = Option<String>, Query, description = "One or more, repeated or separated by commas"),
    ("host" = Option<String>, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
    ("kinds" = Option<String>, Query, description = "Some of status, task, job, event, agent; all if not given"),
), responses((status = 200, description = "Events named status, task, job, event, agent and lagged, each with a JSON object",
    body = String, content_type = "text/event-stream"), Refusals))]
pub(crate) async fn watch(
    State(http): State<HttpState>,
    AuthenticatedStream(caller, credentials): AuthenticatedStream,
    params: QueryParams,
) -> Result<impl IntoResponse, ApiError> {
    let filter = WatchFilter {
        namespaces: http
            .control
            .access()
            .visible(&caller, params.namespaces()?)?,
        hosts: params.hosts()?,
        kinds: params.list("kinds", parse_kind)?,
        caller,
    };
    let watcher = Watcher {
        slot: http.stream_slots.take(&filter.caller)?,
        receiver: http.control.events().watch(),
        filter,
        recheck: CredentialRecheck::new(&http, credentials),
    };
    // The first bytes tell the watcher that it gets every change event from now on.
    let hello = stream::once(async { Ok(Event::default().comment("watching")) });
    let events = hello.chain(change_events(watcher));
    let until_stop = events.take_until(Box::pin(async move { http.stopping().await }));
    // The server may poll a body once more after its end.
    let until_stop = until_stop.fuse();
    Ok(Sse::new(until_stop).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("alive")))
}

fn parse_kind(text: &str) -> Result<&'static str, Invalid> {
    let found = KINDS.into_iter().find(|kind| *kind == text);
    found.ok_or_else(|| {
        Invalid::new(
            "kinds",
            format!("must be some of {}, not {text:?}", KINDS.join(", ")),
        )
    })
}

/// One open stream.
struct Watcher {
    receiver: Receiver<Arc<ChangeEvent>>,
    filter: WatchFilter,
    recheck: CredentialRecheck,
    #[expect(dead_code, reason = "held for as long as the stream lasts")]
    slot: StreamSlot,
}

/// Ends when the credentials of the watcher permit nothing any more.
fn change_events(watcher: Watcher) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(watcher, |mut watcher| async move {
        loop {
            let received = tokio::select! {
                received = watcher.receiver.recv() => received,
                still = watcher.recheck.next() => {
                    watcher.filter.caller = still?;
                    continue;
                }
            };
            let event = match received {
                Ok(happening) if watcher.filter.includes(&happening) => written(&happening),
                Ok(_) => continue,
                Err(RecvError::Lagged(missed)) => event("lagged", &Lagged { missed }),
                Err(RecvError::Closed) => return None,
            };
            return Some((Ok(event), watcher));
        }
    })
}

impl WatchFilter {
    fn includes(&self, happening: &ChangeEvent) -> bool {
        let kind = self
            .kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&kind(happening)));
        kind && match happening {
            ChangeEvent::Status { process, host, .. } => {
                self.has_namespace(&process.namespace) && self.has_host(host)
            }
            ChangeEvent::Event { host, event } => {
                self.has_namespace(&event.process.namespace) && self.has_host(host)
            }
            ChangeEvent::Task { namespaces, .. } => self.has_namespaces(namespaces),
            ChangeEvent::Job { area, .. } => match area {
                JobArea::Business(business) => self.has_namespace(&namespace_of(*business)),
                JobArea::Namespaces(namespaces) => self.has_namespaces(namespaces),
            },
            ChangeEvent::Agent { host, .. } => self.has_host(host),
        }
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        let wanted = self.namespaces.as_ref();
        wanted.is_none_or(|wanted| wanted.contains(namespace))
            && self.caller.may(Permission::View, namespace)
    }

    /// Like reading the task or job itself: one namespace that is not allowed hides it.
    fn has_namespaces(&self, namespaces: &[Namespace]) -> bool {
        let may_see = |namespace| self.caller.may(Permission::View, namespace);
        let mut all = namespaces.iter();
        namespaces.iter().all(may_see) && all.any(|namespace| self.has_namespace(namespace))
    }

    fn has_host(&self, host: &Host) -> bool {
        self.hosts
            .as_ref()
            .is_none_or(|wanted| wanted.contains(host))
    }
}

fn kind(happening: &ChangeEvent) -> &'static str {
    match happening {
        ChangeEvent::Status { .. } => "status",
        ChangeEvent::Task { .. } => "task",
        ChangeEvent::Job { .. } => "job",
        ChangeEvent::Event { .. } => "event",
        ChangeEvent::Agent { .. } => "agent",
    }
}

fn written(happening: &ChangeEvent) -> Event {
    let name = kind(happening);
    match happening {
        ChangeEvent::Status {
            process,
            host,
            state,
            next_at,
            restarts,
            last_exit,
            restart_needed,
            pid,
            message,
            at,
        } => event(
            name,
            &StatusChange {
                process: process.to_string(),
                host: (*host).into(),
                state: state.as_str().into(),
                next_at: *next_at,
                restarts: *restarts,
                last_exit: last_exit.map(Into::into),
                restart_needed: *restart_needed,
                pid: super::processes::pid(*pid),
                message: message.as_str().into(),
                at: *at,
            },
        ),
        ChangeEvent::Task {
            id,
            n_targets,
            n_ended,
            n_ok,
            ..
        } => event(
            name,
            &TaskProgress {
                id: id.to_string(),
                state: match n_ended == n_targets {
                    true => "finished".into(),
                    false => "running".into(),
                },
                total: *n_targets,
                ended: *n_ended,
                ok: *n_ok,
            },
        ),
        ChangeEvent::Job {
            id,
            area,
            action,
            status,
            counts,
        } => event(
            name,
            &JobProgress {
                id: id.0,
                business: area.business().map(|business| business.0),
                action: action.as_str().into(),
                status: status.as_str().into(),
                counts: job_counts(*counts),
            },
        ),
        ChangeEvent::Agent { host, up, at } => event(
            name,
            &AgentChange {
                host: (*host).into(),
                connected: *up,
                at: *at,
            },
        ),
        ChangeEvent::Event { host, event: what } => event(name, &event_row(None, *host, what)),
    }
}

fn event<T: Serialize>(name: &str, data: &T) -> Event {
    let text = serde_json::to_string(data).expect("change events have only string keys");
    Event::default().event(name).data(text)
}

#[cfg(test)]
mod tests {
    use model::UnixMillis;
    use model::access::{Grant, Role};
    use model::job::JobId;
    use model::topology::BusinessId;

    use super::*;

    fn filter(namespace: Option<&str>, allowed: Option<&str>) -> WatchFilter {
        let list = |name: Option<&str>| name.map(|name| vec![Namespace::parse(name).unwrap()]);
        WatchFilter {
            namespaces: list(namespace.or(allowed)),
            hosts: None,
            kinds: None,
            caller: match list(allowed) {
                None => Caller::system(),
                Some(namespaces) => {
                    let grant = Grant::new(Role::Viewer, namespaces, Vec::new()).unwrap();
                    Caller::system().with_grants(&[grant])
                }
            },
        }
    }

    fn task(namespaces: &[&str]) -> ChangeEvent {
        ChangeEvent::Task {
            id: model::TaskId::from_number(1),
            n_targets: 2,
            n_ended: 1,
            n_ok: 1,
            namespaces: namespaces
                .iter()
                .map(|name| Namespace::parse(name).unwrap())
                .collect(),
        }
    }

    #[test]
    fn a_task_that_touches_a_forbidden_namespace_is_hidden() {
        assert!(filter(None, None).includes(&task(&["a", "b"])));
        assert!(filter(Some("a"), None).includes(&task(&["a", "b"])));
        assert!(!filter(Some("c"), None).includes(&task(&["a", "b"])));
        assert!(!filter(None, Some("a")).includes(&task(&["a", "b"])));
        assert!(filter(None, Some("a")).includes(&task(&["a"])));
    }

    #[test]
    fn a_job_is_visible_with_its_business() {
        let job = ChangeEvent::Job {
            id: JobId(1),
            area: JobArea::Business(BusinessId(2)),
            action: model::job::JobAction::Start,
            status: model::job::JobStatus::Running,
            counts: Default::default(),
        };
        assert!(filter(None, None).includes(&job));
        assert!(filter(None, Some("GSEKIT_BIZ_2")).includes(&job));
        assert!(!filter(None, Some("GSEKIT_BIZ_3")).includes(&job));
    }

    #[test]
    fn kinds_and_hosts_narrow() {
        let agent = ChangeEvent::Agent {
            host: "0:10.0.0.1".parse().unwrap(),
            up: true,
            at: UnixMillis(1),
        };
        let mut filter = filter(Some("a"), None);
        assert!(filter.includes(&agent));
        filter.hosts = Some(vec!["0:10.0.0.2".parse().unwrap()]);
        assert!(!filter.includes(&agent));
        filter.hosts = None;
        filter.kinds = Some(vec!["task"]);
        assert!(!filter.includes(&agent) && filter.includes(&task(&["a"])));
        assert_eq!(parse_kind("x").unwrap_err().field, "kinds");
    }
}
