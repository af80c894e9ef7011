//! The variables of a template for one instance, under their new names and those of older templates.

use fleet::view::ViewRow;
use model::topology::ProgramText;
use serde_json::{Map, Value, json};

use crate::topology::{Variables, line};

/// The variables of an instance. Attributes do not replace them.
pub(super) fn of(row: &ViewRow<'_>, local_inst_id: u32) -> Map<String, Value> {
    let variables = Variables::of(row, local_inst_id);
    let mut all = variables.all();
    let path = |of: ProgramText| {
        let text = line(of.field(), row.program.text(of), &variables);
        text.map_or_else(
            |_| row.program.text(of).to_owned(),
            |text| text.into_owned(),
        )
    };
    let machine = row.machine;
    let ip = machine.host.ip.to_string();
    let own = json!({
        "bk_biz_id": row.business.id.0,
        "bk_biz_name": row.business.name,
        "bk_set_id": row.set.id.0,
        "bk_set_env": row.set.env.number().to_string(),
        "SetEnviType": row.set.env.number().to_string(),
        "bk_module_id": row.module.id.0,
        "bk_service_id": row.process.service.0,
        "bk_service_name": row.service_name,
        "bk_host_id": machine.id.0,
        "bk_host_innerip": ip,
        "InnerIP": ip,
        "bk_host_innerip_v6": machine.ip_v6.map(|ip| ip.to_string()).unwrap_or_default(),
        "bk_cloud_id": machine.host.cloud,
        "bk_cloud_name": row.cloud_name.unwrap_or_default(),
        "bk_agent_id": machine.agent_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        "bk_process_id": row.process.id.0,
        "bk_func_name": row.program.bk_func_name,
        "FuncName": row.program.bk_func_name,
        "ProcName": row.program.bk_process_name,
        "proc_num": row.program.proc_num,
        "user": row.program.user,
        "WorkPath": path(ProgramText::WorkPath),
        "work_path": path(ProgramText::WorkPath),
        "PidFile": path(ProgramText::PidFile),
        "pid_file": path(ProgramText::PidFile),
        "Scope": {
            "bk_set_id": row.set.id.0,
            "bk_set_name": row.set.name,
            "bk_set_env": row.set.env.number().to_string(),
            "bk_module_id": row.module.id.0,
            "bk_module_name": row.module.name,
            "bk_service_id": row.process.service.0,
            "bk_service_name": row.service_name,
            "bk_process_id": row.process.id.0,
            "bk_process_name": row.program.bk_process_name,
        },
        "global_variables": row.business.variables,
    });
    if let Value::Object(own) = own {
        all.extend(own);
    }
    let attributes = [
        &row.machine.attributes,
        &row.module.attributes,
        &row.set.attributes,
        &row.business.variables,
    ];
    for (name, value) in attributes.into_iter().flatten() {
        all.entry(name.clone()).or_insert_with(|| value.clone());
    }
    all
}
