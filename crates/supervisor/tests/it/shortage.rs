//! An agent without free descriptors: real processes under a supervisor in a separate process with a real limit.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use model::event::EventKind;
use model::operation::Op;
use model::spec::probes::{HttpTarget, ProbeTarget, TcpTarget};
use model::{Code, Flag, FullName, ProcessState, Spec, State};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde::{Deserialize, Serialize};
use testing::precondition;

use crate::harness::{Home, is_alive, kill, name, op_id, read};
use crate::probes::rule;

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
                let is_starting = status.process_state == ProcessState::Starting;
                let is_up = status.state == State::Running && !is_starting;
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

/// Answers every connection with 200 while it is well, else with 500. In this process, so that no limit is its own.
fn answer_while(well: &Arc<AtomicBool>, at: u16) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", at)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let well = Arc::clone(well);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let code = match well.load(Ordering::SeqCst) {
                true => "200 OK",
                false => "500 Ill",
            };
            answer(stream, code);
        }
    });
    port
}

/// The peer may have gone already: a TCP probe asks nothing.
fn answer(mut stream: TcpStream, code: &str) {
    if stream.read(&mut [0; 1024]).is_ok_and(|n_read| n_read > 0) {
        let _ = write!(stream, "HTTP/1.1 {code}\r\nContent-Length: 0\r\n\r\n");
    }
}

fn tcp(port: u16) -> ProbeTarget {
    ProbeTarget::Tcp(TcpTarget { port, host: None })
}

fn http(port: u16, host: Option<&str>) -> ProbeTarget {
    ProbeTarget::Http(HttpTarget {
        port,
        path: "/".into(),
        host: host.map(str::to_owned),
        status: Vec::new(),
        body: None,
    })
}

#[test]
fn a_probe_without_descriptors_is_no_failed_probe() {
    let home = Home::new();
    let well = Arc::new(AtomicBool::new(true));
    let port = answer_while(&well, 0);
    let targets = [
        tcp(port),
        http(port, None),
        http(port, Some("localhost")),
        ProbeTarget::Exec("true".into()),
    ];
    let mut all = specs(&home, targets.len());
    for ((spec, ..), target) in all.iter_mut().zip(targets) {
        spec.probes.live = Some(rule(target));
    }
    let mut driver = Driver::start(&home, &all, HARD);
    let pids = [0, 1, 2, 3].map(|index| driver.next_run(index, 0));

    driver.limit(3);
    let lacks =
        "probes.live could not be tried: the agent has reached its own limit of 3 open files";
    for index in 0..4 {
        driver.until("the reason in its status", |driver| {
            let (is_up, _, message) = driver.status(index)?;
            (*is_up && message.contains(lacks)).then_some(())
        });
    }
    driver.limit(HARD);
    for (index, pid) in pids.into_iter().enumerate() {
        driver.until("a probe that succeeds", |driver| {
            let (is_up, pid_now, message) = driver.status(index)?;
            assert_eq!((*is_up, *pid_now), (true, pid), "{message}");
            (!message.contains("could not be tried")).then_some(())
        });
        assert!(is_alive(pid));
    }
    let unhealthy = EventKind::ProcessUnhealthy;
    assert!(!driver.events.contains(&unhealthy), "{:?}", driver.events);

    // Now it is one.
    well.store(false, Ordering::SeqCst);
    for index in [1, 2] {
        driver.until("a probe that fails", |driver| {
            let (_, _, message) = driver.status(index)?;
            message.contains("status 500").then_some(())
        });
    }
    driver.until("its event", |driver| {
        driver.events.contains(&unhealthy).then_some(())
    });
    assert!(is_alive(pids[0]) && is_alive(pids[3]));
}

/// The only local port of a network namespace.
const ONLY_PORT: &str = "MUSTER_TEST_ONLY_PORT";

#[test]
fn a_probe_without_a_free_port_is_no_failed_probe() {
    if std::env::var_os(ONLY_PORT).is_none() {
        return inside_a_network_of_one_port();
    }
    let home = Home::new();
    let well = Arc::new(AtomicBool::new(true));
    // Any port of this network is free, apart from the one that is left for connections.
    let port = answer_while(&well, 50_000);
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--stay");
    spec.probes.live = Some(rule(tcp(port)));
    let only_port = TcpStream::connect(("127.0.0.1", port)).unwrap();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let status = supervisor.status_where("the reason in its status", |status| {
        status.message.contains("could not be tried")
    });
    let lacks = "no local port is free for a connection (net.ipv4.ip_local_port_range)";
    assert!(status.message.ends_with(lacks), "{status:?}");
    assert_eq!(status.probes.live, None, "no result");
    drop(only_port);
    let status = supervisor.status_where("a probe that succeeds", |status| {
        status.probes.live.as_ref().is_some_and(|live| live.ok)
    });
    assert_eq!(supervisor.events, [], "{status:?}");
    assert_eq!(supervisor.statuses[&name()].pid, status.pid);
}

/// Runs the test above once more in a network namespace whose connections have one local port.
fn inside_a_network_of_one_port() {
    let in_namespace = |script: &str| {
        let mut command = Command::new("unshare");
        let set_up =
            "ip link set lo up && echo 40000 40000 > /proc/sys/net/ipv4/ip_local_port_range";
        command.args(["--net", "sh", "-c", &format!("{set_up} && {script}"), "sh"]);
        command
    };
    let is_allowed = in_namespace("true").output();
    let is_allowed = is_allowed.is_ok_and(|output| output.status.success());
    if !precondition::is_met(is_allowed, "the right to create a network namespace") {
        return;
    }
    let output = in_namespace("exec \"$@\"")
        .arg(std::env::current_exe().unwrap())
        .args([
            "shortage::a_probe_without_a_free_port_is_no_failed_probe",
            "--exact",
            "--nocapture",
        ])
        .env(ONLY_PORT, "yes")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}
