//! The process view: business → set → module → service instance (one host) → process → instances.
//!
//! The store keeps these rows and the view shows them. Ids come from the CMDB; the planner assigns small numbers if the source
//! of a business has none. An instance is a registered process with an `owner`: it is not stored twice.

mod alias;
pub mod document;
mod program;
mod source;

pub use alias::escape_alias;
pub use program::{Program, ProgramText};
pub use source::{
    BusinessFacts, HostFacts, ModuleFacts, ProcessFacts, ProcessSource, ServiceFacts, SetFacts,
    SourceFault, SourceRow,
};

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AgentId, FullName, Host, Invalid, Namespace, ProcessName, UnixMillis};

macro_rules! topology_id {
    ($(#[$doc:meta])* $type:ident, $field:literal) => {
        number_id!($(#[$doc])* $type);

        impl $type {
            /// Parses an id of a request.
            pub fn parse(id: i64) -> Result<Self, Invalid> {
                u32::try_from(id).map(Self).map_err(|_| {
                    Invalid::new($field, format!("must be a whole number from 0 to {}", u32::MAX))
                })
            }
        }
    };
}

topology_id!(BusinessId, "bk_biz_id");
topology_id!(SetId, "bk_set_id");
topology_id!(ModuleId, "bk_module_id");
topology_id!(
    /// A service instance: a module on one host.
    ServiceId,
    "bk_service_id"
);
topology_id!(
    /// The CMDB number of a host.
    BkHostId,
    "bk_host_id"
);
topology_id!(
    /// A process of the view. Its instances are registered processes, see [`crate::change::ProcessRow::owner`].
    BkProcessId,
    "bk_process_id"
);
topology_id!(
    /// A [`Program`], shared by all processes with equal descriptions. The planner of the change assigns it.
    ProgramId,
    "program"
);

/// The environment of a set. 0 in a scope means all.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "u8", into = "u8")]
pub enum SetEnv {
    Test,
    Experience,
    #[default]
    Formal,
}

impl SetEnv {
    pub const ALL: [Self; 3] = [Self::Test, Self::Experience, Self::Formal];

    pub fn number(self) -> u8 {
        match self {
            Self::Test => 1,
            Self::Experience => 2,
            Self::Formal => 3,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Experience => "experience",
            Self::Formal => "formal",
        }
    }
}

impl TryFrom<u8> for SetEnv {
    type Error = Invalid;

    fn try_from(number: u8) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|env| env.number() == number)
            .ok_or_else(|| {
                Invalid::new(
                    "bk_set_env",
                    format!("must be 1 (test), 2 (experience) or 3 (formal), not {number}"),
                )
            })
    }
}

impl From<SetEnv> for u8 {
    fn from(env: SetEnv) -> Self {
        env.number()
    }
}

/// The source of a business, which decides how it is refreshed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file or the native API: changes only with the next import.
    #[serde(rename = "given")]
    Imported,
    Cmdb,
}

/// Further attributes of a set, module or host, for templates.
pub type Attributes = BTreeMap<String, serde_json::Value>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BusinessRow {
    pub id: BusinessId,
    pub name: String,
    pub origin: Origin,
    /// The time of the last comparison with the source.
    pub refreshed_at: UnixMillis,
    /// `global_variables` of its templates.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub variables: Attributes,
    /// The rows that the last refresh could not apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<SourceFault>,
}

/// A cloud area; its name is shown and searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudRow {
    pub id: u32,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetRow {
    pub id: SetId,
    pub business: BusinessId,
    pub name: Arc<str>,
    pub env: SetEnv,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleRow {
    pub id: ModuleId,
    pub set: SetId,
    pub name: Arc<str>,
    /// 0 for none.
    #[serde(default)]
    pub service_template: u32,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// A host of the view: a [`Host`] of the fleet with its CMDB number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineRow {
    pub id: BkHostId,
    pub host: Host,
    pub ip_v6: Option<Ipv6Addr>,
    /// Further inner addresses by which it can be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_innerips: Vec<IpAddr>,
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRow {
    pub id: ServiceId,
    pub module: ModuleId,
    pub machine: BkHostId,
    pub name: Arc<str>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProgramRow {
    pub id: ProgramId,
    pub program: Arc<Program>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewProcessRow {
    pub id: BkProcessId,
    pub service: ServiceId,
    pub program: ProgramId,
    /// 0 for none.
    pub process_template: u32,
    /// Number of its host among those that run the same alias in the same module, from 1. `inst_id` is derived from it.
    pub ordinal: u32,
    /// Its source no longer has it. It is shown until its last instance has stopped.
    pub vanished: bool,
}

/// The namespace of all instances of a business.
pub fn namespace_of(business: BusinessId) -> Namespace {
    Namespace::parse(&format!("{NAMESPACE_PREFIX}{business}"))
        .expect("a prefix and a number are a namespace")
}

const NAMESPACE_PREFIX: &str = "GSEKIT_BIZ_";

/// The business whose instances are in this namespace.
pub fn business_of(namespace: &Namespace) -> Option<BusinessId> {
    let number = namespace.as_str().strip_prefix(NAMESPACE_PREFIX)?;
    number.parse().ok().map(BusinessId)
}

/// The name of an instance: `{bk_process_name}_{local_inst_id}`, with the alias escaped by [`escape_alias`].
pub fn instance_name(business: BusinessId, alias: &str, local_inst_id: u32) -> FullName {
    let name = format!("{}_{local_inst_id}", escape_alias(alias));
    FullName {
        namespace: namespace_of(business),
        name: ProcessName::parse(&name).expect("a name part and a number are a name"),
    }
}

/// The escaped alias and `local_inst_id` of the name of an instance.
pub fn split_instance_name(name: &ProcessName) -> Option<(&str, u32)> {
    let (alias, local) = name.as_str().rsplit_once('_')?;
    Some((alias, local.parse().ok()?))
}

/// The number of an instance among all of its module and alias.
pub fn inst_id(ordinal: u32, largest_proc_num: u32, local_inst_id: u32) -> u64 {
    u64::from(ordinal.saturating_sub(1)) * u64::from(largest_proc_num) + u64::from(local_inst_id)
}

/// The changes of one commit to the process view.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TopologyChanges {
    pub businesses: Vec<BusinessRow>,
    pub businesses_gone: Vec<BusinessId>,
    pub clouds: Vec<CloudRow>,
    pub sets: Vec<SetRow>,
    pub sets_gone: Vec<SetId>,
    pub modules: Vec<ModuleRow>,
    pub modules_gone: Vec<ModuleId>,
    pub machines: Vec<MachineRow>,
    pub machines_gone: Vec<BkHostId>,
    pub services: Vec<ServiceRow>,
    pub services_gone: Vec<ServiceId>,
    pub programs: Vec<ProgramRow>,
    pub programs_gone: Vec<ProgramId>,
    pub processes: Vec<ViewProcessRow>,
    pub processes_gone: Vec<BkProcessId>,
}

impl TopologyChanges {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_name_is_split_into_its_parts() {
        let name = instance_name(BusinessId(2), "gse_agent", 3);
        assert_eq!(name.to_string(), "GSEKIT_BIZ_2/gse_agent_3");
        assert_eq!(business_of(&name.namespace), Some(BusinessId(2)));
        assert_eq!(split_instance_name(&name.name), Some(("gse_agent", 3)));
        let odd = instance_name(BusinessId(2), "a:b c", 1);
        assert_eq!(odd.name.as_str(), "a%3Ab c_1");
        assert_eq!(split_instance_name(&odd.name), Some(("a%3Ab c", 1)));
    }

    #[test]
    fn instances_of_all_hosts_are_numbered_consecutively() {
        // Three hosts with at most four instances each.
        assert_eq!(inst_id(1, 4, 1), 1);
        assert_eq!(inst_id(1, 4, 4), 4);
        assert_eq!(inst_id(3, 4, 2), 10);
    }

    #[test]
    fn environments_are_numbers_in_the_api() {
        for env in SetEnv::ALL {
            assert_eq!(SetEnv::try_from(env.number()).unwrap(), env);
        }
        assert_eq!(SetEnv::try_from(4).unwrap_err().field, "bk_set_env");
    }
}
