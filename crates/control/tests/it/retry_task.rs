//! Failed targets of a task again, and lists of tasks by what they did.

use std::collections::BTreeSet;

use control::{AuditFilter, ControlError, Mode};
use model::access::{Caller, Grant, Role};
use model::{Code, Namespace, Op, Outcome, UnixMillis};
use store::TaskPage;

use crate::rig::Rig;

const HOSTS: [&str; 3] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];

#[tokio::test]
async fn a_retry_is_a_new_task_with_the_failed_targets() {
    let rig = Rig::new().await;
    rig.register("web/a", &HOSTS, "run", Mode::Register).await;
    let agents = [rig.agent(HOSTS[0]).await, rig.agent(HOSTS[1]).await];
    let task = rig.operate("web/a", Op::Restart, &HOSTS).await;
    agents[0].end_well(model::Flag::Running, false).await;
    let command = agents[1].next_command().await;
    let operations = rig.control.operations();
    // 10.0.0.3 failed at once; a target under way is not repeated.
    let (retry, n_targets) = operations.retry(&rig.caller, task, None).await.unwrap();
    assert_eq!(n_targets, 1);
    assert_eq!(rig.ended(retry).await, [117]);

    let failed = Outcome::plain(Code::COMMAND_FAILED, "no", UnixMillis(5));
    agents[1].end(&command, failed).await;
    assert_eq!(rig.ended(task).await, [0, 65535, 117]);
    let chosen = BTreeSet::from([0, 1]);
    let (retry, n_targets) = operations
        .retry(&rig.caller, task, Some(&chosen))
        .await
        .unwrap();
    assert_eq!(n_targets, 1, "the first target did not fail");
    agents[1].end_well(model::Flag::Running, false).await;
    assert_eq!(rig.ended(retry).await, [0]);
    let view = operations.task(&rig.caller, retry).await.unwrap();
    assert_eq!(view.retries, Some(task));
    assert_eq!(view.targets[0].op, Op::Restart);
    assert_eq!(view.targets[0].host, Some(HOSTS[1].parse().unwrap()));

    let filter = AuditFilter {
        action: Some("retry_task".into()),
        ..AuditFilter::default()
    };
    let audit = rig.control.access().audit(&rig.caller, &filter, 1, None);
    let line = audit.await.unwrap().lines.remove(0).1;
    assert_eq!(line.object, format!("task {task}: 1 failed targets again"));
    assert_eq!(line.detail, format!("{retry} on 10.0.0.2"));
    for (task, positions) in [(retry, None), (task, Some(BTreeSet::from([0])))] {
        let refused = operations
            .retry(&rig.caller, task, positions.as_ref())
            .await;
        assert!(matches!(refused, Err(ControlError::Conflict(_))));
    }
    // It survives a restart.
    let rig = rig.restarted().await;
    let view = rig.control.operations().task(&rig.caller, retry).await;
    assert_eq!(view.unwrap().retries, Some(task));
}

#[tokio::test]
async fn a_retry_needs_the_permission_to_operate() {
    let rig = Rig::new().await;
    rig.register("web/a", &HOSTS, "run", Mode::Register).await;
    let task = rig.operate("web/a", Op::Start, &HOSTS).await;
    let web = vec![Namespace::parse("web").unwrap()];
    let viewer = Grant::new(Role::Viewer, web, Vec::new()).unwrap();
    let viewer = Caller::system().with_grants(&[viewer]);
    let refused = rig.control.operations().retry(&viewer, task, None).await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));
}

#[tokio::test]
async fn a_caller_sees_the_tasks_of_its_namespaces() {
    let rig = Rig::new().await;
    let web = rig.operate("web/a", Op::Start, &HOSTS[..1]).await;
    let db = rig.operate("db/a", Op::Stop, &HOSTS[..1]).await;
    let grant = Grant::new(
        Role::Viewer,
        vec![Namespace::parse("web").unwrap()],
        Vec::new(),
    );
    let viewer = Caller {
        user: "eve".into(),
        ..Caller::system().with_grants(&[grant.unwrap()])
    };
    let page = || TaskPage {
        limit: 10,
        ..TaskPage::default()
    };
    let listed = async |caller: &Caller, page: TaskPage| {
        let tasks = rig.control.operations().tasks(caller, page).await?;
        let ids = tasks.into_iter().map(|summary| summary.task.id);
        Ok::<_, ControlError>(ids.collect::<Vec<_>>())
    };
    assert_eq!(listed(&rig.caller, page()).await.unwrap(), [db, web]);
    assert_eq!(listed(&viewer, page()).await.unwrap(), [web]);
    let stops = TaskPage {
        op: Some(Op::Stop),
        ..page()
    };
    assert_eq!(listed(&rig.caller, stops).await.unwrap(), [db]);
    let hidden = TaskPage {
        process: Some("db/a".parse().unwrap()),
        ..page()
    };
    assert!(matches!(
        listed(&viewer, hidden).await,
        Err(ControlError::Forbidden(_))
    ));
}
