//! A fake host for the machine: processes with scheduled exits, a pid file, a clock, a journal.

use std::collections::BTreeMap;

use model::operation::{Op, OpId, TaskId};
use model::spec::{AutoType, Commands, Identity, Policy};
use model::status::Exit;
use model::{Flag, Spec, UnixMillis};

use crate::machine::{
    Action, Boot, Cmd, Context, Depth, Emission, Event, Form, LiveRun, Moment, NO_ORDER,
    Observation, OperationEnd, Order, Process, Role, Run, Sink, Ticket, record,
};

pub(crate) fn spec() -> Spec {
    Spec {
        identity: Identity {
            index_key: String::new(),
            proc_name: "p".into(),
            setup_path: "/p".into(),
            pid_path: "/p/pid".into(),
            config_path: String::new(),
            log_path: String::new(),
            user: "root".into(),
        },
        control: Commands {
            start_cmd: "start".into(),
            ..Commands::default()
        },
        resource: Default::default(),
        monitor_policy: Policy {
            auto_type: AutoType::Resident,
            ..Policy::default()
        },
        warn_report_policy: Default::default(),
        configmap: Vec::new(),
        runtime: Default::default(),
        restart: Default::default(),
        stop: Default::default(),
        schedule: Default::default(),
        probes: Default::default(),
        after: Default::default(),
    }
}

/// The process as a restarted agent reads it from the journal.
pub(super) fn through_the_journal(process: &Process) -> Process {
    let text = record::serialize(process, serde_json::value::Serializer).unwrap();
    *record::deserialize(text).unwrap()
}

/// What a start command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Exits after 50 ms; its daemon writes the pid file `late_ms` after that and lives `lives_ms`.
    Daemon { late_ms: u64, lives_ms: u64 },
    /// Stays for this long, then exits with the code.
    Stays { lives_ms: u64, code: i32 },
    /// Exits at once.
    Fails { code: i32 },
}

#[derive(Debug, Clone, Copy)]
struct Proc {
    run: Run,
    until: u64,
    exit: Exit,
    /// The command that started it.
    root: Run,
    is_program: bool,
    ignores_term: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) spec: Spec,
    pub(crate) process: Process,
    pub(crate) saved: Process,
    pub(crate) now: u64,
    /// How far the wall clock was set ahead.
    pub(crate) wall_lead_ms: i64,
    procs: BTreeMap<i32, Proc>,
    /// Daemons that will write the pid file.
    coming: Vec<(u64, Proc)>,
    pub(crate) pid_file: Option<i32>,
    next_pid: i32,
    gated: Option<(Proc, Role)>,
    pub(crate) behaviour: Behaviour,
    pub(crate) ignores_term: bool,
    pub(crate) check: Result<(), String>,
    /// The shortage that prevents every start.
    pub(crate) lacks: Option<String>,
    /// Why every observation fails.
    pub(crate) blind: Option<String>,
    pub(crate) ends: Vec<OperationEnd>,
    pub(crate) emitted: Vec<Emission>,
    pub(crate) executed: Vec<Role>,
    pub(crate) signals: usize,
    /// Why every signal is refused.
    pub(crate) refuses: Option<String>,
    pub(crate) instead_of_log: String,
    /// What every observation says about the pid file.
    pub(crate) note: String,
    pub(crate) misnamed_since_boot_ms: Option<u64>,
    pub(crate) sweeps: usize,
    pub(crate) killed: Vec<Run>,
    /// The exit code of stop and reload commands; unless 0, they do nothing.
    pub(crate) commands_exit: i32,
    pub(crate) forgotten: bool,
    /// The agent dies after this many more actions.
    pub(crate) dies_after: Option<u32>,
    dead: bool,
    /// What the other processes mean for this one.
    pub(crate) order: Order,
    /// The most programs that were alive at the same time.
    pub(crate) most_programs: usize,
}

impl World {
    pub(crate) fn new() -> Self {
        let process = Process::new(Flag::Unregistered, false);
        Self {
            spec: spec(),
            saved: process.clone(),
            process,
            now: 1_000_000,
            wall_lead_ms: 0,
            procs: BTreeMap::new(),
            coming: Vec::new(),
            pid_file: None,
            next_pid: 100,
            gated: None,
            behaviour: Behaviour::Daemon {
                late_ms: 0,
                lives_ms: u64::MAX,
            },
            ignores_term: false,
            check: Ok(()),
            lacks: None,
            blind: None,
            ends: Vec::new(),
            emitted: Vec::new(),
            executed: Vec::new(),
            signals: 0,
            refuses: None,
            instead_of_log: String::new(),
            note: String::new(),
            misnamed_since_boot_ms: None,
            sweeps: 0,
            killed: Vec::new(),
            commands_exit: 0,
            forgotten: false,
            dies_after: None,
            dead: false,
            order: Order::default(),
            most_programs: 0,
        }
    }

    fn moment(&self) -> Moment {
        Moment {
            boot_ms: self.now,
            unix: UnixMillis(self.now as i64 + self.wall_lead_ms),
        }
    }

    pub(crate) fn ask(&mut self, number: u32, op: Op) {
        assert!(self.process.accept(ticket(number, op)));
        self.saved = self.process.clone();
        self.drive(Event::Proceed);
    }

    pub(crate) fn drive(&mut self, event: Event) {
        self.step(event);
        self.revive();
        self.watch();
    }

    /// Restarts the agent if it died.
    fn revive(&mut self) {
        while std::mem::take(&mut self.dead) {
            self.gated = None;
            self.dies_after = None;
            self.process = through_the_journal(&self.saved);
            self.step(Event::Recovered(Boot::Same));
        }
    }

    pub(crate) fn restart_agent(&mut self) {
        self.dead = true;
        self.revive();
        self.watch();
    }

    /// Kills the agent, and starts it after a while. It sees no exit code of what ended meanwhile.
    pub(crate) fn restart_agent_after(&mut self, ms: u64) {
        self.now += ms;
        let now = self.now;
        self.procs.retain(|_, proc| proc.until > now);
        self.restart_agent();
    }

    pub(crate) fn reboot(&mut self) {
        self.procs.clear();
        self.coming.clear();
        // The boot clock starts again.
        self.now = 20_000;
        self.process = through_the_journal(&self.saved);
        self.step(Event::Recovered(Boot::Other));
        self.revive();
        self.watch();
    }

    fn step(&mut self, event: Event) {
        let spec = self.spec.clone();
        let context = Context {
            now: self.moment(),
            name: "p",
            spec: &spec,
            order: &self.order,
        };
        let actions = self.process.step(event, &context);
        // One record: the state with the results of the same step.
        self.saved = self.process.clone();
        for action in &actions {
            match action {
                Action::End(ending) => self.ends.push(ending.clone()),
                Action::Emit(emission) => self.emitted.push(emission.clone()),
                _ => {}
            }
        }
        if let Some((child, role)) = self.gated.take() {
            self.execute(child, role);
        }
        for action in actions {
            if self.dies_after == Some(0) {
                self.dead = true;
            }
            if self.dead {
                return;
            }
            self.dies_after = self.dies_after.map(|left| left - 1);
            if let Some(event) = self.perform(action) {
                self.step(event);
            }
        }
    }

    fn perform(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Observe(_) if self.blind.is_some() => {
                Some(Event::NotObserved(self.blind.clone()))
            }
            Action::Observe(depth) => Some(Event::Observed(self.look(depth))),
            Action::Check(_) | Action::Spawn(_) if self.lacks.is_some() => {
                self.lacks.clone().map(Event::Shortage)
            }
            Action::Check(_) => Some(Event::Checked(self.check.clone())),
            Action::Spawn(role) => Some(self.spawn(role)),
            Action::Signal(..) | Action::Kill(_) if self.refuses.is_some() => {
                self.refuses.clone().map(Event::SignalRefused)
            }
            Action::Sweep => {
                self.sweeps += 1;
                self.coming.clear();
                self.end_programs();
                None
            }
            Action::Signal(alive, _) => {
                self.signals += 1;
                let now = self.now;
                if let Some(proc) = self.procs.get_mut(&alive.run.pid)
                    && !proc.ignores_term
                {
                    proc.until = now + 10;
                    proc.exit = Exit::Signal(15);
                }
                Some(Event::Signalled)
            }
            Action::Kill(run) => {
                self.kill(run);
                None
            }
            Action::WritePidFile(pid) => {
                self.pid_file = Some(pid);
                None
            }
            Action::RemovePidFile(pid) => {
                self.pid_file.take_if(|written| *written == pid);
                None
            }
            Action::Inspect => Some(Event::Inspected(Box::default())),
            Action::Forgotten => {
                self.forgotten = true;
                None
            }
            Action::FindVersion | Action::End(_) | Action::Emit(_) => None,
        }
    }

    fn spawn(&mut self, role: Role) -> Event {
        self.next_pid += 1;
        let run = Run {
            pid: self.next_pid,
            start: self.now,
        };
        let child = Proc {
            run,
            until: self.now + 50,
            exit: Exit::Code(0),
            root: run,
            is_program: false,
            ignores_term: false,
        };
        self.gated = Some((child, role));
        Event::Spawned(Cmd {
            run,
            role,
            text: role.field().into(),
            began_boot_ms: self.now,
            began_at: UnixMillis(self.now as i64),
            sink: Sink {
                path: "/s".into(),
                offset: 0,
                spool: true,
                instead_of_log: self.instead_of_log.clone(),
            },
            launch_digest: self.spec.launch_digest(),
        })
    }

    fn execute(&mut self, mut child: Proc, role: Role) {
        self.executed.push(role);
        match role {
            Role::Stop | Role::Reload if self.commands_exit != 0 => {
                child.exit = Exit::Code(self.commands_exit);
            }
            Role::Start => self.launch(child),
            Role::Stop | Role::Kill => self.end_programs(),
            Role::Restart => {
                self.end_programs();
                self.launch(child);
            }
            Role::Reload => {}
        }
        self.procs.entry(child.run.pid).or_insert(child);
        self.count();
    }

    /// What a stop command does: ends every program.
    pub(crate) fn end_programs(&mut self) {
        let now = self.now;
        self.coming.clear();
        for proc in self.procs.values_mut().filter(|proc| proc.is_program) {
            proc.until = now;
            proc.exit = Exit::Code(0);
        }
    }

    fn launch(&mut self, mut child: Proc) {
        match self.behaviour {
            Behaviour::Daemon { late_ms, lives_ms } => {
                self.next_pid += 1;
                let born = self.now + 50 + late_ms;
                let daemon = Proc {
                    run: Run {
                        pid: self.next_pid,
                        start: self.now,
                    },
                    until: born.saturating_add(lives_ms),
                    exit: Exit::Code(3),
                    is_program: true,
                    ignores_term: self.ignores_term,
                    ..child
                };
                self.coming.push((born, daemon));
            }
            Behaviour::Stays { lives_ms, code } => {
                child.until = self.now.saturating_add(lives_ms);
                child.exit = Exit::Code(code);
                child.is_program = true;
                child.ignores_term = self.ignores_term;
            }
            Behaviour::Fails { code } => child.exit = Exit::Code(code),
        }
        self.procs.insert(child.run.pid, child);
    }

    fn count(&mut self) {
        let live = |proc: &&Proc| proc.is_program && proc.until > self.now;
        let programs = self.procs.values().filter(live).count();
        self.most_programs = self.most_programs.max(programs);
    }

    fn kill(&mut self, root: Run) {
        self.killed.push(root);
        let now = self.now;
        self.coming.retain(|(_, proc)| proc.root != root);
        for proc in self.procs.values_mut() {
            if proc.run == root || proc.root == root {
                proc.until = now;
                proc.exit = Exit::Signal(9);
            }
        }
    }

    fn look(&self, depth: Depth) -> Observation {
        let there = |pid: &i32| self.procs.get(pid).filter(|p| p.until > self.now);
        let named = self.pid_file.as_ref().and_then(there);
        let root = self.process.root();
        let ours = |proc: &&Proc| Some(proc.root) == root && proc.until > self.now;
        let coming = self.coming.iter().any(|(_, proc)| Some(proc.root) == root);
        Observation {
            alive: named.map(|proc| LiveRun {
                run: proc.run,
                form: Form::Daemon,
                since_boot_ms: proc.run.start,
                started_at: UnixMillis(proc.run.start as i64),
            }),
            alive_is_commands: named.is_some_and(|proc| Some(proc.run) == root),
            command_lives: (self.procs.values()).any(|p| Some(p.run) == root && p.until > self.now),
            main: self
                .procs
                .values()
                .filter(ours)
                .find(|proc| proc.is_program && Some(proc.run) == root)
                .map(|proc| proc.run.pid),
            starting: depth == Depth::Deep
                && (coming || self.procs.values().any(|proc| ours(&proc))),
            note: self.note.clone(),
            misnamed_since_boot_ms: self.misnamed_since_boot_ms,
        }
    }

    /// Reports the exits of watched runs.
    fn watch(&mut self) {
        loop {
            let gone = self.process.watched().into_iter().find_map(|run| {
                let proc = self.procs.get(&run.pid).filter(|proc| proc.run == run);
                match proc {
                    Some(proc) if proc.until > self.now => None,
                    Some(proc) => Some((run, proc.exit)),
                    None => Some((run, Exit::Unseen)),
                }
            });
            let Some((run, exit)) = gone else {
                break;
            };
            self.step(Event::Exited(run, exit.into()));
            self.revive();
        }
        let now = self.now;
        self.procs.retain(|_, proc| proc.until > now);
    }

    /// Advances time, with every event in between.
    pub(crate) fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        while self.now < end {
            let spec = self.spec.clone();
            let context = Context {
                now: self.moment(),
                name: "p",
                spec: &spec,
                order: &NO_ORDER,
            };
            let due = self.process.due(&context);
            let deaths = self.procs.values().map(|proc| proc.until);
            let births = self.coming.iter().map(|(born, _)| *born);
            let next = deaths.chain(births).chain(due).min().unwrap_or(end);
            self.now = next.clamp(self.now + 1, end.max(self.now + 1));
            let now = self.now;
            let born: Vec<Proc> = self
                .coming
                .extract_if(.., |(born, _)| *born <= now)
                .map(|(_, proc)| proc)
                .collect();
            for proc in born {
                self.pid_file = Some(proc.run.pid);
                self.procs.insert(proc.run.pid, proc);
                self.count();
            }
            self.watch();
            if due.is_some_and(|due| due <= self.now) {
                self.drive(Event::Tick);
                let context = Context {
                    now: self.moment(),
                    ..context
                };
                let again = self.process.due(&context);
                assert!(
                    again.is_none_or(|due| due > self.now),
                    "due again at once: {:?}",
                    self.process.phase
                );
            }
        }
    }

    /// An operator starts a program with the pid file, beside the agent.
    pub(crate) fn start_by_hand(&mut self) {
        self.next_pid += 1;
        let run = Run {
            pid: self.next_pid,
            start: self.now,
        };
        let program = Proc {
            run,
            until: u64::MAX,
            exit: Exit::Code(0),
            root: run,
            is_program: true,
            ignores_term: false,
        };
        self.pid_file = Some(run.pid);
        self.procs.insert(run.pid, program);
        self.count();
    }

    /// The live program, if there is one.
    pub(crate) fn program(&self) -> Option<i32> {
        let mut live = self
            .procs
            .values()
            .filter(|p| p.is_program && p.until > self.now);
        live.next().map(|proc| proc.run.pid)
    }

    pub(crate) fn kill_program(&mut self) {
        if let Some(pid) = self.program()
            && let Some(proc) = self.procs.get_mut(&pid)
        {
            proc.until = self.now;
            proc.exit = Exit::Signal(9);
        }
        self.watch();
    }

    pub(crate) fn last(&self) -> &OperationEnd {
        self.ends.last().expect("an operation ended")
    }
}

pub(crate) fn ticket(number: u32, op: Op) -> Ticket {
    Ticket {
        id: OpId {
            task: TaskId::from_number(1),
            ordinal: number,
        },
        op,
        deadline: UnixMillis(i64::MAX),
    }
}
