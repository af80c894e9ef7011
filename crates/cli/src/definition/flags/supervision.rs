//! Flags of the sections that say how the agent keeps a process: `spec.restart`.

use model::spec::RawSpec;
use model::spec::restart::GiveUp;

use super::{parse_secs, put};

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(super) struct SupervisionArgs {
    /// How long before the first restart; each further wait is longer by the factor [default: the interval]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Restarts")]
    restart_delay: Option<i64>,
    /// How many times longer each wait is than the one before [default: 2]
    #[arg(long, value_name = "NUMBER", help_heading = "Restarts")]
    restart_factor: Option<f64>,
    /// The longest wait between restarts [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Restarts")]
    restart_delay_max: Option<i64>,
    /// By how much a wait may be shorter or longer, so that hosts do not act together [default: 10]
    #[arg(long, value_name = "PERCENT", help_heading = "Restarts")]
    restart_jitter: Option<i64>,
    /// A run of this length clears the count of restarts [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Restarts")]
    restart_reset: Option<i64>,
    /// Failed restarts in a row before giving up, or never [default: the retries]
    #[arg(long, value_name = "N|never", value_parser = GiveUp::parse, help_heading = "Restarts")]
    give_up: Option<GiveUp>,
}

impl SupervisionArgs {
    pub(super) fn apply(&self, spec: &mut RawSpec) {
        let restart = spec.restart.get_or_insert_default();
        put(&mut restart.delay, &self.restart_delay);
        put(&mut restart.factor, &self.restart_factor);
        put(&mut restart.delay_max, &self.restart_delay_max);
        put(&mut restart.jitter, &self.restart_jitter);
        put(&mut restart.reset, &self.restart_reset);
        put(&mut restart.give_up, &self.give_up);
    }
}
