//! Jobs from their scope to the last task, with fake agents.

use std::sync::Arc;
use std::time::Duration;

use control::{Apply, ControlError, JobView, NewJob};
use model::job::{JobAction, JobId, JobOptions, JobStatus};
use model::scope::{Scope, Selection};
use model::topology::{BusinessId, Origin};
use model::{Code, Outcome, UnixMillis};
use testkit::fake_agent::{FakeAgent, op_of};
use wire::DownKind;

use crate::rig::Rig;
use crate::topology::{facts, process, program};

pub(crate) const BUSINESS: BusinessId = BusinessId(2);

/// Two hosts with `first` of priority 1 and `second` of priority 2 on each, and their agents.
pub(crate) async fn two_hosts(rig: &Rig) -> Vec<FakeAgent> {
    let with = |alias: &str, priority| model::topology::Program {
        priority: Some(priority),
        ..program(alias, 1)
    };
    let mut two = facts(&["10.0.0.1", "10.0.0.2"], &with("first", 1));
    two.processes.push(process(None, 0, &with("second", 2)));
    two.processes.push(process(None, 1, &with("second", 2)));
    rig.control
        .topology()
        .import(&rig.caller, two, Origin::Imported, Apply::Really)
        .await
        .unwrap();
    vec![rig.agent("10.0.0.1").await, rig.agent("10.0.0.2").await]
}

pub(crate) fn new_job(action: JobAction, options: JobOptions) -> NewJob {
    let all = Selection::Scope(Scope::default());
    NewJob::of_business(BUSINESS, action, all, serde_json::json!({}), options)
}

pub(crate) async fn create(rig: &Rig, action: JobAction, options: JobOptions) -> JobId {
    let new = new_job(action, options);
    rig.control.jobs().create(&rig.caller, new).await.unwrap().0
}

/// Answers every command until no more arrive; returns the names in the order of the commands.
pub(crate) async fn answer_all(agents: &[FakeAgent], code: impl Fn(&str) -> Code) -> Vec<String> {
    let mut asked = Vec::new();
    loop {
        let mut quiet = true;
        for agent in agents {
            for heard in agent.received().await {
                quiet = false;
                let DownKind::Command(command) = heard else {
                    continue;
                };
                let name = command.name.clone().unwrap().name;
                let outcome = Outcome::plain(code(&name), "said so", UnixMillis(5));
                asked.push(name);
                agent.answer(op_of(&command), outcome).await;
            }
        }
        if quiet {
            return asked;
        }
    }
}

pub(crate) async fn over(rig: &Rig, id: JobId) -> JobView {
    for _ in 0..200 {
        let wait = Duration::from_secs(1);
        let view = rig
            .control
            .jobs()
            .wait_for_progress(&rig.caller, id, usize::MAX, wait);
        let view = view.await.unwrap();
        if view.job.status.is_over() {
            return view;
        }
    }
    panic!("the job does not end");
}

fn statuses(view: &JobView) -> Vec<(&str, JobStatus)> {
    let tasks = view.tasks.iter();
    tasks
        .map(|task| (task.label.bk_process_name.as_str(), task.status))
        .collect()
}

#[tokio::test]
async fn starts_follow_priority_and_stops_reverse_it() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    for (action, order) in [
        (
            JobAction::Start,
            ["first_1", "first_1", "second_1", "second_1"],
        ),
        (
            JobAction::Stop,
            ["second_1", "second_1", "first_1", "first_1"],
        ),
    ] {
        let id = create(&rig, action, JobOptions::default()).await;
        assert_eq!(answer_all(&agents, |_| Code::OK).await, order);
        let view = over(&rig, id).await;
        assert_eq!(view.job.status, JobStatus::Succeeded);
        assert_eq!(view.count(JobStatus::Succeeded), 4);
    }
}

#[tokio::test]
async fn a_failure_blocks_later_priorities_until_a_retry() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::Start, JobOptions::default()).await;
    let asked = answer_all(&agents, |name| match name {
        "first_1" => Code::CHECK_FAILED,
        _ => Code::OK,
    })
    .await;
    assert_eq!(asked, ["first_1", "first_1"]);
    let view = over(&rig, id).await;
    assert_eq!(view.job.status, JobStatus::Failed);
    let last = &view.tasks[3];
    assert_eq!(
        (last.status, last.code),
        (JobStatus::Failed, Code(4_103_003))
    );
    assert!(
        last.reason.contains("first") && last.reason.ends_with("said so"),
        "{}",
        last.reason
    );
    // Again, after a restart of the server.
    let rig = rig.restarted().await;
    let agents = vec![
        rig.connect("10.0.0.1".parse().unwrap(), 0),
        rig.connect("10.0.0.2".parse().unwrap(), 0),
    ];
    let retried = rig
        .control
        .jobs()
        .retry(&rig.caller, id, None)
        .await
        .unwrap();
    assert_eq!(retried, 4);
    let asked = answer_all(&agents, |_| Code::OK).await;
    assert_eq!(asked, ["first_1", "first_1", "second_1", "second_1"]);
    assert_eq!(over(&rig, id).await.job.status, JobStatus::Succeeded);
    let again = rig.control.jobs().retry(&rig.caller, id, None).await;
    assert!(matches!(again, Err(ControlError::Conflict(_))));
}

#[tokio::test]
async fn stopped_processes_and_chosen_codes_are_ignored() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::Stop, JobOptions::default()).await;
    answer_all(&agents, |_| Code::NOT_RUNNING).await;
    let view = over(&rig, id).await;
    assert_eq!(view.job.status, JobStatus::Succeeded);
    assert_eq!(view.count(JobStatus::Ignored), 4);
    let options = JobOptions {
        ignore_error_codes: vec![828],
        ..JobOptions::default()
    };
    let id = create(&rig, JobAction::Start, options).await;
    answer_all(&agents, |_| Code::ALREADY_RUNNING).await;
    assert_eq!(over(&rig, id).await.count(JobStatus::Ignored), 4);
}

#[tokio::test]
async fn batches_stop_after_too_many_failures() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let options = JobOptions {
        batch_size: Some(1),
        max_failures: 1,
        ..JobOptions::default()
    };
    let id = create(&rig, JobAction::ForceStop, options).await;
    let asked = answer_all(&agents, |_| Code::CHECK_FAILED).await;
    assert_eq!(asked, ["first_1", "first_1"]);
    let view = over(&rig, id).await;
    assert_eq!(view.tasks[2].code, Code(4_103_003));
    assert_eq!(view.count(JobStatus::Failed), 4);
}

#[tokio::test]
async fn a_job_continues_after_a_restart() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::Start, JobOptions::default()).await;
    // One of the first two answers, the other is still running.
    let command = loop {
        if let Some(command) = agents[0].received_commands().await.pop() {
            break command;
        }
    };
    agents[0].answer_ok(&command, None, None).await;
    until_ended(&rig, id, 1).await;
    drop(agents);
    let rig = rig.restarted().await;
    let agents = vec![
        rig.connect("10.0.0.1".parse().unwrap(), 0),
        rig.connect("10.0.0.2".parse().unwrap(), 0),
    ];
    let asked = answer_all(&agents, |_| Code::OK).await;
    assert_eq!(asked, ["first_1", "second_1", "second_1"], "nothing twice");
    let view = over(&rig, id).await;
    assert_eq!(view.count(JobStatus::Succeeded), 4, "{:?}", statuses(&view));
}

pub(crate) async fn until_ended(rig: &Rig, id: JobId, n_ended: usize) {
    let wait = Duration::from_secs(20);
    let view = rig
        .control
        .jobs()
        .wait_for_progress(&rig.caller, id, n_ended - 1, wait);
    let view = view.await.unwrap();
    let ended = view.tasks.iter().filter(|task| task.status.is_over());
    assert!(ended.count() >= n_ended);
}

#[tokio::test]
async fn a_cancelled_job_starts_nothing_more_and_ends() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::Start, JobOptions::default()).await;
    let mut commands = Vec::new();
    while commands.len() < 2 {
        for agent in &agents {
            let heard = agent.received_commands().await;
            commands.extend(heard.into_iter().map(|command| (agent, command)));
        }
    }
    rig.control.jobs().cancel(&rig.caller, id).await.unwrap();
    for (agent, command) in commands {
        agent.answer_ok(&command, None, None).await;
    }
    assert_eq!(answer_all(&agents, |_| Code::OK).await, [""; 0]);
    let view = over(&rig, id).await;
    assert_eq!(view.job.status, JobStatus::Failed);
    assert_eq!(view.count(JobStatus::Succeeded), 2);
    assert!(
        view.tasks[3].reason.contains("cancelled by"),
        "{}",
        view.tasks[3].reason
    );
    let again = rig.control.jobs().cancel(&rig.caller, id).await;
    assert!(matches!(again, Err(ControlError::Conflict(_))));
}

#[tokio::test]
async fn an_invalid_job_is_refused_at_once() {
    let rig = Rig::new().await;
    let new = new_job(JobAction::Start, JobOptions::default());
    let refused = rig.control.jobs().create(&rig.caller, new.clone()).await;
    assert!(
        matches!(refused, Err(ControlError::NotFound(_))),
        "no such business"
    );
    two_hosts(&rig).await;
    let nowhere = Selection::Scope(Scope {
        names: Some(vec!["no such".into()]),
        ..Scope::default()
    });
    let nothing = NewJob::of_business(
        BUSINESS,
        new.action,
        nowhere,
        new.scope,
        JobOptions::default(),
    );
    let refused = rig.control.jobs().create(&rig.caller, nothing).await;
    assert!(matches!(refused, Err(ControlError::Invalid(_))));
}

#[tokio::test]
async fn a_process_without_a_command_fails_alone() {
    let rig = Rig::new().await;
    let mut two = facts(&["10.0.0.1", "10.0.0.2"], &program("first", 1));
    Arc::make_mut(&mut two.processes[0].program).start_cmd = String::new();
    rig.control
        .topology()
        .import(&rig.caller, two, Origin::Imported, Apply::Really)
        .await
        .unwrap();
    let agents = [rig.agent("10.0.0.1").await, rig.agent("10.0.0.2").await];
    let id = create(&rig, JobAction::Start, JobOptions::default()).await;
    assert_eq!(answer_all(&agents, |_| Code::OK).await, ["first_1"]);
    let view = over(&rig, id).await;
    assert_eq!(view.tasks[0].code, Code(4_104_002));
    assert_eq!(view.tasks[1].status, JobStatus::Succeeded);
}

#[tokio::test]
async fn a_host_without_its_agent_fails_its_own_tasks() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let [first, second] = <[FakeAgent; 2]>::try_from(agents).ok().unwrap();
    drop(second);
    let options = JobOptions {
        isolation: model::job::Isolation::Host,
        ..JobOptions::default()
    };
    let id = create(&rig, JobAction::Start, options).await;
    let asked = answer_all(&[first], |_| Code::OK).await;
    assert_eq!(asked, ["first_1", "second_1"]);
    let view = over(&rig, id).await;
    assert_eq!(view.count(JobStatus::Succeeded), 2);
    let codes: Vec<i32> = view
        .tasks
        .iter()
        .filter(|task| task.status == JobStatus::Failed)
        .map(|task| task.code.0)
        .collect();
    assert_eq!(codes, [117, 4_103_003]);
}

#[tokio::test]
async fn a_wrong_clock_of_an_agent_blocks_no_task() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let options = JobOptions {
        pause_secs: 1,
        ..JobOptions::default()
    };
    let id = create(&rig, JobAction::Start, options).await;
    let asked = async {
        loop {
            for agent in &agents {
                for command in agent.received_commands().await {
                    let ahead = UnixMillis(crate::rig::START * 2);
                    let outcome = Outcome::plain(Code::OK, "success", ahead);
                    agent.answer(op_of(&command), outcome).await;
                }
            }
            rig.advance(Duration::from_secs(1));
        }
    };
    tokio::select! {
        view = over(&rig, id) => assert_eq!(view.count(JobStatus::Succeeded), 4),
        () = asked => {}
    }
}

#[tokio::test]
async fn a_missing_command_blocks_no_later_priority() {
    let rig = Rig::new().await;
    let mut two = facts(&["10.0.0.1"], &program("first", 1));
    Arc::make_mut(&mut two.processes[0].program).start_cmd = String::new();
    let second = model::topology::Program {
        priority: Some(1),
        ..program("second", 1)
    };
    two.processes.push(process(None, 0, &second));
    rig.control
        .topology()
        .import(&rig.caller, two, Origin::Imported, Apply::Really)
        .await
        .unwrap();
    let agents = [rig.agent("10.0.0.1").await];
    let id = create(&rig, JobAction::Start, JobOptions::default()).await;
    assert_eq!(answer_all(&agents, |_| Code::OK).await, ["second_1"]);
    let view = over(&rig, id).await;
    assert_eq!(view.tasks[0].code, Code(4_104_002));
    assert_eq!(view.tasks[1].status, JobStatus::Succeeded);
}

#[tokio::test]
async fn one_of_several_failed_tasks_can_be_retried() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::Start, JobOptions::default()).await;
    answer_all(&agents, |_| Code::CHECK_FAILED).await;
    let view = over(&rig, id).await;
    assert_eq!(view.count(JobStatus::Failed), 4);
    rig.advance(Duration::from_secs(1));
    let retried = rig.control.jobs().retry(&rig.caller, id, Some(vec![1, 77]));
    assert_eq!(retried.await.unwrap(), 1);
    assert_eq!(answer_all(&agents, |_| Code::OK).await.len(), 1);
    let view = over(&rig, id).await;
    assert_eq!(view.tasks[1].status, JobStatus::Succeeded);
    assert_eq!(view.job.status, JobStatus::Failed, "the others have failed");
}

#[tokio::test]
async fn a_leftover_on_an_earlier_host_can_only_be_stopped() {
    let rig = Rig::new().await;
    let mut moving = facts(&["10.0.0.1", "10.0.0.2"], &program("zone", 1));
    moving.processes.pop();
    moving.processes[0].id = Some(46);
    let import = |facts: model::topology::BusinessFacts| {
        rig.control
            .topology()
            .import(&rig.caller, facts, Origin::Imported, Apply::Really)
    };
    import(moving.clone()).await.unwrap();
    let agents = [rig.agent("10.0.0.1").await, rig.agent("10.0.0.2").await];
    let running = model::Status {
        state: model::State::Running,
        ..model::Status::default()
    };
    let name = crate::rig::full("GSEKIT_BIZ_2/zone_1");
    let report = wire::Report {
        statuses: vec![wire::ProcessStatus::new(&name, &running)],
    };
    agents[0].session.take(report.into()).await.unwrap();
    moving.processes[0].service = 1;
    import(moving).await.unwrap();
    let id = create(&rig, JobAction::Restart, JobOptions::default()).await;
    assert_eq!(answer_all(&agents[..1], |_| Code::OK).await, [""; 0]);
    assert_eq!(answer_all(&agents[1..], |_| Code::OK).await, ["zone_1"]);
    assert_eq!(over(&rig, id).await.tasks.len(), 1);
    let id = create(&rig, JobAction::Stop, JobOptions::default()).await;
    assert_eq!(answer_all(&agents[..1], |_| Code::OK).await, ["zone_1"]);
    assert_eq!(answer_all(&agents[1..], |_| Code::OK).await, ["zone_1"]);
    let view = over(&rig, id).await;
    let mut hosts: Vec<&str> = view
        .tasks
        .iter()
        .map(|task| task.label.bk_host_innerip.as_str())
        .collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["10.0.0.1", "10.0.0.2"]);
}

#[tokio::test]
async fn an_alias_that_is_no_name_is_operated_under_an_escaped_one() {
    let rig = Rig::new().await;
    let odd = facts(&["10.0.0.1"], &program("game:srv/1", 2));
    let difference = rig
        .control
        .topology()
        .import(&rig.caller, odd.clone(), Origin::Imported, Apply::Really)
        .await
        .unwrap();
    assert!(difference.troubles.is_empty(), "{:?}", difference.troubles);
    let agents = [rig.agent("10.0.0.1").await];
    let id = create(&rig, JobAction::Start, JobOptions::default()).await;
    let asked = answer_all(&agents, |_| Code::OK).await;
    assert_eq!(asked, ["game%3Asrv%2F1_1", "game%3Asrv%2F1_2"]);
    let view = over(&rig, id).await;
    let succeeded = ("game:srv/1", JobStatus::Succeeded);
    assert_eq!(statuses(&view), [succeeded, succeeded]);
    let again = rig
        .control
        .topology()
        .import(&rig.caller, odd, Origin::Imported, Apply::Really)
        .await
        .unwrap();
    assert_eq!((again.instances.new, again.instances.changed), (0, 0));
}

#[tokio::test]
async fn an_unregistered_process_fails_its_tasks_with_the_reason() {
    let rig = Rig::new().await;
    let mut bad = facts(&["10.0.0.1"], &program("gse_agent", 2));
    Arc::make_mut(&mut bad.processes[0].program).work_path = "relative".into();
    rig.control
        .topology()
        .import(&rig.caller, bad, Origin::Imported, Apply::Really)
        .await
        .unwrap();
    for action in [JobAction::Start, JobAction::Stop, JobAction::SetAuto] {
        let id = create(&rig, action, JobOptions::default()).await;
        let view = over(&rig, id).await;
        assert_eq!(view.count(JobStatus::Failed), 2, "{action:?}");
        for task in &view.tasks {
            assert_eq!(task.code, Code::NOT_REGISTERED);
            let reason = "this instance of the process is not registered: work_path: must be an absolute path";
            assert_eq!(task.reason, reason);
        }
    }
}
