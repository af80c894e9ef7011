//! Converts a document to facts.

use std::collections::HashMap;
use std::sync::Arc;

use super::{BusinessDocument, ModuleDocument, ProcessDocument, ServiceDocument, further};
use crate::topology::{
    BusinessFacts, BusinessId, HostFacts, ModuleFacts, ProcessFacts, ProcessSource, Program,
    ServiceFacts, SetEnv, SetFacts,
};
use crate::{AgentId, Host, Invalid};

pub(super) fn facts(document: &BusinessDocument) -> Result<BusinessFacts, Invalid> {
    let mut reader = Reader {
        facts: BusinessFacts {
            business: Some(BusinessId(document.bk_biz_id)),
            name: match document.bk_biz_name.trim() {
                "" => format!("business {}", document.bk_biz_id),
                name => name.to_owned(),
            },
            variables: document.variables.clone(),
            clouds: document
                .clouds
                .iter()
                .map(|(id, name)| (*id, name.clone()))
                .collect(),
            ..BusinessFacts::default()
        },
        hosts: HashMap::new(),
    };
    for (index, host) in document.hosts.iter().enumerate() {
        let at = format!("hosts[{index}]");
        let index = reader.host(&host.host).map_err(|e| e.within(&at))?;
        let facts = &mut reader.facts.hosts[index];
        facts.id = host.bk_host_id;
        facts.ip_v6 = host.bk_host_innerip_v6;
        facts.other_innerips = host.other_innerips.clone();
        facts.agent_id = match &host.bk_agent_id {
            Some(id) => Some(AgentId::parse(id).map_err(|e| e.within(&at))?),
            None => None,
        };
        facts.attributes = host.attributes.clone();
    }
    for (index, set) in document.sets.iter().enumerate() {
        let at = format!("sets[{index}]");
        named("bk_set_name", &set.bk_set_name).map_err(|e| e.within(&at))?;
        reader.facts.sets.push(SetFacts {
            id: set.bk_set_id,
            name: set.bk_set_name.clone(),
            env: SetEnv::try_from(set.bk_set_env).map_err(|e| e.within(&at))?,
            attributes: set.attributes.clone(),
        });
        for (number, module) in set.modules.iter().enumerate() {
            let at = format!("{at}.modules[{number}]");
            reader.module(module, index, &at)?;
        }
    }
    Ok(reader.facts)
}

struct Reader {
    facts: BusinessFacts,
    hosts: HashMap<Host, usize>,
}

impl Reader {
    fn host(&mut self, text: &str) -> Result<usize, Invalid> {
        let host: Host = text.parse()?;
        let facts = &mut self.facts.hosts;
        Ok(*self.hosts.entry(host).or_insert_with(|| {
            facts.push(HostFacts {
                id: None,
                cloud: host.cloud,
                ip: host.ip,
                ip_v6: None,
                other_innerips: Vec::new(),
                agent_id: None,
                attributes: Default::default(),
            });
            facts.len() - 1
        }))
    }

    fn module(&mut self, module: &ModuleDocument, set: usize, at: &str) -> Result<(), Invalid> {
        named("bk_module_name", &module.bk_module_name).map_err(|e| e.within(at))?;
        let index = self.facts.modules.len();
        self.facts.modules.push(ModuleFacts {
            id: module.bk_module_id,
            set,
            name: module.bk_module_name.clone(),
            service_template: module.service_template_id,
            attributes: module.attributes.clone(),
        });
        if !module.hosts.is_empty() && module.processes.is_empty() {
            let rule = "has hosts, but no processes that they would run";
            return Err(Invalid::new(at, rule));
        }
        let shared = described(&module.processes, at);
        for (number, host) in module.hosts.iter().enumerate() {
            let at_host = format!("{at}.hosts[{number}]");
            let service = self.service(module, None, host, index, &at_host)?;
            self.processes(shared.iter(), service, host)?;
        }
        for (number, service) in module.service_instances.iter().enumerate() {
            let at = format!("{at}.service_instances[{number}]");
            let (own, host) = (&service.processes, &service.host);
            let index = self.service(module, Some(service), host, index, &at)?;
            let shared = module.processes.iter().zip(&shared).filter(|(shared, _)| {
                // A process of the service instance replaces that of the module.
                !own.iter()
                    .any(|own| own.bk_process_name == shared.bk_process_name)
            });
            let shared = shared.map(|(_, described)| described);
            self.processes(shared.chain(&described(own, &at)), index, host)?;
        }
        Ok(())
    }

    fn service(
        &mut self,
        module: &ModuleDocument,
        service: Option<&ServiceDocument>,
        host: &str,
        index: usize,
        at: &str,
    ) -> Result<usize, Invalid> {
        let host = self.host(host).map_err(|e| e.within(at))?;
        let ip = self.facts.hosts[host].ip;
        let name = service.and_then(|service| service.name.clone());
        self.facts.services.push(ServiceFacts {
            id: service.and_then(|service| service.service_instance_id),
            module: index,
            host,
            name: name.unwrap_or_else(|| format!("{ip}_{}", module.bk_module_name)),
        });
        Ok(self.facts.services.len() - 1)
    }

    fn processes<'d>(
        &mut self,
        processes: impl Iterator<Item = &'d Result<Described, Invalid>>,
        service: usize,
        host: &str,
    ) -> Result<(), Invalid> {
        let host = Arc::from(host);
        for process in processes {
            let process = process.as_ref().map_err(Invalid::clone)?;
            self.facts.processes.push(ProcessFacts {
                id: process.id,
                service,
                process_template: process.template,
                program: process.program.clone(),
                row: ProcessSource::on_host(&process.row, &host),
            });
        }
        Ok(())
    }
}

/// A process of the document, for all hosts that run it.
struct Described {
    id: Option<u32>,
    template: u32,
    program: Arc<Program>,
    row: Arc<str>,
}

/// Each of these processes, or what is wrong with it: that matters only where a host runs it.
fn described(processes: &[ProcessDocument], at: &str) -> Vec<Result<Described, Invalid>> {
    let describe = |(number, process): (usize, &ProcessDocument)| {
        let row = format!("{at}.processes[{number}]");
        named("bk_process_name", &process.bk_process_name).map_err(|e| e.within(&row))?;
        let program = program(process).map_err(|e| e.within(&row))?;
        program.check().map_err(|e| e.within(&row))?;
        Ok(Described {
            id: process.bk_process_id,
            template: process.process_template_id,
            program: Arc::new(program),
            row: row.into(),
        })
    };
    processes.iter().enumerate().map(describe).collect()
}

fn named(field: &str, name: &str) -> Result<(), Invalid> {
    match name.trim().is_empty() {
        true => Err(Invalid::required(field)),
        false => Ok(()),
    }
}

fn program(process: &ProcessDocument) -> Result<Program, Invalid> {
    further::check_labels(process)?;
    Ok(Program {
        bk_process_name: process.bk_process_name.clone(),
        bk_func_name: process.bk_func_name.clone(),
        proc_num: process.proc_num,
        priority: process.priority,
        user: process.user.clone(),
        work_path: process.work_path.clone(),
        pid_file: process.pid_file.clone(),
        start_cmd: process.start_cmd.clone(),
        stop_cmd: process.stop_cmd.clone(),
        restart_cmd: process.restart_cmd.clone(),
        reload_cmd: process.reload_cmd.clone(),
        face_stop_cmd: process.face_stop_cmd.clone(),
        timeout: process.timeout,
        bk_start_check_secs: process.bk_start_check_secs,
        spec: further::spec(process)?,
        labels: process.labels.clone(),
    })
}
