//! Torn, damaged, old and rewritten journals.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use model::Namespace;
use model::event::{Event, EventKind};
use model::group::{Pool, ProcessGroup};
use model::operation::{Op, OpId, TaskId};
use model::status::Exit;
use model::{Code, Flag, FullName, Outcome, UnixMillis};
use proptest::prelude::*;

use super::entry::{Entry, HoldEntry, Picture};
use super::{HEADER, Journal};
use crate::Hold;
use crate::machine::{Alive, Form, Phase, Process, Run, Ticket};

fn name(number: u32) -> FullName {
    format!("ns/p{number}").parse().unwrap()
}

fn hold(number: u32) -> Hold {
    Hold {
        name: name(number),
        incarnation: 3,
        spec: Arc::new(crate::machine::tests_spec()),
        labels: Default::default(),
        definition_hash: 9,
        flag: Flag::Unregistered,
        managed: false,
        registered_at: UnixMillis(1_700_000_000_000),
    }
}

fn id(ordinal: u32) -> OpId {
    OpId {
        task: TaskId::from_number(0x1234),
        ordinal,
    }
}

fn event() -> Event {
    Event {
        at: UnixMillis(1_700_000_000_500),
        process: name(1),
        kind: EventKind::ProcessExit,
        reason: "exited with code 1 after 3 s".into(),
        exit: Some(Exit::Code(1)),
        report_id: 0,
    }
}

/// One of everything, as it was when the format was made.
fn entries() -> Vec<Entry> {
    let mut process = Process::new(Flag::Running, true);
    process.phase = Phase::Up {
        alive: Alive {
            run: Run {
                pid: 4242,
                start: 99,
            },
            form: Form::Foreground { main: 4243 },
            since_boot_ms: 990,
            started_at: UnixMillis(1_700_000_000_100),
        },
    };
    process.queue.push_back(Ticket {
        id: id(7),
        op: Op::Stop,
        deadline: UnixMillis(1_700_000_090_000),
    });
    process.message = "restarted by attempt 2".into();
    vec![
        Entry::Opened {
            boot_id: "boot-1".into(),
        },
        Entry::Hold(Box::new(HoldEntry::from(&hold(1)))),
        Entry::Hold(Box::new(HoldEntry::from(&hold(2)))),
        Entry::State(name(1), Box::new(process)),
        Entry::Ended(
            id(1),
            Box::new(Outcome::plain(Code::OK, "success", UnixMillis(5))),
        ),
        Entry::Ended(
            id(2),
            Box::new(Outcome::plain(Code::NOT_RUNNING, "no", UnixMillis(6))),
        ),
        Entry::ResultsAcknowledged(vec![id(2)]),
        Entry::Happened(1, event()),
        Entry::Happened(2, event()),
        Entry::EventsAcknowledged(1),
        Entry::Done(vec![id(3)]),
        Entry::Forget(name(2)),
    ]
}

fn check_picture(picture: &Picture) {
    assert_eq!(picture.boot_id, "boot-1");
    assert_eq!(picture.held.len(), 1);
    let (held, process) = &picture.held[&name(1)];
    assert_eq!(*held, hold(1));
    assert!(process.managed && process.queue.len() == 1);
    assert_eq!(process.alive().unwrap().pid(), 4243);
    let ledger = &picture.ledger;
    assert_eq!(ledger.results.keys().collect::<Vec<_>>(), [&id(1)]);
    assert!(ledger.is_done(id(2)) && ledger.is_done(id(3)) && !ledger.is_done(id(1)));
    assert_eq!(ledger.events, [(2, event())]);
    assert_eq!(ledger.next_event(UnixMillis(0)), 3);
    assert_eq!(
        ledger.next_event(UnixMillis(1_700_000_000_000)),
        1_700_000_000_000
    );
}

fn write_one_by_one(dir: &Path) {
    let (mut journal, before) = Journal::open(dir).unwrap();
    assert!(before.is_empty());
    for entry in entries() {
        journal.append(&[entry]).unwrap();
    }
}

/// The golden file is format version 1; it is never written again, only read.
#[test]
fn a_journal_of_version_1_is_read_for_ever() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/journal-v1");
    if std::env::var_os("MUSTER_WRITE_GOLDEN").is_some() && !golden.exists() {
        let dir = tempfile::tempdir().unwrap();
        write_one_by_one(dir.path());
        fs::copy(dir.path().join("journal"), &golden).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    fs::copy(&golden, dir.path().join("journal")).unwrap();
    let (_, read) = Journal::open(dir.path()).unwrap();
    assert_eq!(read, entries());
    check_picture(&Picture::of(read));
}

#[test]
fn what_is_written_anew_adds_up_to_the_same() {
    let dir = tempfile::tempdir().unwrap();
    write_one_by_one(dir.path());
    let (mut journal, read) = Journal::open(dir.path()).unwrap();
    let picture = Picture::of(read);
    let (held, process) = &picture.held[&name(1)];
    let live = [
        Entry::Opened {
            boot_id: picture.boot_id.clone(),
        },
        Entry::Hold(Box::new(held.into())),
        Entry::State(name(1), Box::new(process.clone())),
    ];
    let everything = live.into_iter().chain(picture.ledger.entries());
    journal.rewrite(everything).unwrap();
    journal.append(&[Entry::Forget(name(9))]).unwrap();
    drop(journal);
    let (_, read) = Journal::open(dir.path()).unwrap();
    check_picture(&Picture::of(read));
    assert!(!dir.path().join("journal.new").exists());
}

proptest! {
    /// Whatever part of the last record reached the disk, everything before it counts and more can be written.
    #[test]
    fn a_torn_end_is_cut_off(lost in 1_usize..200) {
        let dir = tempfile::tempdir().unwrap();
        write_one_by_one(dir.path());
        let path = dir.path().join("journal");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - lost]).unwrap();
        let (mut journal, read) = Journal::open(dir.path()).unwrap();
        let whole = entries();
        prop_assert!(read.len() < whole.len());
        prop_assert_eq!(&read[..], &whole[..read.len()]);
        journal.append(&[Entry::Forget(name(5))]).unwrap();
        drop(journal);
        let (_, again) = Journal::open(dir.path()).unwrap();
        prop_assert_eq!(again.len(), read.len() + 1);
    }

    /// Whatever byte is wrong, the good part counts and the file is kept for people to look at.
    #[test]
    fn damage_never_stops_the_agent(at in 0_usize..2000, flip in 1_u8..=255) {
        let dir = tempfile::tempdir().unwrap();
        write_one_by_one(dir.path());
        let path = dir.path().join("journal");
        let mut bytes = fs::read(&path).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        fs::write(&path, &bytes).unwrap();
        let (mut journal, read) = Journal::open(dir.path()).unwrap();
        let whole = entries();
        prop_assert!(read.len() < whole.len());
        prop_assert_eq!(&read[..], &whole[..read.len()]);
        journal.append(&[Entry::Forget(name(5))]).unwrap();
        drop(journal);
        let (_, again) = Journal::open(dir.path()).unwrap();
        prop_assert_eq!(again.len(), read.len() + 1);
    }
}

#[test]
fn a_damaged_journal_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    write_one_by_one(dir.path());
    let path = dir.path().join("journal");
    let mut bytes = fs::read(&path).unwrap();
    bytes[HEADER + HEADER + 3] ^= 1;
    fs::write(&path, &bytes).unwrap();
    Journal::open(dir.path()).unwrap();
    let aside = fs::read_dir(dir.path())
        .unwrap()
        .flatten()
        .find(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("journal.damaged-")
        })
        .unwrap();
    assert_eq!(fs::read(aside.path()).unwrap(), bytes);
}

#[test]
fn zeros_where_nothing_was_written_are_a_torn_end() {
    let dir = tempfile::tempdir().unwrap();
    write_one_by_one(dir.path());
    let path = dir.path().join("journal");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0; 4096]);
    fs::write(&path, &bytes).unwrap();
    let (_, read) = Journal::open(dir.path()).unwrap();
    assert_eq!(read, entries());
}

#[test]
fn groups_and_labels_are_those_that_were_last_written() {
    let group = |id: &str| ProcessGroup {
        id: id.into(),
        resource: Pool::default(),
    };
    let (one, other) = (
        Namespace::parse("one").unwrap(),
        Namespace::parse("other").unwrap(),
    );
    let mut labelled = hold(1);
    labelled.labels = serde_json::from_str(r#"{"process_group": "web"}"#).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    let entries = [
        Entry::Hold(Box::new(HoldEntry::from(&labelled))),
        Entry::Groups(one.clone(), vec![group("old")]),
        Entry::Groups(other.clone(), vec![group("gone")]),
        Entry::Groups(one.clone(), vec![group("a"), group("b")]),
        Entry::Groups(other, vec![]),
    ];
    journal.append(&entries).unwrap();
    let picture = Picture::of(Journal::open(dir.path()).unwrap().1);
    let groups: Vec<_> = picture.groups.iter().collect();
    assert_eq!(groups, [(&one, &vec![group("a"), group("b")])]);
    assert_eq!(picture.held[&name(1)].0.labels, labelled.labels);
}
