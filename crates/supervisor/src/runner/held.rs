//! A held process with everything that the runner knows beside its machine.

use model::{Status, UnixMillis};

use crate::machine::{Context, Moment, Phase, Process, Run};
use crate::os::kill::Mark;
use crate::os::spawn::{Complaints, Gated};
use crate::{Hold, Notice};

#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) hold: Hold,
    pub(crate) process: Process,
    pub(crate) mark: Mark,
    /// The tick that stands in the heap for it.
    pub(crate) armed: Option<u64>,
    pub(crate) watched: Vec<Run>,
    /// A child of its that waits to be written down.
    pub(crate) gated: Option<Gated>,
    /// Where the command under way says that it could not be executed.
    pub(crate) complaints: Option<(Run, Complaints)>,
    pub(crate) version: String,
    pub(crate) usage: Usage,
    /// The bytes under its log path were counted since its run began.
    pub(crate) disk_counted: bool,
    /// When a query is answered with the version that is known.
    pub(crate) query_until_boot_ms: Option<u64>,
    /// As last told.
    pub(crate) told: Status,
    pub(crate) usage_told_boot_ms: u64,
    /// Its output was growing fast when it was last looked at, and was so large.
    pub(crate) writes_much: bool,
    pub(crate) output_size: u64,
}

/// What a run uses, as last read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cpu: f32,
    pub(crate) mem: f32,
    pub(crate) fd: u32,
    pub(crate) disk: u64,
    pub(crate) net: u64,
}

impl Held {
    /// `agent` tells the commands of one agent on this machine from those of another.
    pub(crate) fn new(hold: Hold, process: Process, agent: &str) -> Self {
        let mark = Mark::new(agent, &hold.name);
        Self {
            hold,
            process,
            mark,
            armed: None,
            watched: Vec::new(),
            gated: None,
            complaints: None,
            version: String::new(),
            usage: Usage::default(),
            disk_counted: false,
            query_until_boot_ms: None,
            told: Status::default(),
            usage_told_boot_ms: 0,
            writes_much: false,
            output_size: 0,
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

    /// Takes the machine's view into the status; true when something changed that people see at once.
    pub(crate) fn refresh(&mut self, now: UnixMillis) -> bool {
        let view = self.process.view();
        let same = view.state == self.told.state
            && view.pid == self.told.pid
            && view.message == self.told.message
            && self.version == self.told.version
            && self.told.flag == Some(self.process.flag)
            && self.told.managed == Some(self.process.managed);
        if same {
            return false;
        }
        if view.pid != self.told.pid {
            self.disk_counted &= view.pid <= 0;
            self.usage = Usage {
                disk: self.usage.disk,
                ..Usage::default()
            };
        }
        self.told = Status {
            state: view.state,
            pid: view.pid,
            version: self.version.clone(),
            started_at: view.started_at,
            reported_at: now,
            cpu: self.usage.cpu,
            mem: self.usage.mem,
            fd: self.usage.fd,
            disk: self.usage.disk,
            net: self.usage.net,
            message: view.message.into_owned(),
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
