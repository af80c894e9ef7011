//! Configuration files that change under a process.

use model::event::EventKind;
use model::operation::Op;
use model::spec::ConfigFile;

use crate::keeper::{Home, wait_for};

#[test]
fn a_file_that_changes_is_told_once_and_shown_until_it_is_right_again() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let path = home.file("conf");
    std::fs::write(&path, "abc").unwrap();
    let mut spec = home.daemon();
    spec.configmap = vec![ConfigFile {
        path: path.clone(),
        md5: "900150983cd24fb0d6963f7d28e17f72".to_owned(),
    }];
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let pid = keeper.running().pid;
    std::fs::write(&path, "").unwrap();
    let drift = format!(
        "config drift: {path} has md5 d41d8cd98f00b204e9800998ecf8427e and not 900150983cd24fb0d6963f7d28e17f72"
    );
    keeper.status_where("drift", |s| s.message == drift);
    keeper.stop();
    let mut keeper = home.keeper();
    keeper.status_where("drift, for the next agent too", |s| s.message == drift);
    std::fs::remove_file(&path).unwrap();
    let gone = format!("config drift: {path} cannot be read: No such file or directory");
    keeper.status_where("no file", |s| s.message == gone);
    std::fs::write(&path, "abc").unwrap();
    let status = keeper.status_where("all is well", |s| s.message.is_empty());
    assert_eq!(status.pid, pid, "never an action");
    let kinds: Vec<EventKind> = keeper.events.iter().map(|(_, event)| event.kind).collect();
    assert_eq!(
        kinds,
        [EventKind::ConfigDrift],
        "one by this agent, one by the other"
    );
}

#[test]
fn a_file_without_md5_is_watched_for_changes_until_the_next_start() {
    let home = Home::new();
    let mut keeper = home.keeper();
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
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    // Both are read together, so the first look is over.
    let status = keeper.status_where("a look", |s| s.message.contains("config drift"));
    assert!(!status.message.contains(&watched), "{status:?}");
    std::fs::write(&watched, "").unwrap();
    let changed = format!(
        "config drift: {watched} changed: it had md5 900150983cd24fb0d6963f7d28e17f72 and has {wrong}"
    );
    let status = keeper.status_where("the change", |s| s.message.contains(&changed));
    assert_eq!(status.pid, keeper.running().pid, "never an action");
    wait_for("one event for each file", || {
        keeper.listen();
        let drifts = keeper.events.iter();
        let drifts = drifts.filter(|(_, event)| event.kind == EventKind::ConfigDrift);
        (drifts.count() == 2).then_some(())
    });
    keeper.succeed(2, Op::Restart);
    keeper.status_where("a new run", |s| {
        s.pid > 0 && s.pid != status.pid && !s.message.contains(&watched)
    });
}
