//! Output of programs: closed, deleted while open, and far too much.

use model::operation::Op;

use crate::harness::{Home, is_alive, read, until};

#[test]
fn a_program_that_closes_its_output_runs_on() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print hello --close-output --count %/count");
    spec.identity.log_path = home.file("work/log");
    supervisor.hold(spec);
    let ran = supervisor.succeed(1, Op::Start).ran.unwrap();
    assert_eq!(ran.output, "hello\n");
    let pid = supervisor.running().pid;
    for number in [1, 2] {
        let open = std::fs::read_link(format!("/proc/{pid}/fd/{number}"));
        assert!(open.is_err(), "{open:?}");
    }
    supervisor.succeed(2, Op::Stop);
    assert_eq!(read(&home.path("work/log")), "hello\n");
}

#[test]
fn a_deleted_log_is_created_again_by_the_next_run() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--lines 200");
    spec.identity.log_path = home.file("work/log");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    until("output", || (home.lines("work/log") > 10).then_some(()));
    std::fs::remove_file(home.path("work/log")).unwrap();
    // One round of every check of logs.
    supervisor.status_where("no bytes under it", |s| s.disk == 0);
    assert_eq!(supervisor.succeed(2, Op::Query).instance.unwrap().pid, pid);
    assert!(is_alive(pid));
    supervisor.succeed(3, Op::Restart);
    until("output again", || {
        (home.lines("work/log") > 10).then_some(())
    });
    assert!(read(&home.path("work/log")).starts_with("000000001 "));
    assert!(supervisor.events.is_empty(), "{:?}", supervisor.events);
}

#[test]
fn ten_thousand_lines_a_second_are_kept_in_order_and_within_bounds() {
    const MAX_BYTES: u64 = 1_000_000;
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--lines 10000");
    spec.identity.log_path = home.file("work/log");
    spec.runtime.log_max_bytes = Some(MAX_BYTES);
    spec.runtime.log_keep = Some(2);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    let log = |suffix: &str| home.path(&format!("work/log{suffix}"));
    until("two rotations", || log(".2").exists().then_some(()));
    // The agent answers while the program writes.
    assert_eq!(supervisor.succeed(2, Op::Query).instance.unwrap().pid, pid);
    supervisor.succeed(3, Op::Stop);
    let mut last = 0;
    for suffix in [".2", ".1", ""] {
        let text = read(&log(suffix));
        // A line that was being written during a rotation may be cut.
        let whole = text.lines().filter(|line| line.len() == 99);
        let numbers: Vec<u64> = whole.map(|line| line[..9].parse().unwrap()).collect();
        assert!(numbers.len() + 1 >= text.lines().count(), "{suffix}");
        let in_order = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert!(
            in_order && numbers.first().is_none_or(|first| *first > last),
            "{suffix}"
        );
        last = numbers.last().copied().unwrap_or(last);
        // Checked once a second while it grows.
        assert!(
            text.len() as u64 <= 8 * MAX_BYTES,
            "{suffix}: {}",
            text.len()
        );
    }
    assert!(!log(".3").exists());
}
