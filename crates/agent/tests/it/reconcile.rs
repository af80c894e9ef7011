//! Desired state of the server, and the requests to the supervisor.

use agent::reconcile::{ClockOffset, HeldProcesses, operation};
use model::group::{Pool, ProcessGroup};
use model::{Code, Namespace, Op, UnixMillis};
use supervisor::Request;
use wire::Desired;
use wire::down::{GroupSet, NameRef, definition_hash};

use crate::fixture::{command, desired, name, op, recovered};

fn full(names: &[&str], last: bool) -> Desired {
    Desired {
        full: true,
        last,
        processes: names.iter().map(|name| desired(name, 1)).collect(),
        forget: Vec::new(),
        ..Desired::default()
    }
}

fn increment(names: &[&str], forget: &[&str]) -> Desired {
    Desired {
        full: false,
        last: false,
        processes: names.iter().map(|name| desired(name, 1)).collect(),
        forget: forget.iter().map(|n| NameRef::new(&name(n))).collect(),
        ..Desired::default()
    }
}

/// `+name` for hold, `-name` for forget.
fn shown(requests: &[Request]) -> Vec<String> {
    let mut shown: Vec<String> = requests
        .iter()
        .map(|request| match request {
            Request::Hold(hold) => format!("+{}", hold.name),
            Request::Forget(name) => format!("-{name}"),
            other => panic!("{other:?}"),
        })
        .collect();
    shown.sort();
    shown
}

#[test]
fn a_full_list_over_several_frames_forgets_what_no_frame_names() {
    let mut held = HeldProcesses::new(&[
        recovered("n/a", 1),
        recovered("n/b", 1),
        recovered("n/old", 1),
    ]);
    assert_eq!(shown(&held.apply(full(&["n/a"], false))), [""; 0]);
    assert_eq!(shown(&held.apply(full(&["n/c"], false))), ["+n/c"]);
    assert_eq!(shown(&held.apply(full(&["n/b"], true))), ["-n/old"]);
    assert_eq!(held.len(), 3);
}

#[test]
fn a_spec_that_an_earlier_agent_did_not_keep_whole_is_taken_again() {
    // The earlier agent kept the hash of what the server sent, and not the section that it did not know.
    let mut process = desired("n/a", 1);
    let mut spec = process.spec().unwrap();
    spec.restart.delay = Some(3);
    process.spec_json = spec.to_json();
    let mut hold = recovered("n/a", 1);
    hold.definition_hash = definition_hash(&process.spec_json, &process.labels_json);
    let mut held = HeldProcesses::new(&[hold.clone()]);
    let frame = Desired {
        full: true,
        last: true,
        processes: vec![process],
        ..Desired::default()
    };
    assert_eq!(shown(&held.apply(frame)), ["+n/a"]);
    hold.spec = spec.into();
    let same = HeldProcesses::new(&[hold]);
    assert_eq!(held.digest(), same.digest(), "and kept the next time");
}

#[test]
fn an_incomplete_full_list_forgets_nothing() {
    let mut held = HeldProcesses::new(&[recovered("n/a", 1), recovered("n/b", 1)]);
    held.apply(full(&["n/a"], false));
    held.rewind();
    assert_eq!(shown(&held.apply(full(&["n/a", "n/b"], true))), [""; 0]);
}

#[test]
fn an_empty_full_list_forgets_everything() {
    let mut held = HeldProcesses::new(&[recovered("n/a", 1)]);
    assert_eq!(shown(&held.apply(full(&[], true))), ["-n/a"]);
    assert_eq!(held.digest(), 0);
}

#[test]
fn increments_hold_and_forget_by_name() {
    let mut held = HeldProcesses::default();
    assert_eq!(
        shown(&held.apply(increment(&["n/a", "n/b"], &[]))),
        ["+n/a", "+n/b"]
    );
    assert_eq!(
        shown(&held.apply(increment(&["n/a"], &["n/b", "n/x"]))),
        ["-n/b"]
    );
}

#[test]
fn only_a_new_spec_or_incarnation_is_held_again() {
    let mut held = HeldProcesses::new(&[recovered("n/a", 1)]);
    assert_eq!(shown(&held.apply(increment(&["n/a"], &[]))), [""; 0]);

    let mut respecced = increment(&["n/a"], &[]);
    respecced.processes[0].spec_json = respecced.processes[0].spec_json.replace("1000", "2000");
    let requests = held.apply(respecced);
    let [Request::Hold(hold)] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!(hold.spec.control.start_cmd, "sleep 2000");
    assert_eq!(hold.incarnation, 1);

    let mut reborn = increment(&["n/a"], &[]);
    reborn.processes[0].incarnation = 2;
    assert_eq!(shown(&held.apply(reborn)), ["+n/a"]);
}

#[test]
fn a_bad_entry_is_skipped_and_forgets_nothing() {
    let mut held = HeldProcesses::new(&[recovered("n/a", 1), recovered("n/b", 1)]);
    let mut list = full(&["n/a", "n/b", "n/c", "n/d"], true);
    list.processes[0].spec_json = "{".into();
    list.processes[0].incarnation = 2;
    list.processes[1].flag = 9;
    list.processes[1].incarnation = 2;
    list.processes[2].name = None;
    assert_eq!(shown(&held.apply(list)), ["+n/d"]);
    assert!(held.contains(&name("n/a")) && held.contains(&name("n/b")));
}

#[test]
fn the_digest_is_independent_of_the_order() {
    let mut held = HeldProcesses::default();
    held.apply(increment(&["n/a", "n/b"], &[]));
    let again = HeldProcesses::new(&[recovered("n/b", 1), recovered("n/a", 1)]);
    assert_ne!(held.digest(), 0);
    assert_eq!(held.digest(), again.digest());
}

#[test]
fn every_op_type_of_the_api_is_an_operation_and_no_other() {
    for number in 0..12 {
        let read = operation(
            op(1),
            &command(op(1), number),
            ClockOffset::default(),
            UnixMillis(9),
        );
        match Op::from_number(number.into()) {
            Some(op) => assert_eq!(read.unwrap().op, op),
            None => {
                let outcome = read.unwrap_err();
                assert_eq!(outcome.code, Code::UNKNOWN_OP);
                assert_eq!(outcome.ended_at, UnixMillis(9));
            }
        }
    }
}

#[test]
fn a_command_that_cannot_be_read_ends_with_the_field_and_the_rule() {
    let read = |change: &dyn Fn(&mut wire::Command)| {
        let mut command = command(op(1), 0);
        change(&mut command);
        operation(op(1), &command, ClockOffset::default(), UnixMillis(9)).unwrap_err()
    };
    let nameless = read(&|command| command.name = None);
    assert_eq!(
        (nameless.code, nameless.message.as_str()),
        (Code::INVALID, "name: is required")
    );
    assert_eq!(
        read(&|command| command.probe_json = "[".into()).code,
        Code::INVALID
    );
}

#[test]
fn deadlines_are_read_by_the_servers_clock() {
    let mut command = command(op(1), 0);
    command.deadline_ms = 10_000;
    let clock = ClockOffset::new(UnixMillis(5_000), UnixMillis(1_000));
    let operation = operation(op(1), &command, clock, UnixMillis(1_000)).unwrap();
    assert_eq!(operation.deadline, UnixMillis(6_000));
}

#[test]
fn setting_the_clock_moves_no_deadline() {
    let mut command = command(op(1), 0);
    // Ten seconds are left on any clock.
    (command.sent_ms, command.deadline_ms) = (9_000_000, 9_010_000);
    let clock = ClockOffset::new(UnixMillis(5_000), UnixMillis(1_000));
    let operation = operation(op(1), &command, clock, UnixMillis(70)).unwrap();
    assert_eq!(operation.deadline, UnixMillis(10_070));
}

#[test]
fn process_groups_are_passed_on_and_bad_ones_skipped() {
    let namespace = Namespace::parse("n").unwrap();
    let groups = vec![ProcessGroup {
        id: "web".into(),
        resource: Pool {
            cpu_pool_limit: 50.0,
            ..Pool::default()
        },
    }];
    let bad = GroupSet {
        namespace: "n".into(),
        groups_json: "{".into(),
    };
    let none = GroupSet::new(&Namespace::parse("other").unwrap(), &[]);
    let frame = Desired {
        groups: vec![bad, GroupSet::new(&namespace, &groups), none],
        ..Desired::default()
    };
    let passed: Vec<_> = HeldProcesses::default()
        .apply(frame)
        .into_iter()
        .map(|request| match request {
            Request::Groups(namespace, groups) => (namespace.to_string(), groups),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        passed,
        [("n".to_owned(), groups), ("other".to_owned(), vec![])]
    );
}

#[test]
fn a_process_is_held_with_its_labels() {
    let mut process = desired("n/a", 1);
    process.labels_json = r#"{"process_group": "web"}"#.into();
    let frame = Desired {
        processes: vec![process],
        ..Desired::default()
    };
    let requests = HeldProcesses::default().apply(frame);
    let [Request::Hold(hold)] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    let labels: Vec<_> = hold.labels.iter().collect();
    assert_eq!(labels, [("process_group", "web")]);
}
