//! Converts facts to a document: every service instance separately, with all ids.

use super::{
    BusinessDocument, HostDocument, ModuleDocument, ProcessDocument, ServiceDocument, SetDocument,
    further,
};
use crate::Host;
use crate::topology::{BusinessFacts, HostFacts, ProcessFacts};

pub(super) fn document(facts: &BusinessFacts) -> BusinessDocument {
    let mut services: Vec<ServiceDocument> = facts
        .services
        .iter()
        .map(|service| ServiceDocument {
            service_instance_id: service.id,
            name: Some(service.name.clone()),
            host: address(&facts.hosts[service.host]),
            processes: Vec::new(),
        })
        .collect();
    for process in &facts.processes {
        services[process.service]
            .processes
            .push(of_process(process));
    }
    let mut modules: Vec<ModuleDocument> = facts
        .modules
        .iter()
        .map(|module| ModuleDocument {
            bk_module_id: module.id,
            bk_module_name: module.name.clone(),
            service_template_id: module.service_template,
            attributes: module.attributes.clone(),
            ..ModuleDocument::default()
        })
        .collect();
    for (row, service) in facts.services.iter().zip(services) {
        modules[row.module].service_instances.push(service);
    }
    let mut sets: Vec<SetDocument> = facts
        .sets
        .iter()
        .map(|set| SetDocument {
            bk_set_id: set.id,
            bk_set_name: set.name.clone(),
            bk_set_env: set.env.number(),
            attributes: set.attributes.clone(),
            modules: Vec::new(),
        })
        .collect();
    for (row, module) in facts.modules.iter().zip(modules) {
        sets[row.set].modules.push(module);
    }
    BusinessDocument {
        bk_biz_id: facts.business.map_or(0, |business| business.0),
        bk_biz_name: facts.name.clone(),
        variables: facts.variables.clone(),
        clouds: facts.clouds.iter().cloned().collect(),
        hosts: facts.hosts.iter().map(of_host).collect(),
        sets,
    }
}

fn address(host: &HostFacts) -> String {
    Host::new(host.cloud, host.ip).to_string()
}

fn of_host(host: &HostFacts) -> HostDocument {
    HostDocument {
        host: address(host),
        bk_host_id: host.id,
        bk_host_innerip_v6: host.ip_v6,
        other_innerips: host.other_innerips.clone(),
        bk_agent_id: host.agent_id.as_ref().map(ToString::to_string),
        attributes: host.attributes.clone(),
    }
}

fn of_process(process: &ProcessFacts) -> ProcessDocument {
    let program = &process.program;
    ProcessDocument {
        bk_process_id: process.id,
        bk_process_name: program.bk_process_name.clone(),
        process_template_id: process.process_template,
        bk_func_name: program.bk_func_name.clone(),
        proc_num: program.proc_num,
        priority: program.priority,
        user: program.user.clone(),
        work_path: program.work_path.clone(),
        pid_file: program.pid_file.clone(),
        start_cmd: program.start_cmd.clone(),
        stop_cmd: program.stop_cmd.clone(),
        restart_cmd: program.restart_cmd.clone(),
        reload_cmd: program.reload_cmd.clone(),
        face_stop_cmd: program.face_stop_cmd.clone(),
        timeout: program.timeout,
        bk_start_check_secs: program.bk_start_check_secs,
        spec: further::sections(&program.spec),
        labels: program.labels.clone(),
    }
}
