//! The processes of the fake host. The text of a command says what it does:
//!
//! - `daemon PID_FILE LATE_MS LIVES_MS` exits after a moment; its program writes the pid file late, and lives this long;
//! - `stays LIVES_MS CODE` is the program itself; `fails CODE` starts none;
//! - `restart …` ends the program first; `stop` and `kill` end it; `nothing CODE` only exits; `hangs` never exits.
//!
//! A life of 0 lasts for ever; a command that ends with `stubborn` ignores SIGTERM. A command with `after NAME` must not be
//! executed before a program of that name is there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use model::status::Exit;
use model::{FullName, UnixMillis};
use tokio::time::Instant;

use super::clock;
use crate::machine::Run;

/// What the boot clock shows when the agent can first be started.
const BOOTED_MS: u64 = 20_000;
const FIRST_PID: i32 = 100;
/// How long a command takes that does not stay in the foreground.
const COMMAND_MS: u64 = 50;
/// How long a program takes to exit after SIGTERM.
const LEAVE_MS: u64 = 10;

/// A program that ended this recently may still count as there: the agent has not heard of its end.
const JUST_NOW_MS: u64 = 1000;

/// Longer than any start attempt.
const LASTING_MS: u64 = 30_000;

/// The namespace and name of the process that a command was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(Option<(String, String)>);

impl Mark {
    pub(super) fn of(environment: &[String]) -> Self {
        let value = |name: &str| {
            let mut values = environment
                .iter()
                .filter_map(|entry| entry.strip_prefix(name));
            values.next().map(str::to_owned)
        };
        Self(value("MUSTER_NAMESPACE=").zip(value("MUSTER_NAME=")))
    }

    fn is_of(&self, name: &FullName) -> bool {
        self.0.as_ref().is_some_and(|(namespace, own)| {
            namespace == name.namespace.as_str() && own == name.name.as_str()
        })
    }

    fn name(&self) -> &str {
        self.0.as_ref().map_or("", |(_, name)| name)
    }
}

#[derive(Debug, Clone)]
pub(super) struct FakeProcess {
    pub(super) run: Run,
    /// The command that it came from.
    pub(super) root: Run,
    /// Empty for a shell.
    pub(super) name: String,
    pub(super) mark: Mark,
    ignores_term: bool,
    ends_boot_ms: Option<u64>,
    exit: Exit,
    /// The agent whose child it is.
    pub(super) agent: u32,
}

#[derive(Debug)]
pub(super) struct ProcessTable {
    booted: Instant,
    pub(super) n_boots: u32,
    began: Instant,
    began_unix: UnixMillis,
    pub(super) wall_lead_ms: i64,
    pub(super) agent: u32,
    blocked_child: BTreeMap<i32, Run>,
    procs: BTreeMap<i32, FakeProcess>,
    /// Programs that will start and write their pid file.
    coming: Vec<(u64, FakeProcess, PathBuf)>,
    ended: BTreeMap<i32, (Run, Exit, u32)>,
    /// When the last program of each name ended.
    last_ends: BTreeMap<String, u64>,
    pub(super) pid_files: BTreeMap<PathBuf, i32>,
    next_pid: i32,
    /// How much of the journal survives a loss of power.
    pub(super) durable_length: u64,
    pub(super) violations: Vec<String>,
    pub(super) log: Vec<String>,
}

impl ProcessTable {
    pub(super) fn new(wall_clock: UnixMillis) -> Self {
        let now = Instant::now();
        Self {
            booted: now,
            n_boots: 1,
            began: now,
            began_unix: wall_clock,
            wall_lead_ms: 0,
            agent: 0,
            blocked_child: BTreeMap::new(),
            procs: BTreeMap::new(),
            coming: Vec::new(),
            ended: BTreeMap::new(),
            last_ends: BTreeMap::new(),
            pid_files: BTreeMap::new(),
            next_pid: FIRST_PID,
            durable_length: 0,
            violations: Vec::new(),
            log: Vec::new(),
        }
    }

    pub(super) fn boot_ms(&self) -> u64 {
        BOOTED_MS + self.booted.elapsed().as_millis() as u64
    }

    pub(super) fn unix(&self) -> UnixMillis {
        let elapsed = self.began.elapsed().as_millis() as i64;
        self.began_unix.plus_millis(elapsed + self.wall_lead_ms)
    }

    pub(super) fn boot_to_unix(&self, boot_ms: u64) -> UnixMillis {
        self.unix()
            .plus_millis(boot_ms as i64 - self.boot_ms() as i64)
    }

    /// Starts and ends the processes whose time has come.
    pub(super) fn settle(&mut self) {
        let now = self.boot_ms();
        let born: Vec<(u64, FakeProcess, PathBuf)> =
            self.coming.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, proc, pid_file) in born {
            self.pid_files.insert(pid_file, proc.run.pid);
            self.add_program(proc);
        }
        let gone = self
            .procs
            .extract_if(.., |_, proc| proc.ends_boot_ms.is_some_and(|at| at <= now));
        for (pid, proc) in gone {
            if !proc.name.is_empty() {
                self.log
                    .push(format!("{} ({pid}) is gone: {}", proc.name, proc.exit));
                self.last_ends.insert(proc.name.clone(), now);
            }
            self.ended.insert(pid, (proc.run, proc.exit, proc.agent));
        }
    }

    pub(super) fn live(&self, pid: i32) -> Option<&FakeProcess> {
        self.procs.get(&pid)
    }

    /// The exit of a run, if it has ended; `Unseen` if it was not this agent's child.
    pub(super) fn exit_of(&self, run: Run) -> Option<Exit> {
        if self.procs.get(&run.pid).is_some_and(|proc| proc.run == run) {
            return None;
        }
        let ended = self.ended.get(&run.pid);
        let ours = ended.filter(|(ended, _, agent)| *ended == run && *agent == self.agent);
        Some(ours.map_or(Exit::Unseen, |(_, exit, _)| *exit))
    }

    /// When a run ends; `None` if it lives for ever.
    pub(super) fn ends_at(&self, run: Run) -> Option<Instant> {
        let after_boot = |ms: u64| Duration::from_millis(ms.saturating_sub(BOOTED_MS));
        match self.procs.get(&run.pid).filter(|proc| proc.run == run) {
            Some(proc) => proc.ends_boot_ms.map(|at| self.booted + after_boot(at)),
            None => Some(self.booted),
        }
    }

    pub(super) fn is_anyone_left(&self, root: Run, mark: &Mark) -> bool {
        let is_member = |proc: &FakeProcess| belongs(proc, Some(root), mark);
        self.procs.values().any(is_member) || self.coming.iter().any(|(_, proc, _)| is_member(proc))
    }

    pub(super) fn fork(&mut self, _mark: &Mark) -> Run {
        let run = self.new_run();
        self.blocked_child.insert(run.pid, run);
        run
    }

    pub(super) fn drop_blocked_child(&mut self, run: Run) {
        self.blocked_child.remove(&run.pid);
    }

    pub(super) fn execute(&mut self, run: Run, command: &str, mark: &Mark) {
        if self.blocked_child.remove(&run.pid).is_none() {
            return;
        }
        self.log
            .push(format!("{} executes ({}) {command}", mark.name(), run.pid));
        let now = self.boot_ms();
        self.check_order(command, mark);
        let mut shell = FakeProcess {
            run,
            root: run,
            name: String::new(),
            mark: mark.clone(),
            ignores_term: command.ends_with("stubborn"),
            ends_boot_ms: Some(now + COMMAND_MS),
            exit: Exit::Code(0),
            agent: self.agent,
        };
        let mut words = command.split_whitespace().peekable();
        if words.next_if_eq(&"restart").is_some() {
            self.end_programs(mark);
        }
        let first = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let number = |at: usize| rest.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
        let lives_until = |from: u64, ms: u64| (ms > 0).then(|| from + ms);
        match first {
            "daemon" => {
                let born = now + COMMAND_MS + number(1);
                let program = FakeProcess {
                    run: self.new_run(),
                    name: mark.name().to_owned(),
                    ends_boot_ms: lives_until(born, number(2)),
                    exit: Exit::Code(3),
                    ..shell.clone()
                };
                let pid_file = PathBuf::from(rest.first().copied().unwrap_or_default());
                self.coming.push((born, program, pid_file));
            }
            "stays" => {
                shell.name = mark.name().to_owned();
                shell.ends_boot_ms = lives_until(now, number(0));
                shell.exit = Exit::Code(number(1) as i32);
                return self.add_program(shell);
            }
            "hangs" => shell.ends_boot_ms = None,
            "stop" | "kill" => self.end_programs(mark),
            "fails" | "nothing" => shell.exit = Exit::Code(number(0) as i32),
            _ => shell.exit = Exit::Code(127),
        }
        self.procs.insert(run.pid, shell);
    }

    /// Notes a command that is executed before the program that it needs is there.
    fn check_order(&mut self, command: &str, mark: &Mark) {
        let mut words = command.split_whitespace();
        let needed = words.find(|word| *word == "after").and(words.next());
        let Some(needed) = needed else {
            return;
        };
        let is_there = self.procs.values().any(|proc| proc.name == needed);
        let just_now = self.boot_ms().saturating_sub(JUST_NOW_MS);
        let ended_now = self.last_ends.get(needed).is_some_and(|at| *at >= just_now);
        if !is_there && !ended_now {
            let name = mark.name();
            let wrong = format!("{name} was started before {needed}, which it needs");
            self.violations.push(wrong);
        }
    }

    pub(super) fn signal(&mut self, run: Run, is_term: bool) {
        let now = self.boot_ms();
        if let Some(proc) = self.procs.get_mut(&run.pid)
            && proc.run == run
            && is_term
            && !proc.ignores_term
        {
            proc.ends_boot_ms = Some(now + LEAVE_MS);
            proc.exit = Exit::Signal(15);
        }
    }

    /// SIGKILL to a family, or to every process with the mark.
    pub(super) fn kill(&mut self, root: Option<Run>, mark: &Mark, is_spared: impl Fn(Run) -> bool) {
        let now = self.boot_ms();
        let dies = |proc: &FakeProcess| belongs(proc, root, mark) && !is_spared(proc.run);
        self.coming.retain(|(_, proc, _)| !dies(proc));
        for proc in self.procs.values_mut().filter(|proc| dies(proc)) {
            proc.ends_boot_ms = Some(now);
            proc.exit = Exit::Signal(9);
        }
        self.settle();
    }

    pub(super) fn kill_program(&mut self, name: &FullName) -> bool {
        let now = self.boot_ms();
        let mut killed = false;
        for proc in self
            .procs
            .values_mut()
            .filter(|proc| is_program_of(proc, name))
        {
            proc.ends_boot_ms = Some(now);
            proc.exit = Exit::Signal(9);
            killed = true;
        }
        self.settle();
        killed
    }

    pub(super) fn programs_of(&self, name: &FullName) -> Vec<i32> {
        let programs = self.procs.values().filter(|proc| is_program_of(proc, name));
        programs.map(|proc| proc.run.pid).collect()
    }

    pub(super) fn lasting_programs(&self) -> Vec<i32> {
        let long_ago = clock::boot_ms_to_ticks(self.boot_ms().saturating_sub(LASTING_MS));
        let programs = self.procs.values().filter(|proc| {
            !proc.name.is_empty() && proc.ends_boot_ms.is_none() && proc.run.start <= long_ago
        });
        programs.map(|proc| proc.run.pid).collect()
    }

    pub(super) fn describe(&self) -> String {
        let live: Vec<String> = self
            .procs
            .values()
            .map(|proc| format!("{} ({})", proc.mark.name(), proc.run.pid))
            .collect();
        format!("live: {live:?}, pid files: {:?}", self.pid_files)
    }

    pub(super) fn agent_is_gone(&mut self) {
        self.agent += 1;
        self.blocked_child.clear();
    }

    pub(super) fn reboot(&mut self) {
        self.procs.clear();
        self.coming.clear();
        self.ended.clear();
        self.last_ends.clear();
        self.booted = Instant::now();
        self.n_boots += 1;
        self.next_pid = FIRST_PID;
    }

    fn new_run(&mut self) -> Run {
        self.next_pid += 1;
        Run {
            pid: self.next_pid,
            start: clock::boot_ms_to_ticks(self.boot_ms()),
        }
    }

    /// What a stop command does: ends every program.
    fn end_programs(&mut self, mark: &Mark) {
        let now = self.boot_ms();
        self.coming.retain(|(_, proc, _)| proc.mark != *mark);
        let programs = self.procs.values_mut();
        for proc in programs.filter(|proc| proc.mark == *mark && !proc.name.is_empty()) {
            proc.ends_boot_ms = Some(now);
            proc.exit = Exit::Code(0);
        }
        self.settle();
    }

    fn add_program(&mut self, program: FakeProcess) {
        let others = self.procs.values();
        let others = others.filter(|other| other.mark == program.mark && !other.name.is_empty());
        for other in others {
            self.violations.push(format!(
                "two live runs of {}: {} and {}",
                program.name, other.run.pid, program.run.pid
            ));
        }
        self.procs.insert(program.run.pid, program);
    }
}

fn is_program_of(proc: &FakeProcess, name: &FullName) -> bool {
    !proc.name.is_empty() && proc.mark.is_of(name)
}

/// Whether a process descends from the root, or is younger and has the mark; without a root the mark is enough.
fn belongs(proc: &FakeProcess, root: Option<Run>, mark: &Mark) -> bool {
    let bears_mark = mark.0.is_some() && proc.mark == *mark;
    match root {
        Some(root) => proc.root == root || (bears_mark && proc.run.start >= root.start),
        None => bears_mark,
    }
}
