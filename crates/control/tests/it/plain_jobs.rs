//! Jobs over registered processes, without a business.

use control::{ControlError, JobSelection, Mode, NewJob};
use fleet::Filter;
use model::access::{Caller, Grant, Role};
use model::job::{BatchSize, Isolation, JobAction, JobArea, JobOptions, JobStatus, JobTarget};
use model::{Code, Namespace};
use testkit::fake_agent::FakeAgent;

use crate::jobs::{answer_all, over, until_ended};
use crate::rig::Rig;

const HOSTS: [&str; 3] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];

/// `web/a` and `web/b` on three hosts, `db/c` on one, and all agents.
async fn fleet(rig: &Rig) -> Vec<FakeAgent> {
    rig.register("web/a", &HOSTS, "run a", Mode::Register).await;
    rig.register("web/b", &HOSTS, "run b", Mode::Register).await;
    rig.register("db/c", &HOSTS[..1], "", Mode::Register).await;
    let mut agents = Vec::new();
    for host in HOSTS {
        agents.push(rig.agent(host).await);
    }
    agents
}

pub(crate) fn filter(namespace: &str) -> Filter {
    Filter {
        namespaces: Some(vec![Namespace::parse(namespace).unwrap()]),
        ..Filter::default()
    }
}

pub(crate) fn job(action: JobAction, filter: Filter, options: JobOptions) -> NewJob {
    NewJob {
        action,
        selection: JobSelection::Processes {
            filter: Box::new(filter),
            except: Vec::new(),
        },
        field: "filter",
        scope: serde_json::json!({"filter": {}}),
        options,
        batch: None,
        expect_count: None,
        update: None,
    }
}

fn except(new: NewJob, excepted: &[&str]) -> NewJob {
    let JobSelection::Processes { filter, .. } = new.selection else {
        panic!("a job over registered processes")
    };
    NewJob {
        selection: JobSelection::Processes {
            filter,
            except: excepted.iter().map(|text| text.parse().unwrap()).collect(),
        },
        ..new
    }
}

#[tokio::test]
async fn batches_of_processes_run_one_after_the_other() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let new = NewJob {
        batch: Some(BatchSize::Percent(50)),
        ..job(JobAction::Start, filter("web"), JobOptions::default())
    };
    let (id, n_tasks) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    assert_eq!(n_tasks, 6);
    let first: Vec<_> = [
        agents[0].next_command().await,
        agents[1].next_command().await,
        agents[2].next_command().await,
    ]
    .into();
    let view = rig.control.jobs().get(&rig.caller, id).await.unwrap();
    assert_eq!(view.job.options.batch_size, Some(3));
    assert_eq!(view.count(JobStatus::Running), 3);
    let area = JobArea::Namespaces(vec![Namespace::parse("web").unwrap()]);
    assert_eq!(view.job.area, area);
    assert!(matches!(view.tasks[0].target, JobTarget::Registered { .. }));
    for (agent, command) in agents.iter().zip(&first) {
        agent.answer_ok(command, None, None).await;
    }
    assert_eq!(answer_all(&agents, |_| Code::OK).await.len(), 3);
    let view = over(&rig, id).await;
    assert_eq!(
        (view.job.status, view.count(JobStatus::Succeeded)),
        (JobStatus::Succeeded, 6)
    );
}

#[tokio::test]
async fn a_failure_stops_later_batches_and_a_retry_goes_on() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let options = JobOptions {
        batch_size: Some(2),
        ..JobOptions::default()
    };
    let new = job(JobAction::Restart, filter("web"), options);
    let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    answer_all(&agents, |_| Code::CHECK_FAILED).await;
    let view = over(&rig, id).await;
    assert_eq!(view.count(JobStatus::Failed), 6);
    let blocked = &view.tasks[5].reason;
    assert!(
        blocked.starts_with("not begun, because an earlier task failed: web/a on 0:10.0.0.1: "),
        "{blocked}"
    );
    let n_again = rig
        .control
        .jobs()
        .retry(&rig.caller, id, None)
        .await
        .unwrap();
    assert_eq!(n_again, 6);
    assert_eq!(answer_all(&agents, |_| Code::OK).await.len(), 6);
    assert_eq!(over(&rig, id).await.job.status, JobStatus::Succeeded);
}

#[tokio::test]
async fn a_job_goes_on_after_the_server_was_killed_and_each_target_ends_once() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let options = JobOptions {
        batch_size: Some(1),
        isolation: Isolation::Host,
        ..JobOptions::default()
    };
    let new = job(JobAction::Stop, filter("web"), options);
    let (id, _) = rig.control.jobs().create(&rig.caller, new).await.unwrap();
    let command = agents[0].next_command().await;
    agents[0].answer_ok(&command, None, None).await;
    until_ended(&rig, id, 1).await;
    drop(agents);
    let rig = rig.restarted().await;
    let agents: Vec<FakeAgent> = HOSTS
        .iter()
        .map(|host| rig.connect(host.parse().unwrap(), 0))
        .collect();
    let mut asked = answer_all(&agents, |_| Code::OK).await;
    asked.sort();
    assert_eq!(
        asked,
        ["a", "a", "b", "b", "b"],
        "the first is not asked again"
    );
    assert_eq!(over(&rig, id).await.count(JobStatus::Succeeded), 6);
}

#[tokio::test]
async fn exceptions_and_the_expected_count_are_checked() {
    let rig = Rig::new().await;
    let _agents = fleet(&rig).await;
    let jobs = rig.control.jobs();
    let new = || job(JobAction::Start, filter("web"), JobOptions::default());
    let counted = |expect_count| NewJob {
        expect_count: Some(expect_count),
        ..new()
    };
    let refused = jobs.create(&rig.caller, counted(5)).await.unwrap_err();
    assert!(
        matches!(
            refused,
            ControlError::CountChanged {
                expected: 5,
                count: 6
            }
        ),
        "{refused}"
    );
    let refused = jobs.create(&rig.caller, except(new(), &["db/c@10.0.0.1"]));
    let refused = refused.await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "except: names db/c@0:10.0.0.1, which is not among the selected processes"
    );
    let nothing = jobs.create(
        &rig.caller,
        job(JobAction::Start, filter("none"), JobOptions::default()),
    );
    assert_eq!(
        nothing.await.unwrap_err().to_string(),
        "filter: selects no process"
    );
    for (action, options, field) in [
        (JobAction::Release, JobOptions::default(), "action"),
        (
            JobAction::Start,
            JobOptions {
                isolation: Isolation::Set,
                ..JobOptions::default()
            },
            "options.isolation",
        ),
    ] {
        let refused = jobs
            .create(&rig.caller, job(action, filter("web"), options))
            .await;
        let Err(ControlError::Invalid(invalid)) = refused else {
            panic!("{action:?} is accepted")
        };
        assert_eq!(invalid.field, field);
    }
    let new = NewJob {
        expect_count: Some(4),
        ..except(new(), &["web/a@10.0.0.1", "web/b@0:10.0.0.3"])
    };
    assert_eq!(jobs.create(&rig.caller, new).await.unwrap().1, 4);
}

#[tokio::test]
async fn a_job_belongs_to_its_namespaces() {
    let rig = Rig::new().await;
    let _agents = fleet(&rig).await;
    let jobs = rig.control.jobs();
    let namespace = |name: &str| vec![Namespace::parse(name).unwrap()];
    let grants = [
        Grant::new(Role::Viewer, namespace("db"), Vec::new()).unwrap(),
        Grant::new(Role::Operator, namespace("web"), Vec::new()).unwrap(),
    ];
    let web = Caller::system().with_grants(&grants);
    let everything = job(JobAction::Start, Filter::default(), JobOptions::default());
    let refused = jobs.create(&web, everything.clone()).await.unwrap_err();
    assert!(matches!(refused, ControlError::Forbidden(_)), "{refused}");
    // A dry run says which processes are out of reach.
    let plan = jobs.plan(&web, everything).unwrap();
    assert_eq!(plan.count, 7);
    let role = plan
        .blocked
        .iter()
        .find(|group| group.reason.as_str() == "role")
        .unwrap();
    assert_eq!(role.count, 1);

    let (own, _) = jobs
        .create(
            &web,
            job(JobAction::Start, filter("web"), JobOptions::default()),
        )
        .await
        .unwrap();
    let (both, _) = jobs
        .create(
            &rig.caller,
            job(JobAction::Stop, Filter::default(), JobOptions::default()),
        )
        .await
        .unwrap();
    jobs.get(&web, both).await.unwrap();
    for refused in [jobs.pause(&web, both).await, jobs.cancel(&web, both).await] {
        assert!(matches!(refused, Err(ControlError::Forbidden(_))));
    }
    let stranger = Caller::system().with_grants(&grants[..1]);
    assert!(matches!(
        jobs.get(&stranger, own).await,
        Err(ControlError::Forbidden(_))
    ));
    let page = store::JobPage {
        limit: 10,
        ..store::JobPage::default()
    };
    let listed = jobs.list(&stranger, &page).await.unwrap();
    assert_eq!(
        listed.len(),
        0,
        "each job has a namespace that the caller may not see"
    );
    assert_eq!(jobs.list(&web, &page).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_plan_tells_what_would_happen_and_changes_nothing() {
    let rig = Rig::new().await;
    let mut agents = fleet(&rig).await;
    drop(agents.pop());
    let jobs = rig.control.jobs();
    let before = rig.control.figures().revision;
    let new = except(
        job(JobAction::Start, Filter::default(), JobOptions::default()),
        &["web/b@10.0.0.2"],
    );
    let plan = jobs.plan(&rig.caller, new).unwrap();
    assert_eq!((plan.count, plan.n_hosts), (6, 3));
    let namespaces: Vec<(String, u64)> = plan
        .namespaces
        .iter()
        .map(|(namespace, count)| (namespace.to_string(), *count))
        .collect();
    assert_eq!(namespaces, [("web".to_owned(), 5), ("db".to_owned(), 1)]);
    let blocked: Vec<(&str, u64)> = plan
        .blocked
        .iter()
        .map(|group| (group.reason.as_str(), group.count))
        .collect();
    assert_eq!(blocked, [("agent_away", 2), ("no_command", 1)]);
    assert_eq!(plan.blocked[0].hosts, ["10.0.0.3".parse().unwrap()]);
    assert_eq!(
        plan.commands,
        [("run a".to_owned(), 3), ("run b".to_owned(), 2)]
    );
    assert_eq!(
        plan.sample[0],
        ("web/a".parse().unwrap(), "10.0.0.1".parse().unwrap())
    );
    assert_eq!(plan.sample.len(), 5);
    let nothing = jobs.plan(
        &rig.caller,
        job(JobAction::Start, filter("none"), JobOptions::default()),
    );
    assert_eq!(nothing.unwrap(), control::OperationPlan::default());
    assert_eq!(rig.control.figures().revision, before);
}
