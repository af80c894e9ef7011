//! What happens, as it happens: server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use control::ChangeEvent;
use futures_util::{Stream, StreamExt, stream};
use model::access::{Caller, Permission};
use model::job::JobId;
use model::topology::{BusinessId, namespace_of};
use model::{Host, Invalid, Namespace, UnixMillis};
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::ApiError;
use super::caller::AskingForLong;
use super::events::EventRow;
use super::jobs::JobCountsView;
use super::lasting::Lasting;
use super::processes::state_word;
use super::read::Params;
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::stream_slots::StreamSlot;

/// How often a quiet stream shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const KINDS: [&str; 5] = ["status", "task", "job", "event", "agent"];

/// Which happenings a watcher wants, and may see.
#[derive(Debug)]
struct Wanted {
    namespaces: Option<Vec<Namespace>>,
    hosts: Option<Vec<Host>>,
    kinds: Option<Vec<&'static str>>,
    /// The caller's own limits, whatever it asked for.
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
    AskingForLong(caller, credentials): AskingForLong,
    params: Params,
) -> Result<impl IntoResponse, ApiError> {
    let wanted = Wanted {
        namespaces: http
            .control
            .access()
            .visible(&caller, params.namespaces()?)?,
        hosts: params.hosts()?,
        kinds: params.list("kinds", parse_kind)?,
        caller,
    };
    let watching = Watching {
        place: http.stream_slots.take(&wanted.caller)?,
        receiver: http.control.events().watch(),
        wanted,
        lasting: Lasting::new(&http, credentials),
    };
    // The first bytes tell the watcher that from now on it misses nothing.
    let hello = stream::once(async { Ok(Event::default().comment("watching")) });
    let events = hello.chain(happenings(watching));
    let until_stop = events.take_until(Box::pin(async move { http.stopping().await }));
    // Whoever passes a body on may ask once more after its end.
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

/// One watcher.
struct Watching {
    receiver: Receiver<Arc<ChangeEvent>>,
    wanted: Wanted,
    lasting: Lasting,
    #[expect(dead_code, reason = "held for as long as the stream lasts")]
    place: StreamSlot,
}

/// Ends when the watcher's credentials count no more.
fn happenings(watching: Watching) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(watching, |mut watching| async move {
        loop {
            let received = tokio::select! {
                received = watching.receiver.recv() => received,
                still = watching.lasting.asked_again() => {
                    watching.wanted.caller = still?;
                    continue;
                }
            };
            let event = match received {
                Ok(happening) if watching.wanted.includes(&happening) => written(&happening),
                Ok(_) => continue,
                Err(RecvError::Lagged(missed)) => event("lagged", &Lagged { missed }),
                Err(RecvError::Closed) => return None,
            };
            return Some((Ok(event), watching));
        }
    })
}

impl Wanted {
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
            ChangeEvent::Task { namespaces, .. } => {
                // Like reading the task itself: one namespace that is not allowed hides it.
                let may_see = |namespace| self.caller.may(Permission::View, namespace);
                namespaces.iter().all(may_see)
                    && namespaces
                        .iter()
                        .any(|namespace| self.has_namespace(namespace))
            }
            ChangeEvent::Job { business, .. } => self.has_namespace(&namespace_of(*business)),
            ChangeEvent::Agent { host, .. } => self.has_host(host),
        }
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        let wanted = self.namespaces.as_ref();
        wanted.is_none_or(|wanted| wanted.contains(namespace))
            && self.caller.may(Permission::View, namespace)
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

#[derive(Serialize)]
struct Lagged {
    missed: u64,
}

#[derive(Serialize)]
struct StatusChange<'a> {
    process: String,
    host: Host,
    state: &'static str,
    pid: i32,
    message: &'a str,
    at: UnixMillis,
}

#[derive(Serialize)]
struct TaskProgress {
    id: String,
    state: &'static str,
    total: usize,
    ended: usize,
    ok: usize,
}

#[derive(Serialize)]
struct JobProgress {
    id: JobId,
    business: BusinessId,
    action: &'static str,
    status: &'static str,
    counts: JobCountsView,
}

#[derive(Serialize)]
struct AgentChange {
    host: Host,
    connected: bool,
    at: UnixMillis,
}

fn written(happening: &ChangeEvent) -> Event {
    let name = kind(happening);
    match happening {
        ChangeEvent::Status {
            process,
            host,
            state,
            pid,
            message,
            at,
        } => event(
            name,
            &StatusChange {
                process: process.to_string(),
                host: *host,
                state: state_word(*state),
                pid: *pid,
                message,
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
                    true => "finished",
                    false => "running",
                },
                total: *n_targets,
                ended: *n_ended,
                ok: *n_ok,
            },
        ),
        ChangeEvent::Job {
            id,
            business,
            action,
            status,
            counts,
        } => event(
            name,
            &JobProgress {
                id: *id,
                business: *business,
                action: action.as_str(),
                status: status.as_str(),
                counts: JobCountsView::of(*counts),
            },
        ),
        ChangeEvent::Agent { host, up, at } => event(
            name,
            &AgentChange {
                host: *host,
                connected: *up,
                at: *at,
            },
        ),
        ChangeEvent::Event { host, event: what } => event(name, &EventRow::new(None, *host, what)),
    }
}

fn event<T: Serialize>(name: &str, data: &T) -> Event {
    let text = serde_json::to_string(data).expect("happenings have only string keys");
    Event::default().event(name).data(text)
}

#[cfg(test)]
mod tests {
    use model::access::{Grant, Role};

    use super::*;

    fn wanted(namespace: Option<&str>, allowed: Option<&str>) -> Wanted {
        let list = |name: Option<&str>| name.map(|name| vec![Namespace::parse(name).unwrap()]);
        Wanted {
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
        assert!(wanted(None, None).includes(&task(&["a", "b"])));
        assert!(wanted(Some("a"), None).includes(&task(&["a", "b"])));
        assert!(!wanted(Some("c"), None).includes(&task(&["a", "b"])));
        assert!(!wanted(None, Some("a")).includes(&task(&["a", "b"])));
        assert!(wanted(None, Some("a")).includes(&task(&["a"])));
    }

    #[test]
    fn a_job_is_seen_by_those_who_may_touch_its_business() {
        let job = ChangeEvent::Job {
            id: JobId(1),
            business: BusinessId(2),
            action: model::job::JobAction::Start,
            status: model::job::JobStatus::Running,
            counts: Default::default(),
        };
        assert!(wanted(None, None).includes(&job));
        assert!(wanted(None, Some("GSEKIT_BIZ_2")).includes(&job));
        assert!(!wanted(None, Some("GSEKIT_BIZ_3")).includes(&job));
    }

    #[test]
    fn kinds_and_hosts_narrow() {
        let agent = ChangeEvent::Agent {
            host: "0:10.0.0.1".parse().unwrap(),
            up: true,
            at: UnixMillis(1),
        };
        let mut wanted = wanted(Some("a"), None);
        assert!(wanted.includes(&agent));
        wanted.hosts = Some(vec!["0:10.0.0.2".parse().unwrap()]);
        assert!(!wanted.includes(&agent));
        wanted.hosts = None;
        wanted.kinds = Some(vec!["task"]);
        assert!(!wanted.includes(&agent) && wanted.includes(&task(&["a"])));
        assert_eq!(parse_kind("x").unwrap_err().field, "kinds");
    }
}
