//! The process view: the processes of a business.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use model::UnixMillis;

use crate::{HostText, ReasonView, Rows};

responses! {
    pub struct ViewList<'a> {
        /// How many there are in all.
        pub count: u64,
        pub start: u64,
        #[schema(value_type = Vec<ViewProcess<'a>>)]
        pub processes: Rows<ViewProcess<'a>>,
    }

    /// A process of the view: on one host, with one or more instances.
    pub struct ViewProcess<'a> {
        /// Its `bk_process_id`.
        pub id: u32,
        pub business: u32,
        /// `set.module.service.process.id`
        pub expression: String,
        /// The alias.
        pub name: Cow<'a, str>,
        /// `test`, `experience` or `formal`.
        pub env: Cow<'a, str>,
        pub set: NamedId<'a>,
        pub module: NamedId<'a>,
        pub service: NamedId<'a>,
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        #[schema(value_type = Option<String>)]
        pub ip_v6: Option<Ipv6Addr>,
        pub agent_id: Option<Cow<'a, str>>,
        pub cloud_name: Option<Cow<'a, str>>,
        /// 0 for none.
        pub process_template: u32,
        pub service_template: u32,
        /// `running` when all instances run, `unregistered` when nothing was ever heard of any, else `stopped`.
        pub status: Cow<'a, str>,
        /// Whether all instances are managed.
        pub managed: bool,
        /// Its source does not have it any more, and it still runs.
        pub vanished: bool,
        pub priority: Option<i32>,
        pub config_templates: Vec<TemplateOf<'a>>,
        pub instances: Vec<InstanceView<'a>>,
        /// Why it is as it is, of the first instance that is not as wanted; null where all are. `process` names the instance.
        pub reason: Option<ReasonView<'a>>,
        /// Actions of jobs that the caller may not or cannot take now, each with its reason, as in the list of processes; of
        /// `generate`, `release` and `diff` also `no_template`.
        #[schema(value_type = BTreeMap<String, String>)]
        pub blocked: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    }

    #[schema(as = Place)]
    pub struct NamedId<'a> {
        pub id: u32,
        pub name: Cow<'a, str>,
    }

    pub struct TemplateOf<'a> {
        pub id: u32,
        pub name: Cow<'a, str>,
        pub file_name: Cow<'a, str>,
    }

    /// A registered process that belongs to one of the view.
    pub struct InstanceView<'a> {
        /// `namespace/name`
        pub process: String,
        pub local_inst_id: u32,
        pub inst_id: u64,
        /// `running`, `stopped` or `unregistered`.
        pub status: Cow<'a, str>,
        /// As in the list of processes.
        pub state: Cow<'a, str>,
        /// The last known state while the agent is away, else null.
        pub was: Option<Cow<'a, str>>,
        /// Whether its run began with an older spec, whose changes take effect only at the next start.
        pub restart_needed: bool,
        /// What is wanted: `running` or `stopped`.
        pub wanted: Cow<'a, str>,
        pub managed: bool,
        /// Null when there is none.
        pub pid: Option<i32>,
        /// Why it is as it is.
        pub message: Cow<'a, str>,
        /// The same for programs, as in the list of processes; null where everything is as wanted.
        pub reason: Option<ReasonView<'a>>,
        /// Whether its host's agent is connected.
        pub connected: bool,
        /// Times are milliseconds since 1970, 0 for never.
        #[schema(value_type = i64)]
        pub started_at: UnixMillis,
        #[schema(value_type = i64)]
        pub reported_at: UnixMillis,
        /// Percent of the whole machine.
        pub cpu: f64,
        pub mem: f64,
    }

    /// The sets and modules of a business.
    pub struct BusinessTree<'a> {
        pub sets: Vec<TreeSet<'a>>,
    }

    pub struct TreeSet<'a> {
        pub id: u32,
        pub name: Cow<'a, str>,
        /// `test`, `experience` or `formal`.
        pub env: Cow<'a, str>,
        /// How many processes it has.
        pub count: u64,
        /// How many of them run, with all their instances.
        pub running: u64,
        pub modules: Vec<TreeModule<'a>>,
    }

    pub struct TreeModule<'a> {
        pub id: u32,
        pub name: Cow<'a, str>,
        pub count: u64,
        pub running: u64,
    }
}
