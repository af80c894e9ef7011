//! Random changes, the same in every run.

use model::Code;
use model::change::{Changes, DefinitionId, ProcessId, Revision};
use model::config_template::{TemplateChanges, TemplateId, VersionId};
use model::job::{JobStatus, JobTaskRow};
use model::topology::{
    BkHostId, BkProcessId, BusinessId, ModuleId, ProgramId, ServiceId, SetId, TopologyChanges,
};
use testing::Random;

use crate::sample;

/// A new task, outcomes for some of the last ones, and changes of all other kinds.
pub fn random_changes(random: &mut Random, n: u32) -> Changes {
    let n_targets = random.below(4);
    Changes {
        hosts: random.subset(5).into_iter().map(sample::host).collect(),
        names: random.subset(5).into_iter().map(sample::name).collect(),
        definitions: random
            .subset(6)
            .into_iter()
            .map(sample::definition)
            .collect(),
        definitions_gone: random.subset(6).into_iter().map(DefinitionId).collect(),
        processes: random
            .subset(40)
            .into_iter()
            .map(|n| {
                let mut process = sample::process(n);
                process.incarnation = Revision(random.below(1000));
                process
            })
            .collect(),
        processes_gone: random.subset(40).into_iter().map(ProcessId).collect(),
        groups: random
            .subset(3)
            .into_iter()
            .map(|host| sample::groups(host, random.below(3)))
            .collect(),
        tasks: vec![sample::task(n)],
        targets: (0..n_targets).map(|o| sample::target(n, o)).collect(),
        outcomes: random
            .subset(20)
            .into_iter()
            .map(|back| {
                let task = n.saturating_sub(back);
                sample::outcome(task, random.below(4), Code(random.below(2)))
            })
            .collect(),
        apps: random.subset(4).into_iter().map(sample::app).collect(),
        apps_gone: random
            .subset(4)
            .into_iter()
            .map(|n| sample::app(n).code)
            .collect(),
        users: random.subset(4).into_iter().map(sample::user).collect(),
        users_gone: random
            .subset(4)
            .into_iter()
            .map(|n| sample::user(n).name)
            .collect(),
        logins: random.subset(4).into_iter().map(sample::login).collect(),
        logins_gone: random
            .subset(4)
            .into_iter()
            .map(|n| [n as u8; 32])
            .collect(),
        join_tokens: random
            .subset(4)
            .into_iter()
            .map(sample::join_token)
            .collect(),
        join_tokens_gone: random
            .subset(4)
            .into_iter()
            .map(|n| sample::join_token(n).id)
            .collect(),
        webhooks: random.subset(4).into_iter().map(sample::webhook).collect(),
        webhooks_gone: random
            .subset(4)
            .into_iter()
            .map(|n| sample::webhook(n).id)
            .collect(),
        topology: random_topology(random),
        jobs: random
            .subset(5)
            .into_iter()
            .map(|n| sample::job(n, random_status(random)))
            .collect(),
        job_tasks: random_job_tasks(random),
        templates: random_templates(random),
        ..Changes::default()
    }
}

fn random_topology(random: &mut Random) -> TopologyChanges {
    TopologyChanges {
        businesses: random.subset(3).into_iter().map(sample::business).collect(),
        businesses_gone: random.subset(3).into_iter().map(BusinessId).collect(),
        clouds: random.subset(3).into_iter().map(sample::cloud).collect(),
        sets: random.subset(4).into_iter().map(sample::set).collect(),
        sets_gone: random.subset(4).into_iter().map(SetId).collect(),
        modules: random.subset(4).into_iter().map(sample::module).collect(),
        modules_gone: random.subset(4).into_iter().map(ModuleId).collect(),
        machines: random.subset(4).into_iter().map(sample::machine).collect(),
        machines_gone: random.subset(4).into_iter().map(BkHostId).collect(),
        services: random.subset(20).into_iter().map(sample::service).collect(),
        services_gone: random.subset(20).into_iter().map(ServiceId).collect(),
        programs: random.subset(4).into_iter().map(sample::program).collect(),
        programs_gone: random.subset(4).into_iter().map(ProgramId).collect(),
        processes: random
            .subset(20)
            .into_iter()
            .map(|n| {
                let mut process = sample::view_process(n);
                process.ordinal = random.below(1000);
                process
            })
            .collect(),
        processes_gone: random.subset(20).into_iter().map(BkProcessId).collect(),
    }
}

fn random_status(random: &mut Random) -> JobStatus {
    let all = [
        JobStatus::Pending,
        JobStatus::Running,
        JobStatus::Succeeded,
        JobStatus::Failed,
        JobStatus::Ignored,
    ];
    all[random.below(5)]
}

/// Some of them belong to finished jobs, or to none.
fn random_job_tasks(random: &mut Random) -> Vec<JobTaskRow> {
    let mut tasks = Vec::new();
    for job in random.subset(6) {
        for ordinal in random.subset(4) {
            let mut task = sample::job_task(job, ordinal);
            task.status = random_status(random);
            tasks.push(task);
        }
    }
    tasks
}

fn random_templates(random: &mut Random) -> TemplateChanges {
    TemplateChanges {
        templates: random.subset(3).into_iter().map(sample::template).collect(),
        templates_gone: random.subset(3).into_iter().map(TemplateId).collect(),
        versions: random.subset(4).into_iter().map(sample::version).collect(),
        versions_gone: random.subset(4).into_iter().map(VersionId).collect(),
        files: random
            .subset(8)
            .into_iter()
            .map(|n| {
                let mut content = || (random.below(2) == 0).then(|| random.below(4));
                sample::config_file(n, content(), content())
            })
            .collect(),
        contents: random.subset(4).into_iter().map(sample::content).collect(),
    }
}
