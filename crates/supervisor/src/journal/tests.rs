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

use super::entry::{Entry, JournalState};
use super::{Extent, HEADER, Journal};
use crate::Registration;
use crate::machine::{CurrentRun, Form, LiveRun, Phase, Process, Run, RunFacts, Ticket};

fn name(number: u32) -> FullName {
    format!("ns/p{number}").parse().unwrap()
}

fn hold(number: u32) -> Registration {
    Registration {
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

/// One entry of each kind of format version 1.
fn entries() -> Vec<Entry> {
    let mut process = Process::new(Flag::Running, true);
    process.phase = Phase::Up {
        current: CurrentRun {
            alive: LiveRun {
                run: Run {
                    pid: 4242,
                    start: 99,
                },
                form: Form::Foreground { main: 4243 },
                since_boot_ms: 990,
                started_at: UnixMillis(1_700_000_000_100),
            },
            facts: RunFacts::default(),
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
        Entry::Hold(Box::new(hold(1))),
        Entry::Hold(Box::new(hold(2))),
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

fn check_picture(state: &JournalState) {
    assert_eq!(state.boot_id, "boot-1");
    assert_eq!(state.held.len(), 1);
    let (held, process) = &state.held[&name(1)];
    assert_eq!(*held, hold(1));
    assert!(process.managed && process.queue.len() == 1);
    assert_eq!(process.alive().unwrap().pid(), 4243);
    let ledger = &state.ledger;
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
    let (mut journal, before, _) = Journal::open(dir).unwrap();
    assert!(before.is_empty());
    for entry in entries() {
        journal.append(&[entry]).unwrap();
    }
}

/// The golden file has format version 1; it is never written again.
#[test]
fn a_journal_of_version_1_is_readable() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/journal-v1");
    if std::env::var_os("MUSTER_WRITE_GOLDEN").is_some() && !golden.exists() {
        let dir = tempfile::tempdir().unwrap();
        write_one_by_one(dir.path());
        fs::copy(dir.path().join("journal"), &golden).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    fs::copy(&golden, dir.path().join("journal")).unwrap();
    let (_, read, _) = Journal::open(dir.path()).unwrap();
    assert_eq!(read, entries());
    check_picture(&JournalState::of(read));
}

#[test]
fn a_rewritten_journal_has_the_same_state() {
    let dir = tempfile::tempdir().unwrap();
    write_one_by_one(dir.path());
    let (mut journal, read, _) = Journal::open(dir.path()).unwrap();
    let state = JournalState::of(read);
    let (held, process) = &state.held[&name(1)];
    let live = [
        Entry::Opened {
            boot_id: state.boot_id.clone(),
        },
        Entry::Hold(Box::new(held.clone())),
        Entry::State(name(1), Box::new(process.clone())),
    ];
    let everything = live.into_iter().chain(state.ledger.entries());
    journal.rewrite(everything).unwrap();
    journal.append(&[Entry::Forget(name(9))]).unwrap();
    drop(journal);
    let (_, read, _) = Journal::open(dir.path()).unwrap();
    check_picture(&JournalState::of(read));
    assert!(!dir.path().join("journal.new").exists());
}

/// Opens a cut or damaged journal: the entries in `good` must be read, and appending must work.
fn check_left(bytes: &[u8], good: &[Entry]) -> (Vec<Entry>, Extent) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("journal"), bytes).unwrap();
    let (mut journal, read, extent) = Journal::open(dir.path()).unwrap();
    assert_eq!(&read[..good.len()], good);
    JournalState::of(read.clone());
    let asides = fs::read_dir(dir.path()).unwrap().flatten();
    let is_aside = |name: &str| name.starts_with("journal.damaged-");
    let asides = asides.filter(|entry| is_aside(&entry.file_name().to_string_lossy()));
    let asides: Vec<_> = asides
        .map(|entry| fs::read(entry.path()).unwrap())
        .collect();
    match extent {
        Extent::Whole | Extent::Torn => assert_eq!(asides.len(), 0),
        Extent::Damaged => assert_eq!(asides, [bytes]),
    }
    journal.append(&[Entry::Forget(name(5))]).unwrap();
    drop(journal);
    let (_, again, extent_then) = Journal::open(dir.path()).unwrap();
    assert_eq!(again.len(), read.len() + 1);
    assert_eq!(extent_then, Extent::Whole);
    (read, extent)
}

/// A journal with one record per entry, and the offset of each record.
fn written() -> (Vec<u8>, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, ..) = Journal::open(dir.path()).unwrap();
    let mut begins = Vec::new();
    for entry in entries() {
        begins.push(journal.length as usize);
        journal.append(&[entry]).unwrap();
    }
    (fs::read(dir.path().join("journal")).unwrap(), begins)
}

/// How many records end before this offset.
fn n_before(begins: &[usize], at: usize) -> usize {
    begins.iter().filter(|begin| **begin <= at).count().max(1) - 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Cut at any offset, every complete record counts, and more can be written.
    #[test]
    fn a_torn_end_is_cut_off(length in any::<prop::sample::Index>()) {
        let (bytes, begins) = written();
        let length = length.index(bytes.len());
        let whole = &entries()[..n_before(&begins, length)];
        let (read, extent) = check_left(&bytes[..length], whole);
        prop_assert_eq!(&read[..], whole);
        let is_boundary = begins.contains(&length);
        prop_assert_eq!(extent, if is_boundary { Extent::Whole } else { Extent::Torn });
    }

    /// With any damaged byte, also in lengths and checksums, the records before it count and the file is set aside.
    #[test]
    fn damage_is_never_taken_for_a_torn_end(
        at in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        let (mut bytes, begins) = written();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let good = &entries()[..n_before(&begins, at)];
        let (read, extent) = check_left(&bytes, good);
        prop_assert_eq!(&read[..], good);
        prop_assert_eq!(extent, Extent::Damaged);
    }

    /// Damage of several kinds at once.
    #[test]
    fn junk_at_the_end_keeps_the_records_before_it(
        cut in any::<prop::sample::Index>(),
        junk in prop::collection::vec(any::<u8>(), 0..60),
        again in any::<prop::sample::Index>(),
    ) {
        let (bytes, begins) = written();
        let cut = cut.index(bytes.len());
        let mut changed = [&bytes[..cut], &junk].concat();
        changed.extend_from_slice(&bytes[again.index(bytes.len())..]);
        check_left(&changed, &entries()[..n_before(&begins, cut)]);
    }

    /// A disk that repeats or reorders writes.
    #[test]
    fn repeated_and_reordered_records_are_read(
        order in prop::collection::vec(0_usize..12, 0..24),
        kept in 0_usize..12,
    ) {
        let (bytes, begins) = written();
        let end = |record: usize| begins.get(record + 1).copied().unwrap_or(bytes.len());
        let mut changed = bytes[..end(kept)].to_vec();
        for record in &order {
            changed.extend_from_slice(&bytes[begins[*record]..end(*record)]);
        }
        let all = entries();
        let (read, extent) = check_left(&changed, &all[..=kept]);
        prop_assert_eq!(extent, Extent::Whole);
        let later: Vec<Entry> = order.iter().map(|record| all[*record].clone()).collect();
        prop_assert_eq!(&read[kept + 1..], later);
        // A result is dropped only after it was acknowledged.
        let state = JournalState::of(read.clone());
        let acknowledged = |id: &OpId| {
            read.iter().any(|entry| matches!(entry, Entry::ResultsAcknowledged(ids) if ids.contains(id)))
        };
        for entry in &read {
            if let Entry::Ended(id, _) = entry {
                prop_assert!(state.ledger.results.contains_key(id) || acknowledged(id));
            }
        }
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
fn trailing_zeros_are_a_torn_end() {
    let dir = tempfile::tempdir().unwrap();
    write_one_by_one(dir.path());
    let path = dir.path().join("journal");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0; 4096]);
    fs::write(&path, &bytes).unwrap();
    let (_, read, _) = Journal::open(dir.path()).unwrap();
    assert_eq!(read, entries());
}

#[test]
fn the_last_written_groups_and_labels_apply() {
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
    let (mut journal, ..) = Journal::open(dir.path()).unwrap();
    let entries = [
        Entry::Hold(Box::new(labelled.clone())),
        Entry::Groups(one.clone(), vec![group("old")]),
        Entry::Groups(other.clone(), vec![group("gone")]),
        Entry::Groups(one.clone(), vec![group("a"), group("b")]),
        Entry::Groups(other, vec![]),
    ];
    journal.append(&entries).unwrap();
    let state = JournalState::of(Journal::open(dir.path()).unwrap().1);
    let groups: Vec<_> = state.groups.iter().collect();
    assert_eq!(groups, [(&one, &vec![group("a"), group("b")])]);
    assert_eq!(state.held[&name(1)].0.labels, labelled.labels);
}
