use model::Code;
use model::change::OutcomeRow;

use super::*;

fn task(n: u64) -> TaskId {
    TaskId::from_number(n)
}

fn op(n: u64) -> OpId {
    OpId {
        task: task(n),
        ordinal: 0,
    }
}

fn created(n: u64) -> Changes {
    let target = TargetRow {
        op_id: op(n),
        key_prefixes: Arc::from([Box::from("0:10.0.0.1")]),
        process: Arc::new("ns/a".parse().unwrap()),
        op: Op::Start,
        host: Some(HostId(1)),
        probe: None,
        deadline: UnixMillis(1000),
    };
    let row = TaskRow {
        retries: None,
        id: task(n),
        created_at: UnixMillis(0),
        app: "app".to_owned(),
        user: "user".to_owned(),
    };
    Changes {
        tasks: vec![row],
        targets: vec![target],
        ..Changes::default()
    }
}

fn ended(n: u64, output: &str) -> Changes {
    let outcome = Outcome::plain(Code::OK, output, UnixMillis(1));
    let row = OutcomeRow {
        op_id: op(n),
        outcome,
    };
    Changes {
        outcomes: vec![row],
        ..Changes::default()
    }
}

#[test]
fn a_late_answer_after_many_newer_ends_retires_a_task_once() {
    let tasks = Tasks::default();
    let newer = 2..2 + 2 * MAX_SEARCHED as u64;
    for n in [1].into_iter().chain(newer) {
        tasks.table().apply(&created(n));
        tasks.table().apply(&ended(n, "terminated"));
    }
    tasks.table().apply(&ended(1, "it was done after all"));
    assert_eq!(tasks.n_open(), (0, 0));
    let table = tasks.table();
    let n_listed = table.ended.iter().filter(|id| **id == task(1)).count();
    assert_eq!(n_listed, 1);
    assert_eq!(table.ended.len(), table.tasks.len());
}

#[test]
fn a_text_is_kept_until_one_of_its_targets_ends() {
    let changes = created(1);
    let target = |ordinal| TargetRow {
        op_id: OpId { ordinal, ..op(1) },
        ..changes.targets[0].clone()
    };
    let n_targets = 2 * kept_text::TARGETS as u32 + 1;
    let task = Task::new(
        changes.tasks[0].clone(),
        (0..n_targets).map(target).collect(),
    );
    let write = |text: &'static str| {
        let texts = task.progress().texts.clone();
        let written = texts
            .iter()
            .map(|kept| kept.get_or_write(|| text.as_bytes().into()).to_vec());
        written
            .map(|text| String::from_utf8(text).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(write("old"), ["old", "old", "old"]);
    let last_of_second = OpId {
        ordinal: 2 * kept_text::TARGETS as u32 - 1,
        ..op(1)
    };
    task.end([(last_of_second, Outcome::plain(Code::OK, "", UnixMillis(1)))]);
    assert_eq!(write("new"), ["old", "new", "old"]);
}

#[test]
fn the_memory_of_ended_tasks_is_counted_anew_with_a_late_answer() {
    let tasks = Tasks::default();
    tasks.table().apply(&created(1));
    tasks.table().apply(&ended(1, ""));
    let before = tasks.table().ended_bytes;
    tasks.table().apply(&ended(1, &"x".repeat(1000)));
    assert_eq!(tasks.table().ended_bytes, before + 5 * 1000);
}

#[test]
fn the_oldest_ended_tasks_are_let_go_when_they_take_too_much_memory() {
    let tasks = Tasks::default();
    let output = "x".repeat(MAX_ENDED_BYTES / 6);
    for n in 1..=6 {
        tasks.table().apply(&created(n));
        tasks.table().apply(&ended(n, &output));
    }
    tasks.table().apply(&created(7));
    assert!(tasks.get(task(1)).is_none());
    assert!(tasks.get(task(6)).is_some());
    assert_eq!(tasks.n_open(), (1, 1));
    // A dropped task may still get a late result.
    tasks.table().apply(&ended(1, "late"));
    assert_eq!(tasks.n_open(), (1, 1));
}
