//! The last runs of a process: numbers, ends, and the output of each.

use model::operation::Op;
use model::run_history::RunRecord;
use model::spec::AutoType;
use model::status::Exit;
use supervisor::{LogRequest, Request, WhichRun};
use tokio::sync::oneshot;

use crate::harness::{Home, TestSupervisor, kill, name, options, until};
use crate::kept_output::{all, open, text};

fn history(supervisor: &TestSupervisor) -> Vec<RunRecord> {
    let (answer, runs) = oneshot::channel();
    supervisor.ask(Request::Runs(name(), answer));
    runs.blocking_recv().unwrap().unwrap()
}

/// The ends, oldest first; none for the run that goes on.
#[track_caller]
fn ends(supervisor: &TestSupervisor) -> Vec<Option<Exit>> {
    let runs = history(supervisor);
    let numbers: Vec<u32> = runs.iter().map(|run| run.number).collect();
    let counted = 1..=u32::try_from(runs.len()).unwrap();
    assert_eq!(numbers, counted.collect::<Vec<_>>(), "{runs:?}");
    for run in &runs {
        assert_eq!(run.is_current, run.end.is_none(), "{run:?}");
        assert!(run.end.is_none_or(|end| end.at >= run.began), "{run:?}");
    }
    runs.iter().map(|run| run.end.map(|end| end.exit)).collect()
}

fn written_by(supervisor: &TestSupervisor, run: u32) -> Result<String, String> {
    let wanted = LogRequest {
        run: WhichRun::Numbered(run),
        ..all()
    };
    match open(supervisor, wanted) {
        Ok(mut log) => Ok(text(&mut log)),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn each_run_has_its_end_whoever_caused_it_and_across_restarts_of_the_agent() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec("--complain bad --exit 3"));
    assert!(history(&supervisor).is_empty());
    supervisor.operate(1, Op::Start);
    assert_eq!(ends(&supervisor), [Some(Exit::Code(3))]);

    supervisor.hold(home.spec("--print good --stay"));
    supervisor.succeed(2, Op::Start);
    assert_eq!(ends(&supervisor), [Some(Exit::Code(3)), None]);
    let pid = supervisor.running().pid;
    kill(pid, libc::SIGKILL);
    supervisor.next_run(&home, pid);
    let killed = Some(Exit::Signal(libc::SIGKILL));
    until("the next run", || {
        (ends(&supervisor) == [Some(Exit::Code(3)), killed, None]).then_some(())
    });

    // The run goes on without the agent, and keeps its number.
    supervisor.stop();
    let (mut supervisor, _) = home.supervisor_with(options());
    supervisor.running();
    assert_eq!(ends(&supervisor).last(), Some(&None));
    supervisor.succeed(3, Op::Restart);
    assert_eq!(ends(&supervisor).len(), 4);
    supervisor.succeed(4, Op::Stop);
    let all_ended = ends(&supervisor);
    assert!(all_ended.iter().all(Option::is_some), "{all_ended:?}");

    // Of the oldest the end is known, but no longer the output.
    assert_eq!(history(&supervisor)[0].output_bytes, None);
    assert_eq!(
        written_by(&supervisor, 1).unwrap_err(),
        "the output of run 1 of test/odd is not kept, only of 2, 3, 4"
    );
    assert_eq!(written_by(&supervisor, 2).unwrap(), "good\n");
}

#[test]
fn a_daemons_run_ends_with_the_daemon_and_not_with_its_start_command() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    supervisor.succeed(1, Op::Start);
    assert_eq!(ends(&supervisor), [None]);
    supervisor.succeed(2, Op::Kill);
    assert_eq!(ends(&supervisor).len(), 1);
    assert!(ends(&supervisor)[0].is_some());
}

#[test]
fn a_schedule_keeps_the_output_of_as_many_runs_as_it_says() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print tick --exit 0");
    spec.monitor_policy.auto_type = AutoType::Periodic;
    spec.monitor_policy.crontab_rule = "* * * * * *".to_owned();
    spec.schedule.history = 5;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Manage);
    until("six runs", || {
        let ended = history(&supervisor)
            .iter()
            .filter(|run| run.end.is_some())
            .count();
        (ended >= 6).then_some(())
    });
    supervisor.operate(2, Op::Stop);
    let runs = history(&supervisor);
    let kept: Vec<&RunRecord> = runs
        .iter()
        .filter(|run| run.output_bytes.is_some())
        .collect();
    assert_eq!(kept.len(), 5, "{runs:?}");
    for run in kept {
        assert_eq!(run.end.unwrap().exit, Exit::Code(0));
        assert_eq!(written_by(&supervisor, run.number).unwrap(), "tick\n");
    }
}

#[test]
fn a_run_that_writes_into_its_log_is_found_there() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    for (number, word) in [(1, "one"), (2, "two")] {
        let mut spec = home.spec(&format!("--print {word} --exit 0"));
        spec.monitor_policy.auto_type = AutoType::OneShot;
        spec.identity.log_path = home.file("work/log");
        supervisor.hold(spec);
        supervisor.succeed(number, Op::Start);
        supervisor.stopped();
    }
    assert_eq!(ends(&supervisor), [Some(Exit::Code(0)); 2]);
    let runs = history(&supervisor);
    assert!(
        runs.iter().all(|run| run.log_path.ends_with("/work/log")),
        "{runs:?}"
    );
    assert_eq!(written_by(&supervisor, 1).unwrap(), "one\n");
    assert_eq!(written_by(&supervisor, 2).unwrap(), "two\n");
}
