//! An agent without free descriptors: real processes under a supervisor in a separate process with a real limit.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use model::event::EventKind;
use model::operation::Op;
use model::{Code, Flag, FullName, Spec, State};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde::{Deserialize, Serialize};

use crate::harness::{Home, is_alive, kill, op_id, read};

const DRIVER: &str = "MUSTER_TEST_SHORTAGE";
/// A hundred programs of the debug profile on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A message of the driver to its test, one per line.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum DriverMessage {
    Status(String, bool, i32, String),
    Ended(u32, Code, String),
    Event(EventKind),
}

fn name_of(index: usize) -> FullName {
    format!("test/p{index}").parse().unwrap()
}

/// Not a test: the supervisor that the tests below run as a separate process. It opens nothing itself.
#[test]
fn driver() {
    let Ok(dir) = std::env::var(DRIVER) else {
        return;
    };
    let home = Home::existing(&dir);
    let specs: Vec<(Spec, Flag, bool)> =
        serde_json::from_str(&read(&home.path("specs.json"))).unwrap();
    let mut supervisor = home.supervisor();
    for (index, (spec, flag, managed)) in specs.into_iter().enumerate() {
        supervisor.hold_as(&name_of(index), spec, flag, managed);
    }
    let (give, orders) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            give.send(line).unwrap();
        }
    });
    let tell = |told: DriverMessage| {
        let line = serde_json::to_string(&told).unwrap();
        // In one write: the test harness writes there, too.
        writeln!(std::io::stdout(), "\n{line}").unwrap();
    };
    let mut told: HashMap<FullName, model::Status> = HashMap::new();
    let mut n_told = (0, 0);
    loop {
        while let Ok(order) = orders.try_recv() {
            let (number, index): (u32, usize) = serde_json::from_str(&order).unwrap();
            supervisor.begin_on(&name_of(index), number, Op::Start, None);
        }
        supervisor.listen();
        for (name, status) in &supervisor.statuses {
            if told.get(name) != Some(status) {
                told.insert(name.clone(), status.clone());
                let is_up = status.state == State::Running;
                let message = status.message.clone();
                tell(DriverMessage::Status(
                    name.to_string(),
                    is_up,
                    status.pid,
                    message,
                ));
            }
        }
        for id in &supervisor.ends[n_told.0..] {
            let outcome = &supervisor.outcomes[id];
            tell(DriverMessage::Ended(
                id.ordinal,
                outcome.code,
                outcome.message.clone(),
            ));
        }
        for (_, event) in &supervisor.events[n_told.1..] {
            tell(DriverMessage::Event(event.kind));
        }
        n_told = (supervisor.ends.len(), supervisor.events.len());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The driver, and its messages so far.
struct Driver {
    child: Child,
    orders: ChildStdin,
    lines: Receiver<DriverMessage>,
    statuses: HashMap<String, (bool, i32, String)>,
    ends: HashMap<u32, (Code, String)>,
    events: Vec<EventKind>,
}

impl Driver {
    /// Starts it with this hard limit of open files.
    fn start(home: &Home, specs: &[(Spec, Flag, bool)], hard: u64) -> Self {
        std::fs::write(
            home.path("specs.json"),
            serde_json::to_string(specs).unwrap(),
        )
        .unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -n $LIMIT && exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["shortage::driver", "--exact", "--nocapture"])
            .env(DRIVER, home.root())
            .env("LIMIT", hard.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(home.path("driver.err")).unwrap())
            .spawn()
            .unwrap();
        let (give, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            for told in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if give.send(told).is_err() {
                    return;
                }
            }
        });
        Self {
            orders: child.stdin.take().unwrap(),
            child,
            lines,
            statuses: HashMap::new(),
            ends: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// Listens until `condition` gives something.
    fn until<T>(&mut self, what: &str, condition: impl Fn(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = condition(self) {
                return found;
            }
            match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(DriverMessage::Status(name, is_up, pid, message)) => {
                    self.statuses.insert(name, (is_up, pid, message));
                }
                Ok(DriverMessage::Ended(number, code, message)) => {
                    self.ends.insert(number, (code, message));
                }
                Ok(DriverMessage::Event(kind)) => self.events.push(kind),
                Err(error) => panic!("{what}: {error}: {:#?}", self.statuses),
            }
        }
    }

    fn status(&self, index: usize) -> Option<&(bool, i32, String)> {
        self.statuses.get(&name_of(index).to_string())
    }

    /// Waits until it runs with another pid than this.
    fn next_run(&mut self, index: usize, before: i32) -> i32 {
        self.until("another run", |driver| {
            let (is_up, pid, _) = driver.status(index)?;
            (*is_up && *pid != before).then_some(*pid)
        })
    }

    fn start_op(&mut self, number: u32, index: usize) -> (Code, String) {
        writeln!(self.orders, "[{number},{index}]").unwrap();
        self.until("the end of an operation", |driver| {
            driver.ends.get(&op_id(number).ordinal).cloned()
        })
    }

    /// Limits it to this many free descriptors.
    fn leave_free(&self, free: u64) {
        let pid = self.child.id();
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten();
        let mut open: Vec<u64> = entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        open.sort_unstable();
        let mut limit = free;
        for fd in open {
            limit += u64::from(fd <= limit);
        }
        self.limit(limit);
    }

    fn limit(&self, soft: u64) {
        let limit = Rlimit {
            current: Some(soft),
            maximum: Some(HARD),
        };
        let pid = Pid::from_raw(self.child.id() as i32);
        prlimit(pid, Resource::Nofile, limit).unwrap();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const HARD: u64 = 256;

fn specs(home: &Home, n: usize) -> Vec<(Spec, Flag, bool)> {
    let one = |index: usize| {
        let mut spec = home.spec("--stay");
        spec.identity.pid_path = home.file(&format!("pid{index}"));
        // The first attempt may fail for other reasons; the second must not.
        spec.monitor_policy.start_retries = 2;
        (spec, Flag::Running, true)
    };
    (0..n).map(one).collect()
}

fn gave_up(driver: &Driver) -> bool {
    driver.events.contains(&EventKind::ProcessCancelRestart)
}

#[test]
fn a_hundred_processes_run_under_a_limit_of_64_open_files() {
    let home = Home::new();
    let mut driver = Driver::start(&home, &specs(&home, 100), 64);
    driver.until("all run", |driver| {
        let are_up = (0..100).all(|index| driver.status(index).is_some_and(|(is_up, ..)| *is_up));
        are_up.then_some(())
    });
    for index in [0, 50, 99] {
        let pid = driver.status(index).unwrap().1;
        kill(pid, libc::SIGKILL);
        driver.next_run(index, pid);
    }
    assert!(!gave_up(&driver), "{:?}", driver.statuses);
    // The agent's own limit does not reduce that of its processes.
    assert!(
        getrlimit(Resource::Nofile)
            .maximum
            .is_none_or(|hard| hard >= 64)
    );
}

#[test]
fn an_agent_without_descriptors_keeps_the_last_state() {
    let home = Home::new();
    let mut all = specs(&home, 3);
    all[2].1 = Flag::Stopped;
    all[2].2 = false;
    let mut driver = Driver::start(&home, &all, HARD);
    let (first, second) = (driver.next_run(0, 0), driver.next_run(1, 0));

    driver.limit(3);
    kill(first, libc::SIGKILL);
    let own_limit = "the agent has reached its own limit of 3 open files";
    driver.until("the reason in its status", |driver| {
        let (is_up, _, message) = driver.status(0)?;
        (!is_up && message.contains(own_limit)).then_some(())
    });
    let (code, message) = driver.start_op(1, 2);
    assert_eq!(code, Code::COMMAND_FAILED, "{message}");
    assert!(message.contains(own_limit), "{message}");
    assert!(is_alive(second));
    assert_eq!(
        driver.status(1).map(|(is_up, pid, _)| (*is_up, *pid)),
        Some((true, second))
    );

    driver.limit(HARD);
    driver.next_run(0, first);
    assert!(!gave_up(&driver), "{:?}", driver.statuses);
    assert_eq!(driver.start_op(2, 2).0, Code::OK);
    assert_eq!(driver.next_run(1, 0), second);
}

#[test]
fn a_start_without_descriptors_is_no_failed_attempt() {
    let home = Home::new();
    let mut all = specs(&home, 2);
    all[1].1 = Flag::Stopped;
    all[1].2 = false;
    let mut driver = Driver::start(&home, &all, HARD);
    let first = driver.next_run(0, 0);
    driver.until("the other is known", |driver| driver.status(1).map(|_| ()));

    // Enough to observe processes, not enough to start one.
    driver.leave_free(6);
    let (code, message) = driver.start_op(1, 1);
    assert_eq!(code, Code::COMMAND_FAILED, "{message}");
    assert!(
        message.contains("the agent has reached its own limit of"),
        "{message}"
    );
    kill(first, libc::SIGKILL);
    driver.until("what it waits for", |driver| {
        let (is_up, _, message) = driver.status(0)?;
        let waits =
            message.contains("own limit of") && message.contains("attempt 2 of 2, next in 5 s");
        (!is_up && waits).then_some(())
    });

    driver.limit(HARD);
    driver.next_run(0, first);
    assert!(!gave_up(&driver), "{:?}", driver.statuses);
}
