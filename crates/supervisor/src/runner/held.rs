//! A held process with everything that the runner knows beside its machine.

use std::borrow::Cow;
use std::collections::VecDeque;

use model::{State, Status, UnixMillis};

use super::ending::Ending;
use super::group::Grouped;
use super::step::Todo;
use crate::machine::{
    Context, Event, Moment, Over, Phase, Process, Run, Schedule, Usage, View, wall_time,
};
use crate::os::family::Mark;
use crate::os::spawn::{Complaints, Gated};
use crate::{Notice, Registration};

#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) hold: Registration,
    pub(crate) process: Process,
    pub(crate) mark: Mark,
    /// The tick that stands in the heap for it.
    pub(crate) armed: Option<u64>,
    pub(crate) watched: Vec<Run>,
    /// Actions of its machine that are still to be done, in order.
    pub(crate) todo: VecDeque<Todo>,
    /// A family of its that is being killed: `todo` waits for that, and so do the events in `later`.
    pub(crate) ending: Option<Box<Ending>>,
    pub(crate) later: VecDeque<Event>,
    /// A family, by its root, that the agent could not look for: nothing is started beside it.
    pub(crate) not_ended: Option<Option<Run>>,
    /// Why the last look told nothing; empty when it did.
    pub(crate) not_looked: String,
    /// The last run that is known to be a child of this very agent.
    pub(crate) started: Option<Run>,
    /// A child of its that waits to be written down.
    pub(crate) gated: Option<Gated>,
    /// Where the command under way says that it could not be executed.
    pub(crate) complaints: Option<(Run, Complaints)>,
    pub(crate) usage: Usage,
    /// The last pass could read its figures.
    pub(crate) is_sampled: bool,
    pub(crate) over: Over,
    /// The bytes under its log path were counted since its run began.
    pub(crate) disk_counted: bool,
    /// Its configuration files were read since its run began or its spec changed.
    pub(crate) config_checked: bool,
    pub(crate) grouped: Grouped,
    /// Why its run has not the hard limits that it asks for; empty when it has.
    pub(crate) no_hard_limits: String,
    pub(crate) schedule: Option<Box<Schedule>>,
    pub(crate) schedule_due_boot_ms: Option<u64>,
    /// The run whose health is checked, and when it is the next time.
    pub(crate) health_of: Option<Run>,
    pub(crate) health_due_boot_ms: Option<u64>,
    /// When a query is answered with the version that is known.
    pub(crate) query_until_boot_ms: Option<u64>,
    /// As last told.
    pub(crate) told: Status,
    pub(crate) usage_told_boot_ms: u64,
    /// The run in the foreground that is a wrapper without its program.
    pub(crate) lacks_main: Option<Run>,
    /// Its output was growing fast when it was last looked at, and was so large.
    pub(crate) writes_much: bool,
    pub(crate) output_size: u64,
    /// Its status says that its user may not look at its log.
    pub(crate) log_is_hidden: bool,
    /// It was said that the bytes under its log path cannot be counted.
    pub(crate) disk_is_hidden: bool,
}

impl Held {
    /// `agent` tells the commands of one agent on this machine from those of another.
    pub(crate) fn new(hold: Registration, process: Process, agent: &str) -> Self {
        let mark = Mark::new(agent, &hold.name);
        Self {
            hold,
            process,
            mark,
            armed: None,
            watched: Vec::new(),
            todo: VecDeque::new(),
            ending: None,
            later: VecDeque::new(),
            not_ended: None,
            not_looked: String::new(),
            started: None,
            gated: None,
            complaints: None,
            usage: Usage::default(),
            is_sampled: false,
            over: Over::default(),
            disk_counted: false,
            config_checked: false,
            grouped: Grouped::unknown(),
            no_hard_limits: String::new(),
            schedule: None,
            schedule_due_boot_ms: None,
            health_of: None,
            health_due_boot_ms: None,
            query_until_boot_ms: None,
            told: Status::default(),
            usage_told_boot_ms: 0,
            lacks_main: None,
            writes_much: false,
            output_size: 0,
            log_is_hidden: false,
            disk_is_hidden: false,
        }
    }

    pub(crate) fn context(&self, now: Moment) -> Context<'_> {
        Context {
            now,
            name: self.hold.name.name.as_str(),
            spec: &self.hold.spec,
        }
    }

    /// Down, with nothing going on.
    pub(crate) fn is_resting(&self) -> bool {
        matches!(
            self.process.phase,
            Phase::Unseen | Phase::Down | Phase::Backoff { .. }
        )
    }

    /// Its run has no log, was sampled, and used nothing that could be measured since the sample before.
    pub(crate) fn is_idle_with_spool(&self) -> bool {
        matches!(self.process.phase, Phase::Up { .. })
            && self.usage.fd > 0
            && self.usage.cpu == 0.0
            && self.process.sinks().all(|sink| sink.spool)
    }

    /// Up and managed: it is kept within its limits.
    pub(crate) fn is_judged(&self) -> bool {
        matches!(self.process.phase, Phase::Up { .. }) && self.process.managed
    }

    /// The message of the machine, with the limits that a run has not, or the next time of a schedule, and why the agent
    /// cannot look.
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
        let parts = [message, more, self.not_looked.clone()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    }

    /// Takes the machine's view into the status; true when something changed that people see at once.
    pub(crate) fn refresh(&mut self, now: UnixMillis) -> bool {
        let view = self.process.view();
        let (state, pid, started_at) = (view.state, view.pid, view.started_at);
        // Most have none of these, and are looked at often.
        let has_more = self.schedule.is_some()
            || !self.no_hard_limits.is_empty()
            || !self.not_looked.is_empty();
        let message = match has_more {
            true => Cow::Owned(self.message(view)),
            false => view.message,
        };
        let same = state == self.told.state
            && pid == self.told.pid
            && message == self.told.message
            && self.process.version == self.told.version
            && started_at == self.told.started_at
            && self.told.flag == Some(self.process.flag)
            && self.told.managed == Some(self.process.managed);
        if same {
            return false;
        }
        let message = message.into_owned();
        if pid != self.told.pid {
            self.disk_counted &= pid <= 0;
            self.config_checked &= pid <= 0;
            self.over.clear();
            self.usage = Usage {
                disk: self.usage.disk,
                ..Usage::default()
            };
        }
        self.told = Status {
            state,
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
        };
        true
    }

    /// Takes the figures into the status; true when one of them changed.
    pub(crate) fn refresh_usage(&mut self, now: UnixMillis) -> bool {
        let told = Usage {
            cpu: self.told.cpu,
            mem: self.told.mem,
            fd: self.told.fd,
            disk: self.told.disk,
            net: self.told.net,
        };
        if told == self.usage {
            return false;
        }
        self.told.cpu = self.usage.cpu;
        self.told.mem = self.usage.mem;
        self.told.fd = self.usage.fd;
        self.told.disk = self.usage.disk;
        self.told.net = self.usage.net;
        self.told.reported_at = now;
        true
    }

    pub(crate) fn notice(&self) -> Notice {
        Notice::Status(self.hold.name.clone(), self.told.clone())
    }
}
