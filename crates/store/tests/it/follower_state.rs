//! The state of a follower: a simple fold of changes, to compare stores with.

use std::collections::BTreeMap;

use model::access::{App, JoinToken, Login, User};
use model::change::{
    Changes, DefinitionId, DefinitionRow, GroupRow, HostId, HostRow, NameId, NameRow, ProcessId,
    ProcessRow, TargetRow, TaskRow,
};
use model::config_template::{
    ConfigFileRow, TemplateChanges, TemplateId, TemplateRow, VersionId, VersionRow,
};
use model::job::{JobId, JobRow, JobTaskRow};
use model::topology::{
    BkHostId, BkProcessId, BusinessId, BusinessRow, CloudRow, MachineRow, ModuleId, ModuleRow,
    ProgramId, ProgramRow, ServiceId, ServiceRow, SetId, SetRow, TopologyChanges, ViewProcessRow,
};
use model::webhook::Webhook;
use model::{Namespace, OpId, Outcome, TaskId};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct FollowerState {
    hosts: BTreeMap<HostId, HostRow>,
    names: BTreeMap<NameId, NameRow>,
    definitions: BTreeMap<DefinitionId, DefinitionRow>,
    processes: BTreeMap<ProcessId, ProcessRow>,
    groups: BTreeMap<(HostId, Namespace), GroupRow>,
    tasks: BTreeMap<TaskId, TaskRow>,
    targets: BTreeMap<OpId, TargetRow>,
    outcomes: BTreeMap<OpId, Outcome>,
    apps: BTreeMap<String, App>,
    users: BTreeMap<String, User>,
    logins: BTreeMap<[u8; 32], Login>,
    join_tokens: BTreeMap<String, JoinToken>,
    webhooks: BTreeMap<String, Webhook>,
    view: View,
    jobs: BTreeMap<JobId, JobRow>,
    job_tasks: BTreeMap<(JobId, u32), JobTaskRow>,
    templates: BTreeMap<TemplateId, TemplateRow>,
    versions: BTreeMap<VersionId, VersionRow>,
    files: BTreeMap<(BkProcessId, u32, TemplateId), ConfigFileRow>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct View {
    businesses: BTreeMap<BusinessId, BusinessRow>,
    clouds: BTreeMap<u32, CloudRow>,
    sets: BTreeMap<SetId, SetRow>,
    modules: BTreeMap<ModuleId, ModuleRow>,
    machines: BTreeMap<BkHostId, MachineRow>,
    services: BTreeMap<ServiceId, ServiceRow>,
    programs: BTreeMap<ProgramId, ProgramRow>,
    processes: BTreeMap<BkProcessId, ViewProcessRow>,
}

impl FollowerState {
    pub fn of(changes: &Changes) -> Self {
        let mut state = Self::default();
        state.fold(changes);
        state
    }

    pub fn fold(&mut self, new: &Changes) {
        self.definitions
            .retain(|id, _| !new.definitions_gone.contains(id));
        self.processes
            .retain(|id, _| !new.processes_gone.contains(id));
        self.apps.retain(|id, _| !new.apps_gone.contains(id));
        self.users.retain(|id, _| !new.users_gone.contains(id));
        self.logins.retain(|id, _| !new.logins_gone.contains(id));
        self.join_tokens
            .retain(|id, _| !new.join_tokens_gone.contains(id));
        self.webhooks
            .retain(|id, _| !new.webhooks_gone.contains(id));

        self.hosts
            .extend(new.hosts.iter().map(|row| (row.id, row.clone())));
        self.names
            .extend(new.names.iter().map(|row| (row.id, row.clone())));
        self.definitions
            .extend(new.definitions.iter().map(|row| (row.id, row.clone())));
        self.processes
            .extend(new.processes.iter().map(|row| (row.id, *row)));
        let key = |row: &GroupRow| (row.host, row.namespace.clone());
        self.groups
            .extend(new.groups.iter().map(|row| (key(row), row.clone())));
        self.groups.retain(|_, row| !row.groups.is_empty());
        self.tasks
            .extend(new.tasks.iter().map(|row| (row.id, row.clone())));
        self.targets
            .extend(new.targets.iter().map(|row| (row.op_id, row.clone())));
        let outcomes = new
            .outcomes
            .iter()
            .map(|row| (row.op_id, row.outcome.clone()));
        self.outcomes.extend(outcomes);
        self.apps
            .extend(new.apps.iter().map(|row| (row.code.clone(), row.clone())));
        self.users
            .extend(new.users.iter().map(|row| (row.name.clone(), row.clone())));
        self.logins
            .extend(new.logins.iter().map(|row| (row.token_sha256, row.clone())));
        self.join_tokens.extend(
            new.join_tokens
                .iter()
                .map(|row| (row.id.clone(), row.clone())),
        );
        self.webhooks
            .extend(new.webhooks.iter().map(|row| (row.id.clone(), row.clone())));
        self.drop_ended();
        self.view.fold(&new.topology);
        self.fold_jobs(new);
        self.fold_templates(&new.templates);
    }

    /// Drops finished jobs, as servers do.
    fn fold_jobs(&mut self, new: &Changes) {
        let Self {
            jobs, job_tasks, ..
        } = self;
        jobs.extend(new.jobs.iter().map(|row| (row.id, row.clone())));
        jobs.retain(|_, row| !row.status.is_over());
        job_tasks.extend(
            new.job_tasks
                .iter()
                .map(|row| ((row.job, row.ordinal), row.clone())),
        );
        job_tasks.retain(|(job, _), _| jobs.contains_key(job));
    }

    fn fold_templates(&mut self, new: &TemplateChanges) {
        self.templates
            .retain(|id, _| !new.templates_gone.contains(id));
        self.versions
            .retain(|id, _| !new.versions_gone.contains(id));
        self.templates
            .extend(new.templates.iter().map(|row| (row.id, row.clone())));
        self.versions
            .extend(new.versions.iter().map(|row| (row.id, row.clone())));
        let key = |row: &ConfigFileRow| (row.process, row.local_inst_id, row.template);
        self.files
            .extend(new.files.iter().map(|row| (key(row), row.clone())));
        self.files
            .retain(|_, row| row.generated.is_some() || row.released.is_some());
    }

    /// Drops tasks whose targets have all ended, as servers do.
    fn drop_ended(&mut self) {
        let open: Vec<TaskId> = self
            .targets
            .keys()
            .filter(|id| !self.outcomes.contains_key(id))
            .map(|id| id.task)
            .collect();
        self.tasks.retain(|id, _| open.contains(id));
        self.targets.retain(|id, _| open.contains(&id.task));
        self.outcomes.retain(|id, _| open.contains(&id.task));
    }

    pub fn process_ids(&self) -> Vec<u32> {
        self.processes.keys().map(|id| id.0).collect()
    }
}

impl View {
    fn fold(&mut self, new: &TopologyChanges) {
        self.businesses
            .retain(|id, _| !new.businesses_gone.contains(id));
        self.sets.retain(|id, _| !new.sets_gone.contains(id));
        self.modules.retain(|id, _| !new.modules_gone.contains(id));
        self.machines
            .retain(|id, _| !new.machines_gone.contains(id));
        self.services
            .retain(|id, _| !new.services_gone.contains(id));
        self.programs
            .retain(|id, _| !new.programs_gone.contains(id));
        self.processes
            .retain(|id, _| !new.processes_gone.contains(id));

        self.businesses
            .extend(new.businesses.iter().map(|row| (row.id, row.clone())));
        self.clouds
            .extend(new.clouds.iter().map(|row| (row.id, row.clone())));
        self.sets
            .extend(new.sets.iter().map(|row| (row.id, row.clone())));
        self.modules
            .extend(new.modules.iter().map(|row| (row.id, row.clone())));
        self.machines
            .extend(new.machines.iter().map(|row| (row.id, row.clone())));
        self.services
            .extend(new.services.iter().map(|row| (row.id, row.clone())));
        self.programs
            .extend(new.programs.iter().map(|row| (row.id, row.clone())));
        self.processes
            .extend(new.processes.iter().map(|row| (row.id, *row)));
    }
}
