//! Configuration files that change under a process.

use model::event::EventKind;
use model::operation::Op;
use model::spec::ConfigFile;

use crate::harness::{Home, until};

#[test]
fn config_drift_is_one_event_and_shown_while_it_lasts() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let path = home.file("conf");
    std::fs::write(&path, "abc").unwrap();
    let mut spec = home.daemon();
    spec.configmap = vec![ConfigFile {
        path: path.clone(),
        md5: "900150983cd24fb0d6963f7d28e17f72".to_owned(),
    }];
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    std::fs::write(&path, "").unwrap();
    let drift = format!(
        "config drift: {path} has md5 d41d8cd98f00b204e9800998ecf8427e and not 900150983cd24fb0d6963f7d28e17f72"
    );
    supervisor.status_where("drift", |s| s.message == drift);
    supervisor.stop();
    let mut supervisor = home.supervisor();
    supervisor.status_where("drift, for the next agent too", |s| s.message == drift);
    std::fs::remove_file(&path).unwrap();
    let gone = format!("config drift: {path} cannot be read: No such file or directory");
    supervisor.status_where("no file", |s| s.message == gone);
    std::fs::write(&path, "abc").unwrap();
    let status = supervisor.status_where("all is well", |s| s.message.is_empty());
    assert_eq!(status.pid, pid, "never an action");
    let kinds: Vec<EventKind> = supervisor
        .events
        .iter()
        .map(|(_, event)| event.kind)
        .collect();
    assert_eq!(
        kinds,
        [EventKind::ConfigDrift],
        "one by this agent, one by the other"
    );
}

#[test]
fn a_file_without_md5_is_watched_for_changes_until_the_next_start() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let (watched, other) = (home.file("watched"), home.file("other"));
    std::fs::write(&watched, "abc").unwrap();
    std::fs::write(&other, "abc").unwrap();
    let file = |path: &str, md5: &str| ConfigFile {
        path: path.to_owned(),
        md5: md5.to_owned(),
    };
    let wrong = "d41d8cd98f00b204e9800998ecf8427e";
    let mut spec = home.daemon();
    spec.configmap = vec![file(&watched, ""), file("", wrong), file(&other, wrong)];
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    // Both files are read together, so the baseline is taken.
    let status = supervisor.status_where("a look", |s| s.message.contains("config drift"));
    assert!(!status.message.contains(&watched), "{status:?}");
    std::fs::write(&watched, "").unwrap();
    let changed = format!(
        "config drift: {watched} changed: it had md5 900150983cd24fb0d6963f7d28e17f72 and has {wrong}"
    );
    let status = supervisor.status_where("the change", |s| s.message.contains(&changed));
    assert_eq!(status.pid, supervisor.running().pid, "never an action");
    until("one event for each file", || {
        supervisor.listen();
        let drifts = supervisor.events.iter();
        let drifts = drifts.filter(|(_, event)| event.kind == EventKind::ConfigDrift);
        (drifts.count() == 2).then_some(())
    });
    supervisor.succeed(2, Op::Restart);
    supervisor.status_where("a new run", |s| {
        s.pid > 0 && s.pid != status.pid && !s.message.contains(&watched)
    });
}
