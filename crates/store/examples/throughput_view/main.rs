//! Prints how fast the store is with the process view, jobs and config files:
//! `cargo run --release -p store --example throughput_view [FOLDER | postgres]`.
//! The file is made in the folder; `postgres` starts a server that fsyncs, as a real one does.

#![allow(clippy::print_stdout, reason = "a table for people")]

#[path = "../throughput/database.rs"]
mod database;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use database::MeasuredDatabase;
use model::change::{Changes, Revision};
use model::config_template::{
    ConfigFileRow, ContentId, ContentRow, FileState, TemplateChanges, TemplateId, VersionId,
};
use model::job::{
    JobAction, JobArea, JobId, JobOptions, JobRow, JobStatus, JobTarget, JobTaskLabel, JobTaskRow,
};
use model::topology::{
    BkHostId, BkProcessId, BusinessId, MachineRow, ModuleId, Program, ProgramId, ProgramRow,
    ServiceId, ServiceRow, TopologyChanges, ViewProcessRow,
};
use model::{Code, Host, UnixMillis};
use store::{JobPage, Store};

const N_PROCESSES: u32 = 1_000_000;
const N_MACHINES: u32 = 10_000;
const N_PROGRAMS: u32 = 1_000;
const N_TASKS: u32 = 200_000;
const N_FILES: u32 = 200_000;
/// Between ids that another system has chosen.
const GAP: u32 = 1_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let database = MeasuredDatabase::new(std::env::args().nth(1).as_deref())?;
    let url = database.url();
    let store = Store::open(&url).await?;

    let rows = TopologyChanges {
        machines: (0..N_MACHINES).map(machine).collect(),
        programs: (0..N_PROGRAMS).map(program).collect(),
        ..TopologyChanges::default()
    };
    topology(&store, "10,000 machines, 1,000 programs", rows).await?;
    let rows = TopologyChanges {
        services: (0..N_PROCESSES).map(service).collect(),
        ..TopologyChanges::default()
    };
    topology(&store, "1,000,000 services", rows).await?;
    let rows = TopologyChanges {
        processes: (0..N_PROCESSES).map(process).collect(),
        ..TopologyChanges::default()
    };
    topology(&store, "1,000,000 processes of the view", rows).await?;
    jobs(&store).await?;
    files(&store).await?;
    gone(&store).await?;
    store.close().await;
    println!(
        "{:<44} {:>10.1} MB",
        "file",
        database.n_bytes()? as f64 / 1e6
    );
    Ok(())
}

/// Commits, and then loads everything.
async fn topology(store: &Store, what: &str, topology: TopologyChanges) -> anyhow::Result<()> {
    let changes = Changes {
        topology,
        ..Changes::default()
    };
    commit(store, what, &changes).await?;
    load(store).await?;
    follow(store).await
}

async fn commit(store: &Store, what: &str, changes: &Changes) -> anyhow::Result<()> {
    let head = store.head().await?;
    let begun = Instant::now();
    store.commit(head, changes).await?;
    print(&format!("commit {what}"), begun);
    Ok(())
}

async fn load(store: &Store) -> anyhow::Result<()> {
    for _ in 0..3 {
        let begun = Instant::now();
        store.load().await?;
        print("  load everything so far", begun);
    }
    Ok(())
}

async fn follow(store: &Store) -> anyhow::Result<()> {
    let head = store.head().await?;
    let begun = Instant::now();
    store.changes_since(Revision(head.0 - 1)).await?;
    print("  changes_since of that commit", begun);
    Ok(())
}

fn machine(n: u32) -> MachineRow {
    MachineRow {
        id: BkHostId(n * GAP),
        host: Host::new(0, IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n))),
        ip_v6: None,
        other_innerips: Vec::new(),
        agent_id: None,
        attributes: Default::default(),
    }
}

fn program(n: u32) -> ProgramRow {
    ProgramRow {
        id: ProgramId(n),
        program: Arc::new(Program {
            bk_process_name: format!("process-{n}"),
            bk_func_name: "server".into(),
            proc_num: 1,
            work_path: "/data/app/${bk_process_name}".into(),
            pid_file: "${work_path}/server.pid".into(),
            start_cmd: "./start.sh".into(),
            stop_cmd: "./stop.sh".into(),
            ..Program::default()
        }),
    }
}

fn service(n: u32) -> ServiceRow {
    ServiceRow {
        id: ServiceId(n * GAP),
        module: ModuleId(n / 100),
        machine: BkHostId(n % N_MACHINES),
        name: format!("10.0.{}.{}_server_8080", n / 250 % 250, n % 250).into(),
    }
}

fn process(n: u32) -> ViewProcessRow {
    ViewProcessRow {
        id: BkProcessId(n * GAP),
        service: ServiceId(n * GAP),
        program: ProgramId(n % N_PROGRAMS),
        process_template: n % N_PROGRAMS,
        ordinal: n / N_PROGRAMS,
        vanished: false,
    }
}

async fn jobs(store: &Store) -> anyhow::Result<()> {
    let begin = |n: u32| Changes {
        jobs: vec![job(n, JobStatus::Running)],
        job_tasks: (0..N_TASKS)
            .map(|ordinal| task(n, ordinal, JobStatus::Pending))
            .collect(),
        ..Changes::default()
    };
    for n in 1..=2 {
        commit(store, "a job of 200,000 tasks", &begin(n)).await?;
    }
    for first in (0..N_TASKS).step_by(50_000) {
        let ended = Changes {
            job_tasks: (first..first + 10_000)
                .map(|ordinal| task(1, ordinal, JobStatus::Succeeded))
                .collect(),
            ..Changes::default()
        };
        commit(store, "the end of 10,000 tasks", &ended).await?;
    }
    let begun = Instant::now();
    store.job(JobId(1)).await?;
    print("  read the job", begun);
    let page = JobPage {
        limit: 100,
        business: Some(BusinessId(2)),
        ..JobPage::default()
    };
    let begun = Instant::now();
    for _ in 0..1000 {
        store.jobs(&page).await?;
    }
    print("  list the jobs (1,000 times)", begun);
    load(store).await?;

    for n in 1..=2 {
        let over = Changes {
            jobs: vec![job(n, JobStatus::Succeeded)],
            ..Changes::default()
        };
        commit(store, "the end of the job", &over).await?;
    }
    let again = Changes {
        jobs: vec![job(1, JobStatus::Running)],
        ..Changes::default()
    };
    let over = Changes {
        jobs: vec![job(1, JobStatus::Succeeded)],
        ..Changes::default()
    };
    commit(store, "that the job goes on again", &again).await?;
    commit(store, "that it is over again", &over).await?;
    let begun = Instant::now();
    store.purge_jobs(UnixMillis(i64::MAX)).await?;
    print("  purge both jobs", begun);
    Ok(())
}

fn job(n: u32, status: JobStatus) -> JobRow {
    JobRow {
        id: JobId(n),
        area: JobArea::Business(BusinessId(2)),
        paused_by: String::new(),
        action: JobAction::Restart,
        scope: serde_json::json!({"bk_set_ids": [1, 2, 3]}),
        options: JobOptions::default(),
        app: "app".into(),
        user: "user".into(),
        created_at: UnixMillis::from_secs(1_700_000_000),
        ended_at: UnixMillis::NEVER,
        status,
        cancelled_by: String::new(),
        retried_at: UnixMillis::NEVER,
        update: None,
    }
}

fn task(job: u32, ordinal: u32, status: JobStatus) -> JobTaskRow {
    JobTaskRow {
        job: JobId(job),
        ordinal,
        target: JobTarget::Instance {
            process: BkProcessId(ordinal * GAP),
            local_inst_id: 1,
        },
        label: JobTaskLabel {
            expression: format!("set.module.10.0.0.1_server_8080.server.{ordinal}"),
            bk_process_name: "server".into(),
            inst_id: u64::from(ordinal),
            bk_cloud_id: 0,
            bk_host_innerip: "10.0.0.1".into(),
        },
        priority: 0,
        unit: 2,
        status,
        op: None,
        code: Code::OK,
        reason: String::new(),
        output: "started\n".into(),
        command: "./start.sh".into(),
        started_at: UnixMillis::from_secs(1_700_000_000),
        ended_at: UnixMillis::NEVER,
        gate: None,
        update: None,
    }
}

/// Nine of ten files share their content with others.
async fn files(store: &Store) -> anyhow::Result<()> {
    let content = |n: u32| {
        let mut id = [7; 32];
        id[..4].copy_from_slice(&(n / 10).to_le_bytes());
        ContentId(id)
    };
    let state = |n: u32| FileState {
        version: VersionId(1),
        content: content(n),
        md5: "0".repeat(32),
        path: format!("/data/app/server/{n}/server.conf"),
        at: UnixMillis::from_secs(1_700_000_000),
        by: "user".into(),
    };
    let body: Arc<str> = "port = 8080\n".repeat(80).into();
    let changes = Changes {
        templates: TemplateChanges {
            files: (0..N_FILES)
                .map(|n| ConfigFileRow {
                    process: BkProcessId(n * GAP),
                    local_inst_id: 1,
                    template: TemplateId(1),
                    generated: Some(state(n)),
                    released: Some(state(n)),
                })
                .collect(),
            contents: (0..N_FILES)
                .step_by(10)
                .map(|n| ContentRow {
                    id: content(n),
                    body: body.clone(),
                })
                .collect(),
            ..TemplateChanges::default()
        },
        ..Changes::default()
    };
    commit(store, "200,000 files, 20,000 contents of 1 kB", &changes).await?;
    load(store).await?;
    let begun = Instant::now();
    for n in 0..1000 {
        store.content(content(n * 100)).await?;
    }
    print("  content (1,000 times)", begun);
    let begun = Instant::now();
    store.purge(UnixMillis::NEVER, Revision(0)).await?;
    print("  purge that finds every content needed", begun);
    Ok(())
}

async fn gone(store: &Store) -> anyhow::Result<()> {
    let changes = Changes {
        topology: TopologyChanges {
            services_gone: (0..N_PROCESSES).map(|n| ServiceId(n * GAP)).collect(),
            processes_gone: (0..N_PROCESSES).map(|n| BkProcessId(n * GAP)).collect(),
            ..TopologyChanges::default()
        },
        ..Changes::default()
    };
    commit(store, "that all services and processes are gone", &changes).await?;
    follow(store).await?;
    let head = store.head().await?;
    let begun = Instant::now();
    store.purge(UnixMillis::NEVER, head).await?;
    print("  purge the log", begun);
    Ok(())
}

fn print(what: &str, begun: Instant) {
    println!(
        "{what:<50} {:>10.1} ms",
        begun.elapsed().as_secs_f64() * 1e3
    );
}
