//! The process view.

use std::sync::Arc;

use model::topology::{
    Attributes, BkHostId, BkProcessId, BusinessId, BusinessRow, CloudRow, MachineRow, ModuleId,
    ModuleRow, Origin, Program, ProgramId, ProgramRow, ServiceId, ServiceRow, SetEnv, SetId,
    SetRow, SourceFault, SourceRow, TopologyChanges, ViewProcessRow,
};
use serde_json::json;

use super::{host, moment};

fn attributes(n: u32) -> Attributes {
    match n % 2 {
        0 => Attributes::new(),
        _ => Attributes::from([
            ("it's".into(), json!({"a": [n, null, 1.5, true]})),
            ("空".into(), json!("\u{0} \"\n")),
        ]),
    }
}

pub fn business(n: u32) -> BusinessRow {
    BusinessRow {
        id: BusinessId(n),
        name: format!("业务 {n}"),
        origin: [Origin::Imported, Origin::Cmdb][n as usize % 2],
        refreshed_at: moment(n),
        variables: attributes(n),
        troubles: Vec::from_iter((0..n % 3).map(|row| SourceFault {
            cause: None,
            row: SourceRow(format!("sets[{row}]")),
            reason: "it has no name".into(),
        })),
    }
}

pub fn cloud(n: u32) -> CloudRow {
    CloudRow {
        id: n,
        name: format!("area '{n}'"),
    }
}

pub fn set(n: u32) -> SetRow {
    SetRow {
        id: SetId(n),
        business: BusinessId(n % 2),
        name: format!("set {n}").into(),
        env: SetEnv::ALL[n as usize % 3],
        attributes: attributes(n),
    }
}

pub fn module(n: u32) -> ModuleRow {
    ModuleRow {
        id: ModuleId(n),
        set: SetId(n / 2),
        name: format!("module {n}").into(),
        service_template: n % 2 * 7,
        attributes: attributes(n),
    }
}

pub fn machine(n: u32) -> MachineRow {
    let host = host(n);
    MachineRow {
        id: BkHostId(n),
        host: host.host,
        ip_v6: (n % 2 == 1).then(|| "fe80::1".parse().unwrap()),
        other_innerips: match n % 3 {
            0 => vec!["10.1.0.1".parse().unwrap(), "fe80::2".parse().unwrap()],
            _ => Vec::new(),
        },
        agent_id: host.agent_id,
        attributes: attributes(n),
    }
}

/// Names of all kinds, none of them nice.
pub fn service(n: u32) -> ServiceRow {
    let names = [
        "",
        "1 2 3 ",
        "业务_\u{1F600}",
        "a\u{1}b\n",
        "it's \"so\"",
        " ",
    ];
    ServiceRow {
        id: ServiceId(n),
        module: ModuleId(u32::MAX - n),
        machine: BkHostId(n / 2),
        name: names[n as usize % names.len()].into(),
    }
}

pub fn program(n: u32) -> ProgramRow {
    ProgramRow {
        id: ProgramId(n),
        program: Arc::new(Program {
            bk_process_name: format!("gse_{n}"),
            bk_func_name: "gse_agent".into(),
            proc_num: n,
            priority: (n % 2 == 1).then_some(-3),
            user: "root".into(),
            work_path: "/opt/'${bk_process_name}'".into(),
            pid_file: "/run/进程.pid".into(),
            start_cmd: "./start \"${local_inst_id}\"\n".into(),
            stop_cmd: "./stop".into(),
            restart_cmd: "./restart".into(),
            reload_cmd: "./reload".into(),
            face_stop_cmd: "./kill".into(),
            timeout: (n % 2 == 1).then_some(u32::MAX),
            bk_start_check_secs: n.is_multiple_of(2).then_some(n),
            spec: match n % 3 {
                0 => r#"{"resource":{"cpu":5}}"#.into(),
                _ => String::new(),
            },
            labels: (0..n % 2).map(|n| (format!("l{n}"), "v".into())).collect(),
        }),
    }
}

pub fn view_process(n: u32) -> ViewProcessRow {
    ViewProcessRow {
        id: BkProcessId(n),
        service: ServiceId(u32::MAX - n),
        program: ProgramId(n % 10),
        process_template: n / 2,
        ordinal: n / 3 + 1,
        vanished: n.is_multiple_of(3),
    }
}

/// Some of everything.
pub fn topology() -> TopologyChanges {
    TopologyChanges {
        businesses: (0..3).map(business).collect(),
        clouds: (0..2).map(cloud).collect(),
        sets: (0..4).map(set).collect(),
        modules: (0..4).map(module).collect(),
        machines: (0..4).map(machine).collect(),
        services: (0..12).map(service).collect(),
        programs: (0..3).map(program).collect(),
        processes: (0..7).map(view_process).collect(),
        ..TopologyChanges::default()
    }
}
