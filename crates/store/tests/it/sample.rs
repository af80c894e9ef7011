//! Rows to write. Equal numbers make equal rows.

mod config_template;
mod job;
mod topology;

pub use config_template::{config_file, content, content_id, template, templates, version};
pub use job::{job, job_task, started};
pub use topology::{
    business, cloud, machine, module, program, service, set, topology, view_process,
};

use std::sync::Arc;

use store::TaskPage;

use model::access::{App, Audit, HashScheme, JoinToken, Login, SecretHash, User};
use model::change::{
    Changes, DefinitionId, DefinitionRow, EventRow, GroupRow, HostId, HostRow, NameId, NameRow,
    OutcomeRow, ProcessId, ProcessRow, Revision, TargetRow, TaskRow,
};
use model::event::{Event, EventKind};
use model::group::{Pool, ProcessGroup};
use model::job::JobStatus;
use model::operation::{CommandRun, ProcessInspection};
use model::spec::{Commands, ConfigFile, Identity, Limits, Policy, Probe, Spec, WarnReport};
use model::status::Exit;
use model::timeline::{TimelineBody, TimelineKind, TimelineRow};
use model::topology::BkProcessId;
use model::webhook::{Webhook, WebhookUrl};
use model::{
    AgentId, Code, Flag, FullName, Host, Labels, Namespace, Op, OpId, Outcome, TaskId, UnixMillis,
};

pub fn host(n: u32) -> HostRow {
    let ip = match n % 2 {
        0 => format!("10.0.{}.{}", n / 250, n % 250),
        _ => format!("fe80::{:x}:{:x}", n >> 16, n & 0xffff),
    };
    HostRow {
        id: HostId(n),
        host: Host::parse(i64::from(n % 3), &ip).unwrap(),
        agent_id: n
            .is_multiple_of(2)
            .then(|| AgentId::parse(&format!("agent-{n}")).unwrap()),
        enrolled_at: UnixMillis(i64::from(n % 2) * 1_700_000_000_123),
        supplier: i64::from(n % 3) - 1,
        removed_at: (n % 7 == 6).then(|| UnixMillis(i64::from(n) + 9)),
        labels: labels(n % 3),
    }
}

pub fn name(n: u32) -> NameRow {
    NameRow {
        id: NameId(n),
        name: FullName::parse("业务", &format!("it's-\"{n}\"")).unwrap(),
    }
}

pub fn spec(n: u32) -> Spec {
    Spec {
        identity: Identity {
            index_key: format!("key{n}"),
            proc_name: "proc".into(),
            setup_path: "/opt/'quoted' \"path\"".into(),
            pid_path: "/run/p.pid".into(),
            config_path: String::new(),
            log_path: "/var/log/进程".into(),
            user: "root".into(),
        },
        control: Commands {
            start_cmd: "echo '\\n' \u{1F600}\n".into(),
            ..Commands::default()
        },
        resource: Limits {
            cpu: 33.3,
            fd: u64::MAX,
            ..Limits::default()
        },
        monitor_policy: Policy::default(),
        warn_report_policy: WarnReport { report_id: -7 },
        configmap: vec![ConfigFile {
            path: "/etc/x".into(),
            md5: "0".repeat(32),
        }],
        runtime: Default::default(),
        restart: Default::default(),
        stop: Default::default(),
        schedule: Default::default(),
        probes: Default::default(),
        after: Default::default(),
    }
}

/// Some labels; none for 0.
pub fn labels(n: u32) -> Labels {
    let pairs = [("k".into(), n.to_string()), ("空".into(), String::new())];
    Labels::parse(pairs.into_iter().take(n as usize).collect()).unwrap()
}

pub fn definition(n: u32) -> DefinitionRow {
    DefinitionRow {
        id: DefinitionId(n),
        name: NameId(n),
        spec: Arc::new(spec(n)),
        labels: Arc::new(labels(n + 2)),
    }
}

pub fn process(n: u32) -> ProcessRow {
    ProcessRow {
        id: ProcessId(n),
        host: HostId(n % 10),
        name: NameId(u32::MAX - n),
        definition: DefinitionId(n / 10),
        flag: [Flag::Unregistered, Flag::Running, Flag::Stopped][n as usize % 3],
        managed: n.is_multiple_of(2),
        registered_at: UnixMillis(1_700_000_000_000 + i64::from(n)),
        incarnation: Revision(u64::from(n) << 32),
        owner: (n % 3 == 1).then_some(BkProcessId(n)),
    }
}

pub fn groups(host: u32, n_groups: u32) -> GroupRow {
    let group = |n: u32| ProcessGroup {
        id: format!("g{n}"),
        resource: Pool {
            cpu_pool_limit: 12.5,
            mem_pool_limit: f64::from(n),
            cpu_pool_weight: 1,
            mem_pool_weight: 0,
        },
    };
    GroupRow {
        host: HostId(host),
        namespace: Namespace::parse("gse").unwrap(),
        groups: (0..n_groups).map(group).collect(),
    }
}

/// Created `n` seconds after a certain moment.
pub fn task(n: u32) -> TaskRow {
    TaskRow {
        id: task_id(n),
        created_at: moment(n),
        app: "app".into(),
        user: "üser".into(),
        retries: n.is_multiple_of(3).then(|| task_id(n + 1)),
    }
}

/// The newest of all tasks.
pub fn task_page(limit: u32) -> TaskPage {
    TaskPage {
        limit,
        ..TaskPage::default()
    }
}

pub fn task_id(n: u32) -> TaskId {
    TaskId::new(moment(n), n)
}

pub fn moment(n: u32) -> UnixMillis {
    UnixMillis::from_secs(1_700_000_000 + i64::from(n))
}

pub fn op_id(task: u32, ordinal: u32) -> OpId {
    OpId {
        task: task_id(task),
        ordinal,
    }
}

pub fn target(task: u32, ordinal: u32) -> TargetRow {
    TargetRow {
        op_id: op_id(task, ordinal),
        op: Op::ALL[ordinal as usize % Op::ALL.len()],
        host: (!ordinal.is_multiple_of(3)).then_some(HostId(ordinal)),
        process: Arc::new(FullName::parse("gse", &format!("p{}", ordinal / 4)).unwrap()),
        key_prefixes: [
            format!("0:0:10.0.0.{ordinal}").into(),
            format!("agent-{ordinal}").into(),
        ]
        .into(),
        probe: ordinal
            .is_multiple_of(2)
            .then(|| Arc::new(Probe::from(&spec(ordinal / 4)))),
        deadline: moment(task + 90),
    }
}

pub fn outcome(task: u32, ordinal: u32, code: Code) -> OutcomeRow {
    OutcomeRow {
        op_id: op_id(task, ordinal),
        outcome: Outcome {
            flag: Some(Flag::Running),
            managed: Some(true),
            ran: Some(CommandRun {
                command: "./start.sh".into(),
                exit: Some(Exit::Signal(9)),
                duration_ms: 1234,
                output: "out\u{0}put\n".repeat(ordinal as usize % 5),
            }),
            instance: Some(Box::new(ProcessInspection {
                pid: -1,
                cpu: 0.25,
                ..ProcessInspection::default()
            })),
            ..Outcome::plain(code, "it ended", moment(task + 1))
        },
    }
}

/// A task and all its targets.
pub fn asked(n: u32, n_targets: u32) -> Changes {
    Changes {
        tasks: vec![task(n)],
        targets: (0..n_targets).map(|ordinal| target(n, ordinal)).collect(),
        ..Changes::default()
    }
}

/// The end of these targets.
pub fn ended(task: u32, ordinals: std::ops::Range<u32>, code: Code) -> Changes {
    Changes {
        outcomes: ordinals.map(|o| outcome(task, o, code)).collect(),
        ..Changes::default()
    }
}

pub fn timeline(n: u32) -> TimelineRow {
    TimelineRow {
        at: moment(n),
        kind: TimelineKind::Operation,
        process: Some(NameId(n)),
        hosts: (0..n).map(HostId).collect(),
        body: TimelineBody {
            code: "stop".into(),
            user: "alice".into(),
            ..TimelineBody::default()
        },
    }
}

pub fn event(host: u32, seq: u64) -> EventRow {
    EventRow {
        host: HostId(host),
        seq,
        event: Event {
            at: moment(host),
            process: "gse/p".parse().unwrap(),
            kind: EventKind::ProcessExit,
            reason: "exited with code 1".into(),
            exit: Some(Exit::Code(1)),
            report_id: 7,
        },
    }
}

pub fn secret(n: u32) -> SecretHash {
    SecretHash {
        scheme: HashScheme::Pbkdf2 { rounds: n },
        salt: vec![0, 255, 39],
        hash: vec![n as u8; 32],
    }
}

pub fn app(n: u32) -> App {
    App {
        code: format!("app'{n}"),
        secret: secret(n),
        namespaces: n
            .is_multiple_of(2)
            .then(|| vec![Namespace::parse("gse").unwrap()]),
        trusted: true,
        rate_limit: n,
        created_at: moment(n),
        grants: None,
    }
}

pub fn user(n: u32) -> User {
    User {
        name: format!("user{n}"),
        password: secret(n),
        created_at: moment(n),
        grants: None,
    }
}

pub fn login(n: u32) -> Login {
    Login {
        token_sha256: [n as u8; 32],
        user: format!("user{n}"),
        expires_at: moment(n),
        from: format!("10.0.0.{n}"),
        user_agent: match n % 3 {
            0 => String::new(),
            _ => format!("curl/{n}"),
        },
    }
}

pub fn join_token(n: u32) -> JoinToken {
    JoinToken {
        id: format!("token{n}"),
        token_sha256: [n as u8; 32],
        expires_at: UnixMillis::NEVER,
        host: n.is_multiple_of(2).then(|| "0:10.0.0.1".parse().unwrap()),
        created_at: moment(n),
        uses_left: n.is_multiple_of(2).then_some(n),
        replace: n.is_multiple_of(3),
    }
}

pub fn webhook(n: u32) -> Webhook {
    Webhook {
        id: format!("hook{n}"),
        url: WebhookUrl::parse(&format!("http://10.0.0.{n}:8080/it's?a=\"b\"")).unwrap(),
        namespaces: n
            .is_multiple_of(2)
            .then(|| vec![Namespace::parse("gse").unwrap()]),
        kinds: (!n.is_multiple_of(2)).then(|| vec![EventKind::ConfigDrift]),
        labels: (n % 3 == 1).then(|| r"tier=front,a\=b notin (x,y)".parse().unwrap()),
        secret: format!("secret '{n}'"),
        created_at: moment(n),
    }
}

pub fn audit(n: u32) -> Audit {
    Audit {
        at: moment(n),
        app: format!("app{}", n % 2),
        user: format!("user{}", n % 3),
        from: "::1".into(),
        request_id: n.to_string(),
        action: ["register", "operate"][n as usize % 2].into(),
        object: "gse/*".into(),
        detail: "10 processes, 'all' \"well\"".into(),
    }
}

/// One of everything that `load` shows.
pub fn everything() -> Changes {
    Changes {
        hosts: (0..4).map(host).collect(),
        names: (0..3).map(name).collect(),
        definitions: (0..3).map(definition).collect(),
        processes: (0..7).map(process).collect(),
        groups: vec![groups(1, 2)],
        tasks: vec![task(1)],
        targets: (0..9).map(|ordinal| target(1, ordinal)).collect(),
        outcomes: (0..5).map(|o| outcome(1, o, Code(o as i32))).collect(),
        apps: (0..2).map(app).collect(),
        users: (0..2).map(user).collect(),
        logins: (0..2).map(login).collect(),
        join_tokens: (0..2).map(join_token).collect(),
        webhooks: (0..2).map(webhook).collect(),
        topology: topology(),
        jobs: vec![job(1, JobStatus::Running)],
        job_tasks: (0..5).map(|ordinal| job_task(1, ordinal)).collect(),
        templates: templates(),
        ..Changes::default()
    }
}
