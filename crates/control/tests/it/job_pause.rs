//! Pausing and resuming jobs.

use control::{Batch, ControlError};
use model::Code;
use model::job::{JobAction, JobId, JobOptions, JobStatus};
use store::JobPage;

use crate::jobs::{answer_all, create, over, two_hosts, until_ended};
use crate::rig::Rig;

fn one_by_one() -> JobOptions {
    JobOptions {
        batch_size: Some(1),
        ..JobOptions::default()
    }
}

async fn batch(rig: &Rig, id: JobId) -> Option<(u32, u32)> {
    let view = rig.control.jobs().get(&rig.caller, id).await.unwrap();
    let page = JobPage {
        limit: 1,
        ..JobPage::default()
    };
    let listed = rig.control.jobs().list(&rig.caller, &page).await.unwrap();
    assert_eq!(listed[0].batch, view.batch(), "the list shows the same");
    view.batch().map(|Batch { number, of }| (number, of))
}

#[tokio::test]
async fn a_paused_job_begins_nothing_more_until_it_is_resumed() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let jobs = rig.control.jobs();
    let id = create(&rig, JobAction::ForceStop, one_by_one()).await;
    let command = agents[0].next_command().await;
    assert_eq!(batch(&rig, id).await, Some((1, 4)));
    jobs.pause(&rig.caller, id).await.unwrap();
    // What is under way ends, and nothing follows.
    agents[0].answer_ok(&command, None, None).await;
    until_ended(&rig, id, 1).await;
    assert_eq!(answer_all(&agents, |_| Code::OK).await, [""; 0]);
    let view = jobs.get(&rig.caller, id).await.unwrap();
    assert_eq!(view.job.paused_by, "system");
    assert_eq!(view.count(JobStatus::Pending), 3);
    // A second pause changes nothing.
    jobs.pause(&rig.caller, id).await.unwrap();
    jobs.resume(&rig.caller, id).await.unwrap();
    jobs.resume(&rig.caller, id).await.unwrap();
    assert_eq!(answer_all(&agents, |_| Code::OK).await.len(), 3);
    let view = over(&rig, id).await;
    assert_eq!(
        (view.job.status, view.job.paused_by.as_str()),
        (JobStatus::Succeeded, "")
    );
    assert_eq!(batch(&rig, id).await, None);
    for refused in [
        jobs.pause(&rig.caller, id).await,
        jobs.resume(&rig.caller, id).await,
    ] {
        assert!(matches!(refused, Err(ControlError::Conflict(_))));
    }
}

#[tokio::test]
async fn a_pause_survives_a_restart_and_another_replica_resumes() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::ForceStop, one_by_one()).await;
    let command = agents[0].next_command().await;
    rig.control.jobs().pause(&rig.caller, id).await.unwrap();
    agents[0].answer_ok(&command, None, None).await;
    until_ended(&rig, id, 1).await;
    drop(agents);
    let rig = rig.restarted().await;
    let agents = [
        rig.connect("10.0.0.1".parse().unwrap(), 0),
        rig.connect("10.0.0.2".parse().unwrap(), 0),
    ];
    assert_eq!(answer_all(&agents, |_| Code::OK).await, [""; 0]);
    let other = rig.another(2).await;
    let view = other.control.jobs().get(&other.caller, id).await.unwrap();
    assert_eq!(view.job.paused_by, "system");
    other
        .control
        .jobs()
        .resume(&other.caller, id)
        .await
        .unwrap();
    rig.control.replicas().catch_up().await;
    assert_eq!(answer_all(&agents, |_| Code::OK).await.len(), 3);
    assert_eq!(over(&rig, id).await.count(JobStatus::Succeeded), 4);
}

#[tokio::test]
async fn a_failure_while_paused_gives_nothing_up_until_the_job_is_resumed() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::ForceStop, one_by_one()).await;
    let command = agents[0].next_command().await;
    rig.control.jobs().pause(&rig.caller, id).await.unwrap();
    let outcome = model::Outcome::plain(Code::CHECK_FAILED, "no", model::UnixMillis(5));
    agents[0].end(&command, outcome).await;
    until_ended(&rig, id, 1).await;
    let view = rig.control.jobs().get(&rig.caller, id).await.unwrap();
    assert_eq!(view.count(JobStatus::Pending), 3);
    rig.control.jobs().resume(&rig.caller, id).await.unwrap();
    let view = over(&rig, id).await;
    assert_eq!(
        view.count(JobStatus::Failed),
        4,
        "the failure blocks the rest"
    );
}

#[tokio::test]
async fn a_paused_job_is_cancelled() {
    let rig = Rig::new().await;
    let agents = two_hosts(&rig).await;
    let id = create(&rig, JobAction::ForceStop, one_by_one()).await;
    let command = agents[0].next_command().await;
    rig.control.jobs().pause(&rig.caller, id).await.unwrap();
    rig.control.jobs().cancel(&rig.caller, id).await.unwrap();
    agents[0].answer_ok(&command, None, None).await;
    let view = over(&rig, id).await;
    assert_eq!(
        (
            view.count(JobStatus::Succeeded),
            view.count(JobStatus::Failed)
        ),
        (1, 3)
    );
    assert_eq!(
        (view.job.paused_by.as_str(), view.job.cancelled_by.as_str()),
        ("", "system")
    );
}
