//! Figures over time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::UnixMillis;

use crate::HostText;

responses! {
    /// What a process used in the last hour. The oldest first; null where it did not run.
    pub struct ProcessFigures {
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        /// How far apart two figures are.
        pub step_secs: u64,
        /// The time of the last figure.
        #[schema(value_type = i64)]
        pub until: UnixMillis,
        /// Percent of the whole machine.
        pub cpu: Vec<Option<f64>>,
        pub mem: Vec<Option<f64>>,
        /// Open descriptors.
        pub fd: Vec<Option<u32>>,
    }

    /// How many processes were in each state. The oldest first; null where no server ran.
    pub struct StateFigures {
        pub step_secs: u64,
        /// The time of the last figure.
        #[schema(value_type = i64)]
        pub until: UnixMillis,
        #[schema(value_type = BTreeMap<String, Vec<Option<u64>>>)]
        pub states: BTreeMap<Cow<'static, str>, Vec<Option<u64>>>,
    }
}
