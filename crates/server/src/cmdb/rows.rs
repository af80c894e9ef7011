//! Converts rows of a CMDB to facts. Every number may be a string, and everything may be null.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use model::topology::{
    BusinessFacts, BusinessId, HostFacts, ModuleFacts, ProcessFacts, ProcessSource, Program,
    ServiceFacts, SetEnv, SetFacts, SourceFault, SourceRow,
};
use model::{AgentId, Host, Invalid};
use serde_json::Value;

/// A cloud area with its name.
pub(super) fn cloud(row: &Value) -> Option<(u32, String)> {
    Some((number(&row["bk_cloud_id"])?, text(&row["bk_cloud_name"])?))
}

/// Adds the service templates of modules, which another call returns.
pub(super) fn add_service_templates(facts: &mut BusinessFacts, modules: &Value) {
    let templates: HashMap<u32, u32> = modules
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| {
            Some((
                number(&row["bk_module_id"])?,
                number(&row["service_template_id"])?,
            ))
        })
        .collect();
    for module in &mut facts.modules {
        if let Some(template) = module.id.and_then(|id| templates.get(&id)) {
            module.service_template = *template;
        }
    }
}

/// Collects facts from rows one by one, so that no row is kept.
#[derive(Debug)]
pub(super) struct FactsReader {
    facts: BusinessFacts,
    sets: HashMap<u32, usize>,
    modules: HashMap<u32, usize>,
    hosts: HashMap<u32, usize>,
    services: HashMap<u32, usize>,
    process_ids: HashSet<u32>,
}

impl FactsReader {
    pub(super) fn new(business: BusinessId) -> Self {
        Self {
            facts: BusinessFacts {
                business: Some(business),
                name: format!("business {business}"),
                ..BusinessFacts::default()
            },
            sets: HashMap::new(),
            modules: HashMap::new(),
            hosts: HashMap::new(),
            services: HashMap::new(),
            process_ids: HashSet::new(),
        }
    }

    pub(super) fn into_facts(self) -> BusinessFacts {
        self.facts
    }

    pub(super) fn row(&mut self, row: &Value) {
        // Set 0 holds idle hosts.
        if number(&row["set"]["bk_set_id"]).is_none_or(|id| id == 0) {
            return;
        }
        let named = row_name(row);
        match self.process(row) {
            Ok(()) => {}
            Err(invalid) => {
                let id = number(&row["process"]["bk_process_id"]);
                self.facts.unread.extend(id);
                self.facts.troubles.push(SourceFault {
                    row: SourceRow(named),
                    reason: invalid.to_string(),
                    cause: Some(invalid.reason()),
                });
            }
        }
    }

    fn process(&mut self, row: &Value) -> Result<(), Invalid> {
        let process = &row["process"];
        let id = required(process, "process", "bk_process_id")?;
        // A row may appear on two pages when the list changes meanwhile.
        if !self.process_ids.insert(id) {
            return Ok(());
        }
        let set = self.set(&row["set"])?;
        let module = self.module(&row["module"], set)?;
        let host = self.host(&row["host"])?;
        let service = self.service(&row["service_instance"], module, host)?;
        self.facts.processes.push(ProcessFacts {
            id: Some(id),
            service,
            process_template: number(&row["process_template"]["id"]).unwrap_or(0),
            program: Arc::new(program(process)),
            row: ProcessSource::new(row_name(row)),
        });
        Ok(())
    }

    fn set(&mut self, set: &Value) -> Result<usize, Invalid> {
        let id = required(set, "set", "bk_set_id")?;
        if let Some(index) = self.sets.get(&id) {
            return Ok(*index);
        }
        let env = match number(&set["bk_set_env"]) {
            Some(env) => u8::try_from(env)
                .ok()
                .and_then(|env| SetEnv::try_from(env).ok())
                .ok_or_else(|| {
                    let rule = format!("must be 1, 2 or 3, not {env}");
                    Invalid::new("set.bk_set_env", rule)
                })?,
            None => SetEnv::default(),
        };
        self.facts.sets.push(SetFacts {
            id: Some(id),
            name: text(&set["bk_set_name"]).unwrap_or_default(),
            env,
            attributes: attributes(set, &["bk_set_id", "bk_set_name", "bk_set_env"]),
        });
        let index = self.facts.sets.len() - 1;
        self.sets.insert(id, index);
        Ok(index)
    }

    fn module(&mut self, module: &Value, set: usize) -> Result<usize, Invalid> {
        let id = required(module, "module", "bk_module_id")?;
        if let Some(index) = self.modules.get(&id) {
            return Ok(*index);
        }
        self.facts.modules.push(ModuleFacts {
            id: Some(id),
            set,
            name: text(&module["bk_module_name"]).unwrap_or_default(),
            service_template: number(&module["service_template_id"]).unwrap_or(0),
            attributes: attributes(
                module,
                &["bk_module_id", "bk_module_name", "service_template_id"],
            ),
        });
        let index = self.facts.modules.len() - 1;
        self.modules.insert(id, index);
        Ok(index)
    }

    fn host(&mut self, host: &Value) -> Result<usize, Invalid> {
        let id = required(host, "host", "bk_host_id")?;
        if let Some(index) = self.hosts.get(&id) {
            return Ok(*index);
        }
        // A host with several addresses is identified by its first, and found by all.
        let all = |field: &str| text(&host[field]).unwrap_or_default();
        let (all_v4, all_v6) = (all("bk_host_innerip"), all("bk_host_innerip_v6"));
        let first = |all: &str| all.split(',').next().unwrap_or_default().trim().to_owned();
        let (v4, v6) = (first(&all_v4), first(&all_v6));
        let others = all_v4.split(',').skip(1).chain(all_v6.split(',').skip(1));
        let other_innerips: BTreeSet<IpAddr> =
            others.filter_map(|ip| ip.trim().parse().ok()).collect();
        let ip = match v4.is_empty() {
            true => &v6,
            false => &v4,
        };
        let cloud = number(&host["bk_cloud_id"]).unwrap_or(0);
        let host_of =
            Host::parse(i64::from(cloud), ip).map_err(|invalid| invalid.within("host"))?;
        let agent_id = text(&host["bk_agent_id"]).filter(|id| !id.trim().is_empty());
        self.facts.hosts.push(HostFacts {
            id: Some(id),
            cloud,
            ip: host_of.ip,
            ip_v6: v6.parse().ok(),
            other_innerips: other_innerips.into_iter().collect(),
            agent_id: match agent_id {
                Some(id) => Some(AgentId::parse(&id).map_err(|invalid| invalid.within("host"))?),
                None => None,
            },
            attributes: attributes(
                host,
                &[
                    "bk_host_id",
                    "bk_host_innerip",
                    "bk_host_innerip_v6",
                    "bk_cloud_id",
                    "bk_agent_id",
                ],
            ),
        });
        let index = self.facts.hosts.len() - 1;
        self.hosts.insert(id, index);
        Ok(index)
    }

    fn service(&mut self, service: &Value, module: usize, host: usize) -> Result<usize, Invalid> {
        let id = required(service, "service_instance", "id")?;
        if let Some(index) = self.services.get(&id) {
            return Ok(*index);
        }
        self.facts.services.push(ServiceFacts {
            id: Some(id),
            module,
            host,
            name: text(&service["name"]).unwrap_or_default(),
        });
        let index = self.facts.services.len() - 1;
        self.services.insert(id, index);
        Ok(index)
    }
}

fn program(process: &Value) -> Program {
    let of = |field: &str| text(&process[field]).unwrap_or_default();
    Program {
        bk_process_name: of("bk_process_name"),
        bk_func_name: of("bk_func_name"),
        proc_num: number(&process["proc_num"]).unwrap_or(1),
        priority: signed(&process["priority"]),
        user: of("user"),
        work_path: of("work_path"),
        pid_file: of("pid_file"),
        start_cmd: of("start_cmd"),
        stop_cmd: of("stop_cmd"),
        restart_cmd: of("restart_cmd"),
        reload_cmd: of("reload_cmd"),
        face_stop_cmd: of("face_stop_cmd"),
        timeout: number(&process["timeout"]),
        bk_start_check_secs: number(&process["bk_start_check_secs"]),
        ..Program::default()
    }
}

/// Names a row in a message: by the id and name of its process, as far as they can be read.
fn row_name(row: &Value) -> String {
    let process = &row["process"];
    let name = text(&process["bk_process_name"]).unwrap_or_default();
    match number(&process["bk_process_id"]) {
        Some(id) => format!("bk_process_id {id} {name}"),
        None => format!("process {name}"),
    }
}

fn required(of: &Value, what: &str, field: &str) -> Result<u32, Invalid> {
    number(&of[field]).ok_or_else(|| {
        let rule = format!("must be a whole number, not {}", of[field]);
        Invalid::new(format!("{what}.{field}"), rule)
    })
}

pub(super) fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn signed(value: &Value) -> Option<i32> {
    match value {
        Value::Number(number) => number
            .as_i64()
            .and_then(|number| i32::try_from(number).ok()),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// All other fields, for templates.
fn attributes(of: &Value, known: &[&str]) -> model::topology::Attributes {
    let fields = of.as_object().into_iter().flatten();
    fields
        .filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(id: u32, host: Value) -> Value {
        json!({
            "set": {"bk_set_id": "5", "bk_set_name": "管控平台", "bk_set_env": "3", "bk_set_desc": "x"},
            "module": {"bk_module_id": 21, "bk_module_name": "gse_agent"},
            "host": host,
            "service_instance": {"id": id, "name": format!("service {id}")},
            "process_template": {"id": 26},
            "process": {
                "bk_process_id": id, "bk_process_name": "gse_agent", "bk_func_name": "gse_agent", "proc_num": null,
                "priority": "-3", "user": null, "work_path": "/opt", "pid_file": "p.pid", "timeout": "30",
            },
        })
    }

    fn host(id: u32) -> Value {
        json!({"bk_host_id": id, "bk_host_innerip": format!("10.0.0.{id},10.1.0.{id}"), "bk_cloud_id": 0, "bk_agent_id": ""})
    }

    fn facts(rows: &[Value]) -> BusinessFacts {
        let mut reader = FactsReader::new(BusinessId(2));
        rows.iter().for_each(|row| reader.row(row));
        reader.into_facts()
    }

    #[test]
    fn rows_with_numbers_as_strings_become_facts() {
        let area = json!({"bk_cloud_id": "0", "bk_cloud_name": "default area"});
        assert_eq!(cloud(&area), Some((0, "default area".into())));
        let rows = [row(46, host(1)), row(47, host(2)), row(46, host(1))];
        let mut facts = facts(&rows);
        assert!(facts.troubles.is_empty(), "{:?}", facts.troubles);
        assert_eq!(
            (facts.sets.len(), facts.modules.len(), facts.hosts.len()),
            (1, 1, 2)
        );
        assert_eq!(facts.processes.len(), 2, "a repeated row counts once");
        assert_eq!(facts.sets[0].env, SetEnv::Formal);
        assert_eq!(facts.sets[0].attributes["bk_set_desc"], "x");
        assert_eq!(facts.hosts[0].ip.to_string(), "10.0.0.1");
        let others: Vec<_> = facts.hosts[0]
            .other_innerips
            .iter()
            .map(IpAddr::to_string)
            .collect();
        assert_eq!(others, ["10.1.0.1"]);
        let program = &facts.processes[0].program;
        assert_eq!(
            (program.proc_num, program.priority, program.timeout),
            (1, Some(-3), Some(30))
        );
        add_service_templates(
            &mut facts,
            &json!([{"bk_module_id": 21, "service_template_id": 26}]),
        );
        assert_eq!(facts.modules[0].service_template, 26);
    }

    #[test]
    fn an_invalid_row_is_reported_and_left_out() {
        let nowhere = json!({"bk_host_id": 9, "bk_host_innerip": "nowhere"});
        let mut idle = row(50, host(5));
        idle["set"]["bk_set_id"] = json!(0);
        let v6 = json!({"bk_host_id": 7, "bk_host_innerip": "", "bk_host_innerip_v6": "fe80::7", "bk_cloud_id": "3"});
        let facts = facts(&[row(46, nowhere), row(47, host(1)), idle, row(48, v6)]);
        assert_eq!(facts.processes.len(), 2);
        assert_eq!(facts.troubles.len(), 1);
        assert_eq!(facts.unread, [46]);
        assert_eq!(facts.troubles[0].row.0, "bk_process_id 46 gse_agent");
        assert!(
            facts.troubles[0].reason.starts_with("host.ip: must be"),
            "{:?}",
            facts.troubles
        );
        assert_eq!(
            (facts.hosts[1].cloud, facts.hosts[1].ip.to_string()),
            (3, "fe80::7".into())
        );
    }
}
