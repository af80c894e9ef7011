//! What an operation or a job by query would do.

use serde_json::{Map, Value};

/// A filter in a body: the parameters of a list, by name. A value is a text, a number, a boolean or a list of them.
pub type FilterBody = Map<String, Value>;

responses! {
    /// What an operation would act on. Nothing is changed.
    pub struct OperationPlan {
        /// How many processes.
        pub count: usize,
        /// On how many hosts.
        pub hosts: usize,
        pub namespaces: Vec<PlanCount>,
        /// test, experience and formal, of processes that belong to a business.
        pub environments: Vec<PlanCount>,
        /// Where the operation would do nothing or fail, the most frequent reason first.
        pub blocked: Vec<PlanBlocked>,
        /// Up to five commands that it would run, the most frequent first.
        pub commands: Vec<PlanCommand>,
        /// The first five processes.
        pub sample: Vec<PlanTarget>,
    }

    pub struct PlanCount {
        pub value: String,
        pub count: usize,
    }

    pub struct PlanBlocked {
        /// `role`, `agent_away`, `not_registered`, `no_command`, `already_running`, `already_stopped`, `already_managed` or
        /// `already_unmanaged`.
        pub reason: String,
        pub count: usize,
        /// The first three hosts.
        pub hosts: Vec<String>,
    }

    pub struct PlanCommand {
        pub command: String,
        /// For how many processes.
        pub count: usize,
    }

    pub struct PlanTarget {
        /// `namespace/name`
        pub process: String,
        /// `cloud:ip`
        pub host: String,
    }
}
