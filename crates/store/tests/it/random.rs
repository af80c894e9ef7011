//! Changes by chance, the same ones every time.

use model::Code;
use model::change::{Changes, DefinitionId, ProcessId, Revision};
use model::config_template::{TemplateChanges, TemplateId, VersionId};
use model::job::{JobStatus, JobTaskRow};
use model::topology::{
    BkHostId, BkProcessId, BusinessId, ModuleId, ProgramId, ServiceId, SetId, TopologyChanges,
};

use crate::some;

/// A task of its own each time, ends for some of the last ones, and anything else.
pub fn random_changes(dice: &mut Dice, n: u32) -> Changes {
    let n_targets = dice.below(4);
    Changes {
        hosts: dice.some(5).into_iter().map(some::host).collect(),
        names: dice.some(5).into_iter().map(some::name).collect(),
        definitions: dice.some(6).into_iter().map(some::definition).collect(),
        definitions_gone: dice.some(6).into_iter().map(DefinitionId).collect(),
        processes: dice
            .some(40)
            .into_iter()
            .map(|n| {
                let mut process = some::process(n);
                process.incarnation = Revision(u64::from(dice.below(1000)));
                process
            })
            .collect(),
        processes_gone: dice.some(40).into_iter().map(ProcessId).collect(),
        groups: dice
            .some(3)
            .into_iter()
            .map(|host| some::groups(host, dice.below(3)))
            .collect(),
        tasks: vec![some::task(n)],
        targets: (0..n_targets).map(|o| some::target(n, o)).collect(),
        outcomes: dice
            .some(20)
            .into_iter()
            .map(|back| {
                let task = n.saturating_sub(back);
                some::outcome(task, dice.below(4), Code(dice.below(2) as i32))
            })
            .collect(),
        apps: dice.some(4).into_iter().map(some::app).collect(),
        apps_gone: dice
            .some(4)
            .into_iter()
            .map(|n| some::app(n).code)
            .collect(),
        users: dice.some(4).into_iter().map(some::user).collect(),
        users_gone: dice
            .some(4)
            .into_iter()
            .map(|n| some::user(n).name)
            .collect(),
        logins: dice.some(4).into_iter().map(some::login).collect(),
        logins_gone: dice.some(4).into_iter().map(|n| [n as u8; 32]).collect(),
        join_tokens: dice.some(4).into_iter().map(some::join_token).collect(),
        join_tokens_gone: dice
            .some(4)
            .into_iter()
            .map(|n| some::join_token(n).id)
            .collect(),
        webhooks: dice.some(4).into_iter().map(some::webhook).collect(),
        webhooks_gone: dice
            .some(4)
            .into_iter()
            .map(|n| some::webhook(n).id)
            .collect(),
        topology: random_topology(dice),
        jobs: dice
            .some(5)
            .into_iter()
            .map(|n| some::job(n, random_status(dice)))
            .collect(),
        job_tasks: random_job_tasks(dice),
        templates: random_templates(dice),
        ..Changes::default()
    }
}

fn random_topology(dice: &mut Dice) -> TopologyChanges {
    TopologyChanges {
        businesses: dice.some(3).into_iter().map(some::business).collect(),
        businesses_gone: dice.some(3).into_iter().map(BusinessId).collect(),
        clouds: dice.some(3).into_iter().map(some::cloud).collect(),
        sets: dice.some(4).into_iter().map(some::set).collect(),
        sets_gone: dice.some(4).into_iter().map(SetId).collect(),
        modules: dice.some(4).into_iter().map(some::module).collect(),
        modules_gone: dice.some(4).into_iter().map(ModuleId).collect(),
        machines: dice.some(4).into_iter().map(some::machine).collect(),
        machines_gone: dice.some(4).into_iter().map(BkHostId).collect(),
        services: dice.some(20).into_iter().map(some::service).collect(),
        services_gone: dice.some(20).into_iter().map(ServiceId).collect(),
        programs: dice.some(4).into_iter().map(some::program).collect(),
        programs_gone: dice.some(4).into_iter().map(ProgramId).collect(),
        processes: dice
            .some(20)
            .into_iter()
            .map(|n| {
                let mut process = some::view_process(n);
                process.ordinal = dice.below(1000);
                process
            })
            .collect(),
        processes_gone: dice.some(20).into_iter().map(BkProcessId).collect(),
    }
}

fn random_status(dice: &mut Dice) -> JobStatus {
    let all = [
        JobStatus::Pending,
        JobStatus::Running,
        JobStatus::Succeeded,
        JobStatus::Failed,
        JobStatus::Ignored,
    ];
    all[dice.below(5) as usize]
}

/// Some of them of jobs that are over, or not there.
fn random_job_tasks(dice: &mut Dice) -> Vec<JobTaskRow> {
    let mut tasks = Vec::new();
    for job in dice.some(6) {
        for ordinal in dice.some(4) {
            let mut task = some::job_task(job, ordinal);
            task.status = random_status(dice);
            tasks.push(task);
        }
    }
    tasks
}

fn random_templates(dice: &mut Dice) -> TemplateChanges {
    TemplateChanges {
        templates: dice.some(3).into_iter().map(some::template).collect(),
        templates_gone: dice.some(3).into_iter().map(TemplateId).collect(),
        versions: dice.some(4).into_iter().map(some::version).collect(),
        versions_gone: dice.some(4).into_iter().map(VersionId).collect(),
        files: dice
            .some(8)
            .into_iter()
            .map(|n| {
                let mut content = || (dice.below(2) == 0).then(|| dice.below(4));
                some::config_file(n, content(), content())
            })
            .collect(),
        contents: dice.some(4).into_iter().map(some::content).collect(),
    }
}

/// The same throws every time.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % bound
    }

    /// Each number below the bound with a chance of one in three, in no order that matters.
    pub fn some(&mut self, bound: u32) -> Vec<u32> {
        (0..bound).filter(|_| self.below(3) == 0).collect()
    }
}
