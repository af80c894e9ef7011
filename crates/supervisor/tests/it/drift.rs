//! Configuration files that change under a process.

use model::event::EventKind;
use model::operation::Op;
use model::spec::ConfigFile;

use crate::keeper::Home;

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
