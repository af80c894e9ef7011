//! Updates that roll: order, budget, the way back, and servers that end in the middle.

use std::time::Duration;

use control::{ControlError, HasDefinition, JobSelection, JobView, Mode, NewJob, NewUpdate};
use model::job::{Gate, JobAction, JobId, JobOptions, JobStatus};
use model::selector::NamePattern;
use model::version::VersionSource;
use model::{Code, Flag, Labels, Op, Outcome, ProcessState, Spec, State, Status, UnixMillis};
use testkit::fake_agent::FakeAgent;
use wire::Command;

use crate::jobs::over;
use crate::rig::{Rig, full, spec};

const HOSTS: [&str; 3] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
const NAME: &str = "web/a";

fn running(pid: i32) -> Status {
    Status {
        state: State::Running,
        process_state: ProcessState::Running,
        pid,
        ..Status::default()
    }
}

/// Three hosts, on which the process runs.
async fn fleet(rig: &Rig) -> Vec<FakeAgent> {
    rig.register(NAME, &HOSTS, "run a", Mode::Register).await;
    let mut agents = Vec::new();
    for (n, host) in HOSTS.into_iter().enumerate() {
        let agent = rig.agent(host).await;
        agent.reports(NAME, running(10 + n as i32)).await;
        agents.push(agent);
    }
    agents
}

fn update_to(spec: Spec, options: JobOptions) -> NewJob {
    let filter = fleet::Filter {
        processes: Some(vec![NamePattern::exactly(&full(NAME))]),
        ..fleet::Filter::default()
    };
    NewJob {
        update: Some(NewUpdate {
            process: full(NAME),
            spec,
            labels: Labels::default(),
            restores: None,
        }),
        ..crate::plain_jobs::job(JobAction::Update, filter, options)
    }
}

fn one_by_one() -> JobOptions {
    JobOptions {
        batch_size: Some(1),
        canary: Some(1),
        ..JobOptions::default()
    }
}

async fn begin(rig: &Rig, start_cmd: &str, options: JobOptions) -> JobId {
    let new = update_to(spec(start_cmd), options);
    let (id, n_tasks) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    assert_eq!(n_tasks, HOSTS.len());
    id
}

/// Executes the next command, which must be a restart.
async fn restarts(agent: &FakeAgent, code: Code) -> Command {
    let command = agent.next_command().await;
    assert_eq!(
        Op::from_number(i64::from(command.op_type)),
        Some(Op::Restart)
    );
    let outcome = Outcome::plain(code, "told", UnixMillis(1_700_000_000_000));
    agent.end(&command, outcome).await;
    command
}

async fn view(rig: &Rig, id: JobId) -> JobView {
    rig.control.jobs().get(&rig.caller, id).await.unwrap()
}

/// What each host has, with the number of its version.
async fn held(rig: &Rig, id: JobId) -> Vec<(HasDefinition, u32)> {
    let view = view(rig, id).await;
    let jobs = rig.control.jobs();
    let state = jobs.update_state(&rig.caller, &view).await.unwrap();
    let tasks = state.expect("it is an update").tasks;
    let each = tasks.into_iter().map(|held| {
        let (has, number) = held.expect("it is registered");
        (has, number.expect("its version is kept"))
    });
    each.collect()
}

/// The start command that each host has.
fn commands(rig: &Rig) -> Vec<String> {
    let fleet = rig.control.inspect_fleet();
    let name = fleet.name_id(&full(NAME)).unwrap();
    let each = HOSTS.into_iter().map(|host| {
        let host = fleet.host_id(&host.parse().unwrap()).unwrap();
        let row = fleet.process(host, name).unwrap();
        row.definition().spec.control.start_cmd.clone()
    });
    each.collect()
}

/// Number, source, job and hosts of each version, the newest first.
async fn history(rig: &Rig) -> Vec<(u32, VersionSource, Option<u32>, u32)> {
    let registry = rig.control.registry();
    let versions = registry.versions(&rig.caller, &full(NAME)).await.unwrap();
    let each = versions.iter().map(|listed| {
        let origin = &listed.version.row.origin;
        let job = origin.job.map(|job| job.0);
        (listed.version.number, origin.source, job, listed.n_hosts)
    });
    each.collect()
}

#[tokio::test]
async fn a_roll_makes_no_cycle_of_dependencies() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let after = |start_cmd: &str, name: &str| {
        let mut spec = spec(start_cmd);
        spec.after = serde_json::from_value(serde_json::json!([{"process": name}])).unwrap();
        spec
    };
    let jobs = rig.control.jobs();
    let new = update_to(after("run b", NAME), one_by_one());
    let refused = jobs.create(&rig.caller, new).await.unwrap_err();
    let ControlError::Invalid(invalid) = refused else {
        panic!("{refused}");
    };
    assert_eq!(invalid.field, "update.spec.after");
    // A dry run says so before.
    let new = update_to(after("run b", NAME), one_by_one());
    let refusal = rig.control.jobs().plan(&rig.caller, new).unwrap_err();
    let ControlError::Invalid(planned) = refusal else {
        panic!("{refusal}");
    };
    assert_eq!(planned, invalid);
    assert!(invalid.rule.contains("web/a → web/a"), "{}", invalid.rule);
    assert_eq!(commands(&rig), ["run a"; 3]);

    let new = update_to(after("run b", "web/db"), one_by_one());
    let (id, _) = jobs.create(&rig.caller, new).await.unwrap();
    agents[0].next_command().await;
    assert_eq!(commands(&rig), ["run b", "run a", "run a"]);
    // One host has it: the way back is a cycle.
    let request = control::Registration {
        name: full("web/db"),
        labels: Labels::default(),
        spec: after("run db", NAME),
        hosts: crate::rig::asked(&["10.0.0.2"]),
        suppliers: Default::default(),
        mode: Mode::Register,
        restores: None,
    };
    let refused = rig.control.registry().register(&rig.caller, request).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("web/db → web/a → web/db"), "{message}");
    jobs.cancel(&rig.caller, id).await.unwrap();
}

#[tokio::test]
async fn a_dry_run_shows_the_commands_that_the_update_brings() {
    let rig = Rig::new().await;
    let _agents = fleet(&rig).await;
    let new = update_to(spec("run b"), one_by_one());
    let plan = rig.control.jobs().plan(&rig.caller, new).unwrap();
    assert_eq!(plan.count, HOSTS.len() as u64);
    assert_eq!(plan.commands, [("SIGTERM; run b".to_owned(), 3)]);
    assert_eq!(commands(&rig), ["run a"; 3], "nothing is changed");
}

#[tokio::test]
async fn a_roll_changes_one_host_after_the_other() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let id = begin(&rig, "run b", one_by_one()).await;
    assert_eq!(
        history(&rig).await[0].1,
        VersionSource::Roll,
        "it is asked for before the first host has it"
    );
    for (n, agent) in agents.iter().enumerate() {
        let command = agent.next_command().await;
        let mut expected = vec![(HasDefinition::New, 2); n + 1];
        expected.resize(HOSTS.len(), (HasDefinition::Old, 1));
        assert_eq!(held(&rig, id).await, expected);
        let under_way = view(&rig, id).await.count(JobStatus::Running);
        assert_eq!(under_way, 1, "one at a time");
        agent.answer_ok(&command, None, None).await;
    }
    let view = over(&rig, id).await;
    assert_eq!(view.count(JobStatus::Succeeded), 3, "{:?}", view.tasks);
    assert_eq!(commands(&rig), ["run b"; 3]);
    assert_eq!(
        history(&rig).await,
        [
            (2, VersionSource::Roll, Some(id.0), 3),
            (1, VersionSource::Register, None, 0)
        ]
    );
}

#[tokio::test]
async fn only_what_runs_and_needs_it_is_restarted() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let stopped = Status {
        process_state: ProcessState::Stopped,
        ..Status::default()
    };
    agents[1].reports(NAME, stopped).await;
    let id = begin(&rig, "run b", JobOptions::default()).await;
    restarts(&agents[0], Code::OK).await;
    restarts(&agents[2], Code::OK).await;
    let ended = over(&rig, id).await;
    assert_eq!(ended.count(JobStatus::Succeeded), 3, "{:?}", ended.tasks);
    assert_eq!(ended.tasks[1].op, None, "it does not run");
    assert_eq!(commands(&rig), ["run b"; 3]);

    // A limit applies to a run at once.
    let mut limited = spec("run b");
    limited.resource.mem = 20.0;
    let new = update_to(limited.clone(), JobOptions::default());
    let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    let ended = over(&rig, id).await;
    assert_eq!(ended.count(JobStatus::Succeeded), 3, "{:?}", ended.tasks);
    assert!(ended.tasks.iter().all(|task| task.op.is_none()));

    // The same again is nothing to do, and no version.
    let n_versions = history(&rig).await.len();
    let new = update_to(limited, JobOptions::default());
    let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    let ended = over(&rig, id).await;
    assert_eq!(ended.count(JobStatus::Ignored), 3, "{:?}", ended.tasks);
    assert_eq!(history(&rig).await.len(), n_versions);
}

#[tokio::test]
async fn a_gate_judges_also_what_was_not_restarted() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let mut limited = spec("run a");
    limited.resource.mem = 1.0;
    let options = JobOptions {
        gate: Some(Gate::parse("up:60s").unwrap()),
        ..one_by_one()
    };
    let new = update_to(limited, options);
    let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    let is_seen = async || {
        let gate = view(&rig, id).await.tasks[0].gate;
        gate.is_some_and(|gate| gate.seen.is_some())
    };
    while !is_seen().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let died = Status {
        process_state: ProcessState::Backoff,
        ..Status::default()
    };
    agents[0].reports(NAME, died).await;
    let ended = over(&rig, id).await;
    let reason = &ended.tasks[0].reason;
    assert!(reason.contains("it did not stay up for 60 s"), "{reason}");
    assert_eq!(ended.tasks[2].code, Code(4_103_003), "nothing more began");
}

#[tokio::test]
async fn a_canary_that_fails_is_taken_back() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let options = JobOptions {
        max_failures: 2,
        revert: true,
        ..one_by_one()
    };
    let id = begin(&rig, "run bad", options).await;
    restarts(&agents[0], Code::COMMAND_FAILED).await;
    let ended = over(&rig, id).await;
    assert_eq!(ended.job.status, JobStatus::Failed);
    let revert = ended.job.update.as_ref().unwrap().reverted_by;
    let revert = revert.expect("it is taken back");
    let before = view(&rig, revert).await;
    assert_eq!(before.tasks.len(), 1, "only what was changed");
    assert_eq!(before.job.update.as_ref().unwrap().reverts, Some(id));
    restarts(&agents[0], Code::OK).await;
    let back = over(&rig, revert).await;
    assert_eq!(back.job.status, JobStatus::Succeeded, "{:?}", back.tasks);
    assert_eq!(commands(&rig), ["run a"; 3]);
    assert_eq!(
        history(&rig).await,
        [
            (3, VersionSource::Revert, Some(revert.0), 3),
            (2, VersionSource::Roll, Some(id.0), 0),
            (1, VersionSource::Register, None, 0)
        ]
    );
    assert_eq!(held(&rig, id).await[0], (HasDefinition::Old, 3));
    for agent in &agents[1..] {
        assert_eq!(agent.received_commands().await.len(), 0);
    }
    let again = rig.control.jobs().retry(&rig.caller, id, None).await;
    assert!(matches!(again, Err(ControlError::Conflict(_))), "{again:?}");
}

#[tokio::test]
async fn failures_within_the_budget_are_not_taken_back() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let options = JobOptions {
        batch_size: Some(1),
        max_failures: 1,
        revert: true,
        ..JobOptions::default()
    };
    let id = begin(&rig, "run b", options).await;
    restarts(&agents[0], Code::OK).await;
    restarts(&agents[1], Code::COMMAND_FAILED).await;
    restarts(&agents[2], Code::OK).await;
    let ended = over(&rig, id).await;
    assert_eq!(ended.job.update.as_ref().unwrap().reverted_by, None);
    assert_eq!(commands(&rig), ["run b"; 3]);

    // One more, and all of them go back to what each had.
    let registered = rig
        .register(NAME, &HOSTS[..1], "run special", Mode::Update)
        .await;
    assert_eq!(registered, [0]);
    let options = JobOptions {
        batch_size: Some(3),
        revert: true,
        ..JobOptions::default()
    };
    let id = begin(&rig, "run c", options).await;
    restarts(&agents[0], Code::OK).await;
    restarts(&agents[1], Code::OK).await;
    restarts(&agents[2], Code::COMMAND_FAILED).await;
    let ended = over(&rig, id).await;
    let revert = ended.job.update.as_ref().unwrap().reverted_by.unwrap();
    for agent in &agents {
        restarts(agent, Code::OK).await;
    }
    over(&rig, revert).await;
    assert_eq!(commands(&rig), ["run special", "run b", "run b"]);
}

#[tokio::test]
async fn a_host_whose_agent_is_away_is_not_changed() {
    let rig = Rig::new().await;
    let mut agents = fleet(&rig).await;
    drop(agents.remove(1));
    let options = JobOptions {
        max_failures: 1,
        ..JobOptions::default()
    };
    let id = begin(&rig, "run b", options).await;
    restarts(&agents[0], Code::OK).await;
    restarts(&agents[1], Code::OK).await;
    let ended = over(&rig, id).await;
    assert_eq!(ended.tasks[1].code, Code::NO_CONNECTION);
    assert_eq!(commands(&rig), ["run b", "run a", "run b"]);
    assert_eq!(held(&rig, id).await[1], (HasDefinition::Old, 1));
}

#[tokio::test]
async fn a_revert_reaches_also_a_host_that_went_away() {
    let rig = Rig::new().await;
    let mut agents = fleet(&rig).await;
    let options = JobOptions {
        revert: true,
        ..JobOptions::default()
    };
    let id = begin(&rig, "run bad", options).await;
    restarts(&agents[1], Code::OK).await;
    restarts(&agents[2], Code::OK).await;
    let command = agents[0].next_command().await;
    let failed = Outcome::plain(Code::COMMAND_FAILED, "told", UnixMillis(1));
    agents[0].end(&command, failed).await;
    drop(agents.remove(0));
    let ended = over(&rig, id).await;
    let revert = ended.job.update.as_ref().unwrap().reverted_by.unwrap();
    for agent in &agents {
        restarts(agent, Code::OK).await;
    }
    let back = over(&rig, revert).await;
    assert_eq!(back.tasks[0].code, Code::NO_CONNECTION, "{:?}", back.tasks);
    assert_eq!(
        commands(&rig),
        ["run a"; 3],
        "what is wanted is right again"
    );
}

#[tokio::test]
async fn a_roll_and_its_revert_go_on_after_restarts_of_the_server() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let options = JobOptions {
        batch_size: Some(1),
        revert: true,
        ..JobOptions::default()
    };
    let id = begin(&rig, "run bad", options).await;
    restarts(&agents[0], Code::OK).await;
    // The second host has its new definition, and its restart is under way.
    let command = agents[1].next_command().await;
    drop(agents);
    let rig = rig.restarted().await;
    let connect = |rig: &Rig| HOSTS.map(|host| rig.connect(host.parse().unwrap(), 0));
    let agents = connect(&rig);
    let again = agents[1].next_command().await;
    assert_eq!(again.op, command.op, "the same operation, not another one");
    let failed = Outcome::plain(Code::COMMAND_FAILED, "told", UnixMillis(1));
    agents[1].end(&again, failed).await;
    let ended = over(&rig, id).await;
    let revert = ended.job.update.as_ref().unwrap().reverted_by.unwrap();
    restarts(&agents[0], Code::OK).await;
    let command = agents[1].next_command().await;
    drop(agents);
    let rig = rig.restarted().await;
    let agents = connect(&rig);
    let again = restarts(&agents[1], Code::OK).await;
    assert_eq!(again.op, command.op);
    let back = over(&rig, revert).await;
    assert_eq!(back.count(JobStatus::Succeeded), 2, "{:?}", back.tasks);
    assert_eq!(commands(&rig), ["run a"; 3]);
    assert_eq!(agents[2].received_commands().await.len(), 0);
}

#[tokio::test]
async fn a_roll_can_be_taken_back_by_hand() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let jobs = rig.control.jobs();
    let id = begin(&rig, "run b", one_by_one()).await;
    restarts(&agents[0], Code::OK).await;
    let under_way = agents[1].next_command().await;
    // While it goes on: nothing more begins, and what is under way ends first.
    assert_eq!(jobs.revert(&rig.caller, id).await.unwrap(), None);
    agents[1].answer_ok(&under_way, None, None).await;
    let ended = over(&rig, id).await;
    assert_eq!(ended.tasks[2].code, Code(4_103_004), "{:?}", ended.tasks);
    let revert = ended.job.update.as_ref().unwrap().reverted_by.unwrap();
    for agent in &agents[..2] {
        restarts(agent, Code::OK).await;
    }
    over(&rig, revert).await;
    assert_eq!(commands(&rig), ["run a"; 3]);
    let twice = jobs.revert(&rig.caller, id).await;
    assert!(matches!(twice, Err(ControlError::Conflict(_))), "{twice:?}");

    // One that is over; the way back can be taken back, too.
    let over_again = jobs.revert(&rig.caller, revert).await.unwrap().unwrap();
    for agent in &agents[..2] {
        restarts(agent, Code::OK).await;
    }
    over(&rig, over_again).await;
    assert_eq!(commands(&rig), ["run b", "run b", "run a"]);
}

#[tokio::test]
async fn a_cancelled_roll_leaves_hosts_as_they_are_and_a_retry_goes_on() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let jobs = rig.control.jobs();
    let options = JobOptions {
        revert: true,
        ..one_by_one()
    };
    let id = begin(&rig, "run b", options).await;
    restarts(&agents[0], Code::OK).await;
    let under_way = agents[1].next_command().await;
    jobs.cancel(&rig.caller, id).await.unwrap();
    let failed = Outcome::plain(Code::COMMAND_FAILED, "told", UnixMillis(1));
    agents[1].end(&under_way, failed).await;
    let ended = over(&rig, id).await;
    assert_eq!(ended.job.update.as_ref().unwrap().reverted_by, None);
    let expected = [HasDefinition::New, HasDefinition::New, HasDefinition::Old];
    let has: Vec<HasDefinition> = held(&rig, id)
        .await
        .into_iter()
        .map(|(has, _)| has)
        .collect();
    assert_eq!(has, expected);
    assert_eq!(jobs.retry(&rig.caller, id, None).await.unwrap(), 2);
    // The definition is there already; its process is restarted all the same.
    restarts(&agents[1], Code::OK).await;
    restarts(&agents[2], Code::OK).await;
    let ended = over(&rig, id).await;
    assert_eq!(ended.job.status, JobStatus::Succeeded, "{:?}", ended.tasks);
    assert_eq!(commands(&rig), ["run b"; 3]);
}

#[tokio::test]
async fn an_update_refuses_what_it_cannot_do() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    rig.register("web/other", &HOSTS, "run", Mode::Register)
        .await;
    let jobs = rig.control.jobs();
    let new = || update_to(spec("run b"), one_by_one());
    let everything = JobSelection::Processes {
        filter: Box::new(crate::plain_jobs::filter("web")),
        except: Vec::new(),
    };
    let reverts = JobOptions {
        revert: true,
        ..JobOptions::default()
    };
    let restart = NewJob {
        action: JobAction::Restart,
        ..new()
    };
    for (refused, field) in [
        (
            NewJob {
                selection: everything,
                ..new()
            },
            "filter",
        ),
        (
            NewJob {
                update: None,
                ..new()
            },
            "update",
        ),
        (restart.clone(), "update"),
        (
            NewJob {
                update: None,
                options: reverts,
                ..restart
            },
            "options.revert",
        ),
    ] {
        match jobs.create(&rig.caller, refused).await {
            Err(ControlError::Invalid(invalid)) => assert_eq!(invalid.field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let n_versions = history(&rig).await.len();
    assert_eq!(n_versions, 1, "a refused request asks for no version");
    // Two rolls of one process would take down more than either's batch.
    begin(&rig, "run b", one_by_one()).await;
    agents[0].next_command().await;
    let second = jobs.create(&rig.caller, new()).await;
    assert!(
        matches!(second, Err(ControlError::Conflict(_))),
        "{second:?}"
    );
    let restart = crate::plain_jobs::job(
        JobAction::Restart,
        crate::plain_jobs::filter("web"),
        JobOptions::default(),
    );
    let (plain, _) = jobs.create(&rig.caller, restart).await.unwrap();
    let no_update = jobs.revert(&rig.caller, plain).await;
    assert!(
        matches!(no_update, Err(ControlError::Conflict(_))),
        "{no_update:?}"
    );
}

#[tokio::test]
async fn versions_tell_who_asked_for_what() {
    let rig = Rig::new().await;
    rig.register(NAME, &HOSTS[..2], "run a", Mode::Register)
        .await;
    // One more host with the same definition is no version, and neither is the same again.
    rig.register(NAME, &HOSTS[2..], "run a", Mode::Register)
        .await;
    rig.register(NAME, &HOSTS, "run a", Mode::Update).await;
    assert_eq!(history(&rig).await, [(1, VersionSource::Register, None, 3)]);
    rig.register(NAME, &HOSTS[..1], "run b", Mode::Update).await;
    rig.register(NAME, &HOSTS[..1], "run a", Mode::Update).await;
    assert_eq!(
        history(&rig).await,
        [
            (3, VersionSource::Update, None, 3),
            (2, VersionSource::Update, None, 0),
            (1, VersionSource::Register, None, 0)
        ]
    );
    // A refused registration is none.
    rig.register(NAME, &HOSTS[..1], "run c", Mode::Register)
        .await;
    assert_eq!(history(&rig).await.len(), 3);
    let flag = rig.flag_and_managed(NAME, HOSTS[0]).0;
    assert_eq!(flag, Flag::Stopped);
}
