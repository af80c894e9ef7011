//! Flags of the sections that say how the agent keeps a process: `spec.restart`, `spec.stop`,
//! `spec.schedule`.

use model::spec::RawSpec;
use model::spec::restart::GiveUp;
use model::spec::schedule::{Missed, Overlap};
use model::spec::stop::StopSignal;

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

    /// Signals that stop it, in this order (QUIT,TERM), each with its grace; then SIGKILL [default: TERM alone, and no
    /// SIGKILL without --stop-grace]
    #[arg(
        long,
        value_name = "SIGNALS",
        value_delimiter = ',',
        value_parser = StopSignal::parse,
        help_heading = "Stops"
    )]
    stop_signals: Option<Vec<StopSignal>>,
    /// How long it may take to end after each signal before the next follows, and at last SIGKILL [default with
    /// --stop-signals: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Stops")]
    stop_grace: Option<i64>,

    /// Times of its crontab rule that passed while the agent was away: run never, or once for all [default: skip]
    #[arg(long, value_enum, help_heading = "Schedule")]
    schedule_missed: Option<MissedArg>,
    /// A time that comes while a run goes on: skip it, wait for the end of the run, or kill the run [default: skip]
    #[arg(long, value_enum, help_heading = "Schedule")]
    schedule_overlap: Option<OverlapArg>,
    /// Begin each run up to this much later, so that hosts do not act together [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse_secs, help_heading = "Schedule")]
    schedule_jitter: Option<i64>,
    /// Keep the output of this many runs, at most 100 [default: as many as the agent keeps of every process]
    #[arg(long, value_name = "N", help_heading = "Schedule")]
    schedule_history: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MissedArg {
    Skip,
    Once,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OverlapArg {
    Skip,
    Wait,
    Kill,
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
        let stop = spec.stop.get_or_insert_default();
        put(&mut stop.signals, &self.stop_signals);
        put(&mut stop.grace, &self.stop_grace);
        let schedule = spec.schedule.get_or_insert_default();
        let missed = self.schedule_missed.map(|missed| match missed {
            MissedArg::Skip => Missed::Skip,
            MissedArg::Once => Missed::Once,
        });
        let overlap = self.schedule_overlap.map(|overlap| match overlap {
            OverlapArg::Skip => Overlap::Skip,
            OverlapArg::Wait => Overlap::Wait,
            OverlapArg::Kill => Overlap::Kill,
        });
        put(&mut schedule.missed, &missed);
        put(&mut schedule.overlap, &overlap);
        put(&mut schedule.jitter, &self.schedule_jitter);
        put(&mut schedule.history, &self.schedule_history);
    }
}
