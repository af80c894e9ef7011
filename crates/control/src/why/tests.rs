use std::collections::BTreeMap;

use fleet::Link;
use model::Flag;
use model::spec::after::{self, Dependency};
use model::status::Exit;

use super::known::Waits;
use super::*;

fn known(state: ProcessState) -> Known {
    Known {
        host: "10.0.0.1".parse().unwrap(),
        state,
        wanted: Flag::Running,
        link: Link::Up {
            since: UnixMillis(1),
        },
        is_enrolled: true,
        started_at: UnixMillis(50),
        last_exit: None,
        tried: 0,
        next: None,
        message: String::new(),
        health: String::new(),
        not_ready: None,
        waits: None,
    }
}

fn stop(user: &str) -> TimelineEntry {
    TimelineEntry {
        id: "h1".into(),
        at: UnixMillis(90),
        kind: TimelineWord::Operation,
        code: "stop".into(),
        params: BTreeMap::new(),
        text: String::new(),
        process: None,
        host: None,
        user: user.into(),
        app: "demo".into(),
        from: "10.0.0.9".into(),
        task: None,
        job: None,
    }
}

#[test]
fn each_state_has_a_code_and_a_sentence() {
    for (state, code) in [
        (ProcessState::Running, "running"),
        (ProcessState::Ready, "ready"),
        (ProcessState::Starting, "starting"),
        (ProcessState::Unhealthy, "unhealthy"),
        (ProcessState::Backoff, "backoff"),
        (ProcessState::Failed, "gave_up"),
        (ProcessState::Stopped, "down"),
        (ProcessState::Completed, "completed"),
        (ProcessState::Scheduled, "scheduled"),
        (ProcessState::Unknown, "not_reported"),
    ] {
        let known = known(state);
        let reason = known.reason(None);
        assert_eq!(reason.code, code);
        assert!(!known.text(&reason).is_empty());
    }
}

#[test]
fn what_runs_and_is_not_ready_says_why() {
    let mut known = known(ProcessState::Running);
    known.not_ready = Some("connection refused".to_owned());
    known.message = "not ready: connection refused".to_owned();
    let reason = known.reason(None);
    assert_eq!(
        (&*reason.code, &*reason.params["check"]),
        ("not_ready", "connection refused")
    );
    assert_eq!(
        known.text(&reason),
        "it runs, and its ready probe fails: not ready: connection refused"
    );
}

#[test]
fn a_stop_names_who_did_it_and_from_where() {
    let mut known = known(ProcessState::Stopped);
    known.wanted = Flag::Stopped;
    let last = stop("alice");
    let reason = known.reason(Some(&last));
    assert_eq!(
        known.text(&reason),
        "it was stopped (stop) by alice from 10.0.0.9"
    );
    assert_eq!(known.since(Some(&last)), UnixMillis(90));
    assert_eq!(known.reason(None).code, "not_started");
    // It was started again since, and the agent gave up.
    known.wanted = Flag::Running;
    assert_eq!(known.reason(Some(&last)).code, "down");
}

#[test]
fn what_gave_up_says_how_often_and_how_it_ended() {
    let mut known = known(ProcessState::Failed);
    known.tried = 4;
    known.last_exit = Some(LastExit::new(Exit::Code(1), UnixMillis(70)));
    let reason = known.reason(None);
    assert_eq!(
        known.text(&reason),
        "the agent gave up after 4 attempts; last: exited with code 1"
    );
    assert_eq!((&*reason.code, &*reason.params["tried"]), ("gave_up", "4"));
    known.message = "gave up after 4 attempts in 30 s; exited with code 1".to_owned();
    assert_eq!(
        known.text(&reason),
        "the agent gave up after 4 attempts in 30 s; exited with code 1"
    );
    assert_eq!(known.since(None), UnixMillis(70));
}

#[test]
fn a_wait_names_the_dependencies_and_since_when() {
    let text = r#"[{"process": "db/postgres"}, {"process": "db/x", "when": "up", "where": "any"}]"#;
    let dependencies: Vec<Dependency> = serde_json::from_str(text).unwrap();
    let since = UnixMillis(1_794_922_805_000);
    let mut known = known(ProcessState::Starting);
    let unmet = dependencies
        .iter()
        .map(|dependency| (dependency, "stopped"));
    known.message = after::waits_for(unmet, since);
    known.waits = Some(Waits {
        dependencies: dependencies.clone(),
        since,
    });
    let reason = known.reason(None);
    assert_eq!(reason.code, "dependency");
    let param = |key| reason.params[key].as_str();
    assert_eq!(param("process"), "db/postgres, db/x");
    assert_eq!(
        (param("when"), param("where")),
        ("ready, up", "same_host, any")
    );
    assert_eq!(param("since"), "1794922805000");
    assert_eq!(
        known.text(&reason),
        "it waits for db/postgres to be ready on this host (stopped), db/x to be up on any host (stopped) \
         since 2026-11-17T13:40:05Z"
    );
    assert_eq!(known.since(None), since);
}

#[test]
fn an_absent_agent_comes_before_everything_else() {
    let mut known = known(ProcessState::Unknown);
    known.link = Link::Down {
        since: UnixMillis(60),
    };
    known.message = "agent offline since …".into();
    let reason = known.reason(Some(&stop("alice")));
    assert_eq!(
        (&*reason.code, &*reason.params["since"]),
        ("agent_away", "60")
    );
    assert_eq!(known.text(&reason), known.message);
    assert_eq!(known.since(None), UnixMillis(60));
    known.link = Link::Never;
    known.is_enrolled = false;
    assert_eq!(known.reason(None).code, "no_agent");
}
