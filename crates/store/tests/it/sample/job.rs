//! Jobs and their tasks.

use model::change::Changes;
use model::config_template::TemplateId;
use model::job::{
    AfterRelease, Gate, Isolation, JobAction, JobArea, JobDefinition, JobId, JobOptions, JobRow,
    JobStatus, JobTarget, JobTaskLabel, JobTaskRow, JobUpdate, TaskOrder, TaskUpdate,
};
use model::topology::{BkProcessId, BusinessId};
use model::{Code, FullName, Host, Namespace, UnixMillis};

use super::{labels, moment, op_id, spec};

/// Created `n` seconds after a certain moment.
pub fn job(n: u32, status: JobStatus) -> JobRow {
    JobRow {
        id: JobId(n),
        area: match n % 16 {
            8 => JobArea::Namespaces(vec![Namespace::parse("gse").unwrap()]),
            _ => JobArea::Business(BusinessId(n % 2)),
        },
        action: JobAction::ALL[n as usize % JobAction::ALL.len()],
        scope: serde_json::json!({"bk_set_ids": [n], "expression": "*.it's.\"空\""}),
        options: JobOptions {
            isolation: Isolation::Module,
            batch_size: Some(n),
            max_failures: 3,
            ignore_error_codes: vec![-1, 117],
            pause_secs: 60,
            config_template_ids: vec![TemplateId(n)],
            after_release: Some(AfterRelease::Reload),
            canary: Some(n % 4 + 1),
            gate: Some(Gate::parse("ready:30s").unwrap()),
            order: Some(TaskOrder::Label("zone".into())),
            revert: n.is_multiple_of(2),
        },
        app: "app".into(),
        user: format!("üser{}", n % 3),
        created_at: moment(n),
        ended_at: match status.is_over() {
            true => moment(n + 9),
            false => UnixMillis::NEVER,
        },
        status,
        cancelled_by: "admin".into(),
        paused_by: ["", "üser"][n as usize % 2].into(),
        retried_at: UnixMillis::NEVER,
        update: (n % 16 == 8).then(|| {
            Box::new(JobUpdate {
                process: FullName::parse("gse", "it's").unwrap(),
                definitions: vec![JobDefinition {
                    spec: spec(n),
                    labels: labels(n),
                }],
                restores: Some(n),
                reverts: None,
                reverted_by: Some(JobId(n + 1)),
                revert_asked_by: "ann".into(),
            })
        }),
    }
}

/// Pending.
pub fn job_task(job: u32, ordinal: u32) -> JobTaskRow {
    JobTaskRow {
        job: JobId(job),
        ordinal,
        target: match job % 16 {
            8 => JobTarget::Registered {
                registered: FullName::parse("gse", "it's").unwrap(),
                host: Host::new(job, [10, 0, 0, 1].into()),
            },
            _ => JobTarget::Instance {
                process: BkProcessId(ordinal / 2),
                local_inst_id: ordinal % 2 + 1,
            },
        },
        label: JobTaskLabel {
            expression: format!("set.module.it's.\"gse\".{ordinal}"),
            bk_process_name: "gse".into(),
            inst_id: u64::MAX - u64::from(ordinal),
            bk_cloud_id: 2,
            bk_host_innerip: "10.0.0.1".into(),
        },
        priority: -7,
        unit: job,
        status: JobStatus::Pending,
        op: (ordinal % 2 == 1).then(|| op_id(job, ordinal)),
        code: Code::TERMINATED,
        reason: "因为".into(),
        output: "out\u{0}put\n".repeat(ordinal as usize % 5),
        command: "./start.sh".into(),
        started_at: moment(job),
        ended_at: UnixMillis::NEVER,
        gate: None,
        update: (job % 16 == 8).then_some(TaskUpdate {
            to: 0,
            had: ordinal.is_multiple_of(2).then_some(ordinal),
            restarts: ordinal.is_multiple_of(3),
        }),
    }
}

/// A running job and all its tasks.
pub fn started(n: u32, n_tasks: u32) -> Changes {
    Changes {
        jobs: vec![job(n, JobStatus::Running)],
        job_tasks: (0..n_tasks).map(|ordinal| job_task(n, ordinal)).collect(),
        ..Changes::default()
    }
}
