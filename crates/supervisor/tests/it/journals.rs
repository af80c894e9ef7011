//! Damaged and torn journals while programs run: no program runs twice, and no operation is carried out twice.

use model::operation::Op;
use model::{Code, Spec};
use supervisor::ControlGroups;

use crate::harness::{Home, is_alive, op_id, until, with_and_without_groups};

/// Where each record begins, and where the last one ends.
fn records(journal: &[u8]) -> Vec<usize> {
    let mut begins = vec![8];
    while let Some(head) = journal[begins[begins.len() - 1]..].first_chunk::<4>() {
        begins.push(begins[begins.len() - 1] + 8 + u32::from_le_bytes(*head) as usize);
    }
    begins
}

/// Journals with damage in the record from `begin` to `end`.
type Hurt = fn(&[u8], usize, usize) -> Vec<u8>;

fn with_a_wrong_byte(journal: &[u8], begin: usize, end: usize) -> Vec<u8> {
    let mut bytes = journal.to_vec();
    bytes[(begin + end) / 2] ^= 4;
    bytes
}

fn with_a_wrong_length(journal: &[u8], begin: usize, _: usize) -> Vec<u8> {
    let mut bytes = journal.to_vec();
    bytes[begin + 2] ^= 0x10;
    bytes
}

fn cut_in_a_record(journal: &[u8], begin: usize, end: usize) -> Vec<u8> {
    journal[..(begin + end) / 2].to_vec()
}

/// Starts the process, stops the agent, damages the n-th last record since the start was accepted, and starts the agent
/// again; false when there are fewer records.
fn comes_back_once(
    groups: ControlGroups,
    hurt: Hurt,
    back: usize,
    spec: &Spec,
    home: &Home,
) -> bool {
    let mut supervisor = home.supervisor();
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Query);
    let path = home.path("agent/journal");
    let taken_on = std::fs::read(&path).unwrap().len();
    supervisor.begin(2, Op::Start);
    until("it is there alone", || {
        (home.lines("started") == 1 && home.processes() == 1).then_some(())
    });
    supervisor.stop();
    let journal = std::fs::read(&path).unwrap();
    let records = records(&journal);
    let at = records.len() - 1 - back;
    if records[at] < taken_on {
        return false;
    }
    std::fs::write(&path, hurt(&journal, records[at], records[at + 1])).unwrap();

    let mut supervisor = home.supervisor();
    supervisor.operate(3, Op::Start);
    let pid = supervisor.running().pid;
    until("one of it is there", || {
        (home.processes() == 1).then_some(())
    });
    assert!(is_alive(pid), "{groups:?}: {back} records before the end");
    if let Some(outcome) = supervisor.outcomes.get(&op_id(2)) {
        assert!(
            [Code::OK, Code::TERMINATED].contains(&outcome.code),
            "{outcome:?}"
        );
    }
    supervisor.succeed(4, Op::Kill);
    true
}

fn restarts_once_after_any_damage(groups: ControlGroups, hurt: Hurt, spec: fn(&Home) -> Spec) {
    let mut back = 1;
    loop {
        let home = Home::with(groups);
        if !comes_back_once(groups, hurt, back, &spec(&home), &home) {
            break;
        }
        back += 1;
    }
    assert!(back > 4, "only {back} records");
}

fn in_background(home: &Home) -> Spec {
    home.spec("--daemon --pid-file %/pid --count %/started")
}

/// Its check comes late, so it has no pid file yet when the agent stops.
fn in_foreground(home: &Home) -> Spec {
    let mut spec = home.spec("--count %/started");
    spec.monitor_policy.start_check_secs = 1;
    spec
}

with_and_without_groups!(
    a_daemon_does_not_run_twice_after_any_damage,
    a_foreground_program_does_not_run_twice_after_any_damage,
    nothing_runs_twice_after_a_torn_journal,
    a_daemon_whose_start_is_not_recorded_is_not_started_again,
);

fn a_daemon_does_not_run_twice_after_any_damage(groups: ControlGroups) {
    restarts_once_after_any_damage(groups, with_a_wrong_byte, in_background);
    restarts_once_after_any_damage(groups, with_a_wrong_length, in_background);
}

fn a_foreground_program_does_not_run_twice_after_any_damage(groups: ControlGroups) {
    restarts_once_after_any_damage(groups, with_a_wrong_byte, in_foreground);
}

fn nothing_runs_twice_after_a_torn_journal(groups: ControlGroups) {
    for spec in [in_background, in_foreground] {
        let home = Home::with(groups);
        assert!(comes_back_once(
            groups,
            cut_in_a_record,
            1,
            &spec(&home),
            &home
        ));
    }
}

fn a_daemon_whose_start_is_not_recorded_is_not_started_again(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    supervisor.hold(in_background(&home));
    supervisor.succeed(1, Op::Start);
    let pid = home.pid();
    supervisor.stop();
    let path = home.path("agent/journal");
    let journal = std::fs::read(&path).unwrap();
    let records = records(&journal);
    let is_command = |record: &[usize]| {
        let text = String::from_utf8_lossy(&journal[record[0]..record[1]]);
        text.contains(r#""step":{"command""#)
    };
    let record = records.windows(2).find(|record| is_command(record));
    let record = record.expect("the start command is recorded");
    std::fs::write(&path, cut_in_a_record(&journal, record[0], record[1])).unwrap();

    let mut supervisor = home.supervisor();
    let outcome = supervisor.end_of(op_id(1));
    assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    assert_eq!(supervisor.running().pid, pid);
    assert_eq!((home.lines("started"), home.processes()), (1, 1));
}
