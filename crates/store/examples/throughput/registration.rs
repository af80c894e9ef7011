//! Commits that look like registrations.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use model::change::{
    Changes, DefinitionId, DefinitionRow, HostId, HostRow, NameId, NameRow, ProcessId, ProcessRow,
    Revision,
};
use model::spec::{Commands, Identity, Limits, Policy, Spec, WarnReport};
use model::{Flag, FullName, Host, Labels, UnixMillis};

pub(crate) const N_HOSTS: u32 = 10_000;

/// Registration number `n`: one spec for every host.
pub(crate) fn registration(n: u32, revision: Revision) -> Changes {
    let now = UnixMillis::from_secs(1_700_000_000 + i64::from(n));
    let ids = (n * N_HOSTS..).zip(0..N_HOSTS);
    Changes {
        hosts: (n == 0)
            .then(|| (0..N_HOSTS).map(host))
            .into_iter()
            .flatten()
            .collect(),
        names: vec![NameRow {
            id: NameId(n),
            name: FullName::parse("gse", &format!("process-{n}")).expect("it is a name"),
        }],
        definitions: vec![DefinitionRow {
            id: DefinitionId(n),
            name: NameId(n),
            spec: Arc::new(spec()),
            labels: Arc::new(Labels::default()),
        }],
        processes: ids
            .map(|(id, host)| ProcessRow {
                id: ProcessId(id),
                host: HostId(host),
                name: NameId(n),
                definition: DefinitionId(n),
                flag: Flag::Running,
                managed: true,
                registered_at: now,
                incarnation: revision.next(),
                owner: None,
            })
            .collect(),
        ..Changes::default()
    }
}

fn host(n: u32) -> HostRow {
    let host = Host::new(0, IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n)));
    HostRow {
        enrolled_at: UnixMillis(1_700_000_000_000),
        ..HostRow::new(HostId(n), host)
    }
}

pub(crate) fn spec() -> Spec {
    Spec {
        identity: Identity {
            index_key: String::new(),
            proc_name: "gse_agent".into(),
            setup_path: "/usr/local/gse/agent/bin".into(),
            pid_path: "/var/run/gse/agent.pid".into(),
            config_path: "/usr/local/gse/agent/etc/agent.conf".into(),
            log_path: "/var/log/gse".into(),
            user: "root".into(),
        },
        control: Commands {
            start_cmd: "./start.sh".into(),
            stop_cmd: "./stop.sh".into(),
            ..Commands::default()
        },
        resource: Limits::default(),
        monitor_policy: Policy::default(),
        warn_report_policy: WarnReport::default(),
        configmap: Vec::new(),
        runtime: Default::default(),
        restart: Default::default(),
        stop: Default::default(),
        schedule: Default::default(),
        probes: Default::default(),
        after: Default::default(),
    }
}
