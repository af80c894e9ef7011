//! A row of process_status, serialised straight from the fleet.

use fleet::view::{Instance, ViewRow};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::http::selection::env_text;

/// The keys of a row.
#[derive(Debug, Clone, Copy)]
enum Key {
    Id,
    BizId,
    Expression,
    InnerIp,
    CloudId,
    SetEnv,
    SetId,
    ModuleId,
    ServiceTemplateId,
    ServiceInstanceId,
    ProcessName,
    ProcessId,
    ProcessTemplateId,
    ProcessStatus,
    IsAuto,
    SetName,
    ModuleName,
    ServiceName,
    CloudName,
    ConfigTemplates,
    ProcInstInfos,
    InnerIpV6,
    AgentId,
}

/// In the order of the document; the last two are beyond it.
const KEYS: [(Key, &str); 23] = [
    (Key::Id, "id"),
    (Key::BizId, "bk_biz_id"),
    (Key::Expression, "expression"),
    (Key::InnerIp, "bk_host_innerip"),
    (Key::CloudId, "bk_cloud_id"),
    (Key::SetEnv, "bk_set_env"),
    (Key::SetId, "bk_set_id"),
    (Key::ModuleId, "bk_module_id"),
    (Key::ServiceTemplateId, "service_template_id"),
    (Key::ServiceInstanceId, "service_instance_id"),
    (Key::ProcessName, "bk_process_name"),
    (Key::ProcessId, "bk_process_id"),
    (Key::ProcessTemplateId, "process_template_id"),
    (Key::ProcessStatus, "process_status"),
    (Key::IsAuto, "is_auto"),
    (Key::SetName, "bk_set_name"),
    (Key::ModuleName, "bk_module_name"),
    (Key::ServiceName, "bk_service_name"),
    (Key::CloudName, "bk_cloud_name"),
    (Key::ConfigTemplates, "config_templates"),
    (Key::ProcInstInfos, "proc_inst_infos"),
    (Key::InnerIpV6, "bk_host_innerip_v6"),
    (Key::AgentId, "bk_agent_id"),
];

/// The requested keys, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields(u32);

impl Fields {
    /// All when none is named; unknown names are ignored.
    pub(super) fn of(names: Option<&[String]>) -> Self {
        let Some(names) = names.filter(|names| !names.is_empty()) else {
            return Self(u32::MAX);
        };
        let is_named = |name: &str| names.iter().any(|other| other.trim() == name);
        let bits = KEYS
            .iter()
            .filter(|(_, name)| is_named(name))
            .map(|(key, _)| 1 << *key as u32);
        Self(bits.sum())
    }

    fn has(self, key: Key) -> bool {
        self.0 & (1 << key as u32) != 0
    }
}

pub(super) struct StatusRow<'a> {
    pub(super) row: &'a ViewRow<'a>,
    pub(super) fields: Fields,
}

impl Serialize for StatusRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row;
        let machine = row.machine;
        let mut map = serializer.serialize_map(None)?;
        for (key, name) in KEYS.into_iter().filter(|(key, _)| self.fields.has(*key)) {
            match key {
                // GSEKit numbers its rows; a process has only one here.
                Key::Id | Key::ProcessId => map.serialize_entry(name, &row.id())?,
                Key::BizId => map.serialize_entry(name, &row.business.id)?,
                Key::Expression => map.serialize_entry(name, &row.joined_names())?,
                Key::InnerIp => map.serialize_entry(name, &machine.host.ip)?,
                Key::CloudId => map.serialize_entry(name, &machine.host.cloud)?,
                Key::SetEnv => map.serialize_entry(name, env_text(Some(row.set.env)))?,
                Key::SetId => map.serialize_entry(name, &row.set.id)?,
                Key::ModuleId => map.serialize_entry(name, &row.module.id)?,
                Key::ServiceTemplateId => {
                    map.serialize_entry(name, &row.module.service_template)?;
                }
                Key::ServiceInstanceId => map.serialize_entry(name, &row.process.service)?,
                Key::ProcessName => map.serialize_entry(name, &row.program.bk_process_name)?,
                Key::ProcessTemplateId => {
                    map.serialize_entry(name, &row.process.process_template)?;
                }
                Key::ProcessStatus => map.serialize_entry(name, &row.status().number())?,
                Key::IsAuto => map.serialize_entry(name, &row.is_auto())?,
                Key::SetName => map.serialize_entry(name, &*row.set.name)?,
                Key::ModuleName => map.serialize_entry(name, &*row.module.name)?,
                Key::ServiceName => map.serialize_entry(name, row.service_name)?,
                Key::CloudName => map.serialize_entry(name, &row.cloud_name)?,
                Key::ConfigTemplates => map.serialize_entry(name, &Templates(row))?,
                Key::ProcInstInfos => map.serialize_entry(name, &Instances(row))?,
                Key::InnerIpV6 => map.serialize_entry(name, &self.ip_v6())?,
                Key::AgentId => {
                    map.serialize_entry(name, row.agent_id().map_or("", |id| id.as_str()))?
                }
            }
        }
        map.end()
    }
}

impl StatusRow<'_> {
    fn ip_v6(&self) -> Option<std::net::Ipv6Addr> {
        match self.row.machine.host.ip {
            std::net::IpAddr::V6(ip) => Some(ip),
            std::net::IpAddr::V4(_) => self.row.machine.ip_v6,
        }
    }
}

struct Templates<'a>(&'a ViewRow<'a>);

#[derive(Serialize)]
struct TemplateOf<'a> {
    config_template_id: u32,
    template_name: &'a str,
    file_name: &'a str,
}

impl Serialize for Templates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bound = self.0.config_templates();
        serializer.collect_seq(bound.into_iter().map(|template| TemplateOf {
            config_template_id: template.id.0,
            template_name: &template.template_name,
            file_name: &template.file_name,
        }))
    }
}

struct Instances<'a>(&'a ViewRow<'a>);

#[derive(Serialize)]
struct InstanceInfo {
    bk_process_id: u32,
    local_inst_id: u32,
    inst_id: u64,
    process_status: u8,
    is_auto: bool,
}

impl Serialize for Instances<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instances = self.0.instances();
        let info = |instance: Instance<'_>| InstanceInfo {
            bk_process_id: self.0.id().0,
            local_inst_id: instance.local_inst_id,
            inst_id: instance.inst_id,
            process_status: instance.status().number(),
            is_auto: instance.row.managed(),
        };
        serializer.collect_seq(instances.into_iter().map(info))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_a_bit_each_and_none_named_is_all() {
        for (index, (key, _)) in KEYS.iter().enumerate() {
            assert!(Fields::of(None).has(*key) && Fields::of(Some(&[])).has(*key));
            let only = Fields::of(Some(&[KEYS[index].1.to_owned()]));
            let shown = KEYS.iter().filter(|(key, _)| only.has(*key)).count();
            assert_eq!(shown, 1);
        }
        let unknown = Fields::of(Some(&["nothing".to_owned()]));
        assert!(KEYS.iter().all(|(key, _)| !unknown.has(*key)));
    }
}
