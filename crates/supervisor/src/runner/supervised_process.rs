//! A registered process with everything that the runner knows beside its machine.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use model::figures::FigureRing;
use model::status::{HealthResult, ProbeResults};
use model::{ProcessState, State, Status, UnixMillis};

use super::family_kill::FamilyKill;
use super::group_membership::{GroupMembership, LIMITS_FROM_NEXT_START};
use super::oom::OomKills;
use super::order::Seen;
use super::output::OutputGrowth;
use super::probe::RunProbes;
use super::step::Todo;
use crate::machine::{
    Context, Event, LimitCounters, Moment, NO_ORDER, Phase, Process, Run, Schedule, Usage, View,
    wall_time,
};
use crate::os::family::Mark;
use crate::os::kept_runs::{OpenRuns, RunId};
use crate::os::spawn::{BlockedChild, FailurePipe};
use crate::{Notice, Registration};

#[derive(Debug)]
pub(crate) struct SupervisedProcess {
    pub(crate) registration: Registration,
    pub(crate) process: Process,
    pub(crate) mark: Mark,
    /// The time of its tick in the timer heap.
    pub(crate) armed: Option<u64>,
    pub(crate) watched: Vec<Run>,
    /// Actions of its machine that are not done yet, in order.
    pub(crate) todo: VecDeque<Todo>,
    /// A family that is being killed; meanwhile `todo` waits, and new events wait in `later`.
    pub(crate) family_kill: Option<Box<FamilyKill>>,
    pub(crate) later: VecDeque<Event>,
    /// The root of a family that the agent could not find to kill: nothing is started before it is killed.
    pub(crate) unkilled: Option<Option<Run>>,
    /// Why the last observation failed; empty if it did not.
    pub(crate) not_observed: String,
    /// The last run that is a child of this agent process.
    pub(crate) started: Option<Run>,
    /// A child that blocks until it is in the journal.
    pub(crate) blocked_child: Option<BlockedChild>,
    /// Where the child reports that its command could not be executed.
    pub(crate) failure_pipe: Option<(Run, FailurePipe)>,
    pub(crate) usage: Usage,
    /// The last sample succeeded.
    pub(crate) is_sampled: bool,
    pub(crate) limit_counters: LimitCounters,
    /// Its usage of the last hour; none if it did not run.
    pub(crate) figures: Option<FigureRing>,
    /// The bytes under its log path were counted since its run began.
    pub(crate) disk_counted: bool,
    /// Its configuration files were read since its run began or its spec changed.
    pub(crate) config_checked: bool,
    pub(crate) group_membership: GroupMembership,
    /// Why its run lacks the hard limits of its spec; empty if it has them.
    pub(crate) no_hard_limits: String,
    pub(crate) schedule: Option<Box<Schedule>>,
    pub(crate) schedule_due_boot_ms: Option<u64>,
    /// The run whose health is checked, and when the next check is due.
    pub(crate) health_of: Option<Run>,
    pub(crate) health_due_boot_ms: Option<u64>,
    /// When a waiting query is answered with the last known version.
    pub(crate) query_until_boot_ms: Option<u64>,
    /// The status as last reported to the agent, which keeps the same one.
    pub(crate) reported: Arc<Status>,
    pub(crate) usage_reported_boot_ms: u64,
    /// A foreground run that is a wrapper without its program.
    pub(crate) lacks_main: Option<Run>,
    pub(crate) output: OutputGrowth,
    /// The kept outputs that may still grow.
    pub(crate) open_runs: OpenRuns,
    /// The run that is up, and its number in the history.
    pub(crate) numbered_run: Option<(Run, RunId)>,
    /// Its status says that its user may not read its log.
    pub(crate) log_is_hidden: bool,
    /// A warning was logged that the bytes under its log path cannot be counted.
    pub(crate) disk_is_hidden: bool,
    /// [`model::Spec::launch_digest`] of its spec.
    pub(crate) launch_digest: u64,
    pub(crate) oom_kills: OomKills,
    /// The last health check of the current run. Not in the journal: each check would be written.
    pub(crate) health: Option<Box<HealthResult>>,
    /// The probes of the current run, if its spec has some.
    pub(crate) probes: Option<Box<RunProbes>>,
    /// What its dependents last looked at; none as long as no process depends on another.
    pub(crate) seen: Option<Seen>,
}

impl SupervisedProcess {
    /// `agent` distinguishes the commands of this agent from those of another agent on this host.
    pub(crate) fn new(registration: Registration, process: Process, agent: &str) -> Self {
        let mark = Mark::new(agent, &registration.name);
        let launch_digest = registration.spec.launch_digest();
        Self {
            registration,
            process,
            mark,
            armed: None,
            watched: Vec::new(),
            todo: VecDeque::new(),
            family_kill: None,
            later: VecDeque::new(),
            unkilled: None,
            not_observed: String::new(),
            started: None,
            blocked_child: None,
            failure_pipe: None,
            usage: Usage::default(),
            is_sampled: false,
            limit_counters: LimitCounters::default(),
            figures: None,
            disk_counted: false,
            config_checked: false,
            group_membership: GroupMembership::unknown(),
            no_hard_limits: String::new(),
            schedule: None,
            schedule_due_boot_ms: None,
            health_of: None,
            health_due_boot_ms: None,
            query_until_boot_ms: None,
            reported: Arc::default(),
            usage_reported_boot_ms: 0,
            lacks_main: None,
            output: OutputGrowth::default(),
            open_runs: OpenRuns::default(),
            numbered_run: None,
            log_is_hidden: false,
            disk_is_hidden: false,
            launch_digest,
            oom_kills: OomKills::default(),
            health: None,
            probes: None,
            seen: None,
        }
    }

    pub(crate) fn context(&self, now: Moment) -> Context<'_> {
        Context {
            now,
            name: self.registration.name.name.as_str(),
            spec: &self.registration.spec,
            order: &NO_ORDER,
        }
    }

    /// The state as the status shows it.
    pub(crate) fn state(&self) -> ProcessState {
        let view = self.process.view();
        self.scheduled(view.process_state, view.next_at).0
    }

    /// Down, with nothing going on.
    pub(crate) fn is_resting(&self) -> bool {
        matches!(
            self.process.phase,
            Phase::Unobserved | Phase::Down | Phase::Backoff { .. }
        )
    }

    /// Whether its spec has limits that the agent enforces by what it samples.
    pub(crate) fn has_limits(&self) -> bool {
        let spec = &self.registration.spec;
        let (resource, runtime) = (&spec.resource, &spec.runtime);
        let sizes = [runtime.fd_max, runtime.log_bytes_max, runtime.net_max];
        resource.cpu > 0.0 || resource.mem > 0.0 || sizes.into_iter().any(|max| max.is_some())
    }

    /// Its run writes into spools only, and used no CPU between the last two samples.
    pub(crate) fn is_idle_with_spool(&self) -> bool {
        matches!(self.process.phase, Phase::Up { .. })
            && self.usage.fd > 0
            && self.usage.cpu == 0.0
            && self.process.sinks().all(|sink| sink.spool)
    }

    /// The machine's message, with missing hard limits or the next scheduled time, and why an observation failed.
    fn message(&self, view: View<'_>) -> String {
        let message = view.message.into_owned();
        let next = self.schedule.as_ref().and_then(|schedule| schedule.next());
        let more = match (view.state, next) {
            (State::Running, _) => self.no_hard_limits.clone(),
            (State::Stopped | State::Unknown, Some(next)) => {
                format!("next at {}", wall_time(next, &chrono::Local))
            }
            (State::Stopped | State::Unknown, None) => String::new(),
        };
        let parts = [message, more, self.not_observed.clone()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }

    /// With the schedule: a periodic process at rest waits for its next run.
    fn scheduled(&self, state: ProcessState, next_at: UnixMillis) -> (ProcessState, UnixMillis) {
        let next_run = self.schedule.as_ref().and_then(|schedule| schedule.next());
        match (state, next_run) {
            (
                ProcessState::Stopped | ProcessState::Failed | ProcessState::Completed,
                Some(next_run),
            ) => (ProcessState::Scheduled, next_run),
            _ => (state, next_at),
        }
    }

    /// Whether its run began with a spec whose changes since take effect only at the next start.
    fn is_restart_needed(&self, state: State) -> bool {
        let launched_with = self.process.launch_digest();
        let is_changed = launched_with != 0 && launched_with != self.launch_digest;
        state == State::Running && (is_changed || self.no_hard_limits == LIMITS_FROM_NEXT_START)
    }

    /// Whether the reported health says the same, apart from its time.
    fn has_same_health(&self) -> bool {
        match (&self.reported.health, &self.health) {
            (None, None) => true,
            (Some(old), Some(new)) => (old.ok, &old.message) == (new.ok, &new.message),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The last results of its probes.
    fn probe_results(&self) -> ProbeResults {
        self.probes
            .as_ref()
            .map(|probes| probes.results.clone())
            .unwrap_or_default()
    }

    /// Whether the reported results of its probes say the same, apart from their times.
    fn has_same_probes(&self) -> bool {
        match &self.probes {
            None => self.reported.probes.is_empty(),
            Some(probes) => !probes.results.differs(&self.reported.probes),
        }
    }

    /// Takes the result of a health check.
    pub(crate) fn note_health(&mut self, result: &Result<(), String>, now: UnixMillis) {
        self.health = Some(Box::new(HealthResult {
            ok: result.is_ok(),
            checked_at: now,
            message: result.as_ref().err().cloned().unwrap_or_default(),
        }));
    }

    /// Updates the status from the machine; true when something other than usage changed.
    pub(crate) fn refresh(&mut self, now: UnixMillis) -> bool {
        let view = self.process.view();
        let (state, pid, started_at) = (view.state, view.pid, view.started_at);
        let (process_state, next_at) = self.scheduled(view.process_state, view.next_at);
        let restart_needed = self.is_restart_needed(state);
        // Most processes have none of these, and this is called often.
        let has_more = self.schedule.is_some()
            || !self.no_hard_limits.is_empty()
            || !self.not_observed.is_empty();
        let message = match has_more {
            true => Cow::Owned(self.message(view)),
            false => view.message,
        };
        let same = state == self.reported.state
            && process_state == self.reported.process_state
            && next_at == self.reported.next_at
            && self.process.restarts == self.reported.restarts
            && self.process.last_exit == self.reported.last_exit
            && restart_needed == self.reported.restart_needed
            && self.has_same_health()
            && self.has_same_probes()
            && pid == self.reported.pid
            && message == self.reported.message
            && self.process.version == self.reported.version
            && started_at == self.reported.started_at
            && self.reported.flag == Some(self.process.flag)
            && self.reported.managed == Some(self.process.managed);
        if same {
            return false;
        }
        let message = message.into_owned();
        if pid != self.reported.pid {
            self.disk_counted &= pid <= 0;
            self.config_checked &= pid <= 0;
            self.limit_counters.clear();
            self.usage = Usage {
                disk: self.usage.disk,
                ..Usage::default()
            };
        }
        self.reported = Arc::new(Status {
            state,
            process_state,
            next_at,
            restarts: self.process.restarts,
            last_exit: self.process.last_exit,
            health: self.health.as_deref().cloned(),
            probes: self.probe_results(),
            restart_needed,
            pid,
            version: self.process.version.clone(),
            started_at,
            reported_at: now,
            cpu: self.usage.cpu,
            mem: self.usage.mem,
            fd: self.usage.fd,
            disk: self.usage.disk,
            net: self.usage.net,
            message,
            flag: Some(self.process.flag),
            managed: Some(self.process.managed),
        });
        true
    }

    /// Updates the usage in the status; true when it changed.
    pub(crate) fn refresh_usage(&mut self, now: UnixMillis) -> bool {
        let reported = Usage {
            cpu: self.reported.cpu,
            mem: self.reported.mem,
            fd: self.reported.fd,
            disk: self.reported.disk,
            net: self.reported.net,
        };
        let checked_at = self.health.as_ref().map(|health| health.checked_at);
        let known = self.reported.health.as_ref();
        let is_checked = known.map(|health| health.checked_at) != checked_at;
        let probed = self.probes.as_ref();
        let is_probed = probed.is_some_and(|probes| probes.results != self.reported.probes);
        if reported == self.usage && !is_checked && !is_probed {
            return false;
        }
        let probes = is_probed.then(|| self.probe_results());
        let reported = Arc::make_mut(&mut self.reported);
        if let (Some(known), Some(checked_at)) = (&mut reported.health, checked_at) {
            known.checked_at = checked_at;
        }
        if let Some(probes) = probes {
            reported.probes = probes;
        }
        reported.cpu = self.usage.cpu;
        reported.mem = self.usage.mem;
        reported.fd = self.usage.fd;
        reported.disk = self.usage.disk;
        reported.net = self.usage.net;
        reported.reported_at = now;
        true
    }

    pub(crate) fn notice(&self) -> Notice {
        Notice::Status(self.registration.name.clone(), Arc::clone(&self.reported))
    }
}
