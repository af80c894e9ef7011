//! Output of programs as they are: closed, deleted under them, and far too much of it.

use model::operation::Op;

use crate::keeper::{Home, is_alive, read, wait_for};

#[test]
fn a_program_that_closes_its_output_runs_on() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--print hello --close-output --count %/count");
    spec.identity.log_path = home.file("work/log");
    keeper.hold(spec);
    let ran = keeper.succeed(1, Op::Start).ran.unwrap();
    assert_eq!(ran.output, "hello\n");
    let pid = keeper.running().pid;
    for number in [1, 2] {
        let open = std::fs::read_link(format!("/proc/{pid}/fd/{number}"));
        assert!(open.is_err(), "{open:?}");
    }
    keeper.succeed(2, Op::Stop);
    assert_eq!(read(&home.path("work/log")), "hello\n");
}

#[test]
fn a_log_that_is_deleted_under_its_program_harms_nobody_and_is_there_again_with_the_next_run() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--lines 200");
    spec.identity.log_path = home.file("work/log");
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let pid = keeper.running().pid;
    wait_for("output", || (home.lines("work/log") > 10).then_some(()));
    std::fs::remove_file(home.path("work/log")).unwrap();
    // A round of everything that looks at logs.
    keeper.status_where("no bytes under it", |s| s.disk == 0);
    assert_eq!(keeper.succeed(2, Op::Query).instance.unwrap().pid, pid);
    assert!(is_alive(pid));
    keeper.succeed(3, Op::Restart);
    wait_for("output again", || {
        (home.lines("work/log") > 10).then_some(())
    });
    assert!(read(&home.path("work/log")).starts_with("000000001 "));
    assert!(keeper.events.is_empty(), "{:?}", keeper.events);
}

#[test]
fn ten_thousand_lines_a_second_are_kept_in_order_and_within_bounds() {
    const MAX_BYTES: u64 = 1_000_000;
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("--lines 10000");
    spec.identity.log_path = home.file("work/log");
    spec.runtime.log_max_bytes = Some(MAX_BYTES);
    spec.runtime.log_keep = Some(2);
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let pid = keeper.running().pid;
    let log = |suffix: &str| home.path(&format!("work/log{suffix}"));
    wait_for("two rotations", || log(".2").exists().then_some(()));
    // Nobody waits for anybody: the agent answers while the program writes.
    assert_eq!(keeper.succeed(2, Op::Query).instance.unwrap().pid, pid);
    keeper.succeed(3, Op::Stop);
    let mut last = 0;
    for suffix in [".2", ".1", ""] {
        let text = read(&log(suffix));
        // What was just being written when a log was cut may be cut, too.
        let whole = text.lines().filter(|line| line.len() == 99);
        let numbers: Vec<u64> = whole.map(|line| line[..9].parse().unwrap()).collect();
        assert!(numbers.len() + 1 >= text.lines().count(), "{suffix}");
        let in_order = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert!(
            in_order && numbers.first().is_none_or(|first| *first > last),
            "{suffix}"
        );
        last = numbers.last().copied().unwrap_or(last);
        // Looked at once a second while it grows.
        assert!(
            text.len() as u64 <= 8 * MAX_BYTES,
            "{suffix}: {}",
            text.len()
        );
    }
    assert!(!log(".3").exists());
}
