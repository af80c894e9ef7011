//! kill -9 of the supervisor at every moment: no process is touched, and no operation runs twice.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use model::operation::Op;
use model::{Code, Flag, Spec, State};
use supervisor::{Notice, Options, Supervisor, SupervisorError};

use crate::harness::{Home, SmallDisk, is_alive, kill, op_id, options, read, until};

const DRIVER: &str = "MUSTER_TEST_DRIVER";

/// Not a test: the process that the tests below start and kill.
#[test]
fn driver() {
    let Ok(dir) = std::env::var(DRIVER) else {
        return;
    };
    let home = Home::existing(&dir);
    let spec: Spec = serde_json::from_str(&read(&home.path("spec.json"))).unwrap();
    let ops: Vec<(u32, Op)> = serde_json::from_str(&read(&home.path("ops.json"))).unwrap();
    let mut supervisor = home.supervisor();
    supervisor.hold(spec);
    // Like a server that does not know what the agent has received: send everything every time.
    for (number, op) in ops {
        supervisor.begin(number, op);
    }
    loop {
        let before = supervisor.ends.len();
        supervisor.listen();
        for id in &supervisor.ends[before..] {
            let outcome = &supervisor.outcomes[id];
            let line = format!("{} {} {}\n", id.ordinal, outcome.code, outcome.ended_at.0);
            let mut file = std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(home.path("ends"))
                .unwrap();
            file.write_all(line.as_bytes()).unwrap();
            std::fs::write(home.path("messages"), format!("{outcome:?}")).unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The command that runs the driver as a separate process.
pub(crate) fn driver_of(home: &Home) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["crash::driver", "--exact", "--nocapture"])
        .env(DRIVER, home.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(home.path("driver.err")).unwrap());
    command
}

fn start_driver(home: &Home) -> Child {
    driver_of(home).spawn().unwrap()
}

/// Ordinal → (code, end time), once for each report.
fn ends(home: &Home) -> HashMap<u32, Vec<(i32, i64)>> {
    let mut ends: HashMap<u32, Vec<(i32, i64)>> = HashMap::new();
    let text = std::fs::read_to_string(home.path("ends")).unwrap_or_default();
    for line in text.lines() {
        let mut fields = line.split(' ').map(|field| field.parse::<i64>().unwrap());
        let number = fields.next().unwrap() as u32;
        let end = (fields.next().unwrap() as i32, fields.next().unwrap());
        ends.entry(number).or_default().push(end);
    }
    ends
}

fn kill_in_a_loop(mut spec: Spec, home: &Home, per_start: usize) {
    // Supervisors that are killed all the time may take long.
    spec.monitor_policy.op_timeout = 600;
    std::fs::write(
        home.path("spec.json"),
        serde_json::to_string(&spec).unwrap(),
    )
    .unwrap();
    let ops = [
        (1, Op::Start),
        (2, Op::Restart),
        (3, Op::Query),
        (4, Op::Stop),
        (5, Op::Start),
    ];
    std::fs::write(home.path("ops.json"), serde_json::to_string(&ops).unwrap()).unwrap();
    let mut round = 0_u64;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ends(home).contains_key(&5) {
        assert!(
            Instant::now() < deadline,
            "it never gets done: {:?} {}",
            ends(home),
            read(&home.path("driver.err"))
        );
        let mut driver = start_driver(home);
        // Another moment each time, which grows so that the operations finish at last.
        let growth = round * 500 + round * round * 20;
        let moment = Duration::from_micros(3_000 + (round * 7_919) % 40_000 + growth);
        std::thread::sleep(moment);
        driver.kill().unwrap();
        driver.wait().unwrap();
        round += 1;
    }
    assert!(round > 3, "killed often enough: {round}");
    for (number, told) in ends(home) {
        assert!(
            told.iter().all(|end| *end == told[0]),
            "{number} ended once: {told:?}"
        );
        assert_eq!(
            told[0].0,
            0,
            "{number} succeeded: {}",
            read(&home.path("messages"))
        );
    }
    assert_eq!(
        home.lines("count"),
        3 * per_start,
        "each start was executed once"
    );

    // The process still runs and is managed.
    let pid = home.pid();
    assert!(is_alive(pid));
    let (mut supervisor, recovered) = home.supervisor_with(options());
    assert_eq!(recovered.held.len(), 1);
    assert_eq!(
        (recovered.held[0].flag, recovered.held[0].managed),
        (Flag::Running, true)
    );
    assert_eq!(recovered.under_way, []);
    assert_eq!(recovered.results.len(), 5);
    assert_eq!(supervisor.running().pid, pid);
    kill(pid, libc::SIGKILL);
    supervisor.status_where("a new run", |s| s.state == State::Running && s.pid != pid);
}

#[test]
fn a_daemon_survives_kill_9_of_its_agent_in_a_loop() {
    let home = Home::new();
    kill_in_a_loop(
        home.spec("--count %/count --daemon --pid-file %/pid"),
        &home,
        1,
    );
}

#[test]
fn a_foreground_program_survives_kill_9_of_its_agent_in_a_loop() {
    let home = Home::new();
    kill_in_a_loop(home.spec("--count %/count --print started"), &home, 1);
}

#[test]
fn a_process_that_died_while_no_agent_ran_is_restarted() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/count");
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    supervisor.stop();
    assert!(is_alive(pid), "stopping the supervisor stops nothing");
    kill(pid, libc::SIGKILL);
    until("its end", || (!is_alive(pid)).then_some(()));
    let mut supervisor = home.supervisor();
    assert_ne!(supervisor.running().pid, pid);
    until("its second run", || {
        (home.lines("count") == 2).then_some(())
    });
}

#[test]
fn a_missing_pid_file_is_written_after_a_restart_of_the_agent() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let spec = home.spec("");
    let path = spec.identity.pid_path.clone();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    supervisor.stop();
    std::fs::remove_file(&path).unwrap();
    let mut supervisor = home.supervisor();
    assert_eq!(supervisor.running().pid, pid);
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.trim(), pid.to_string());
}

#[test]
fn events_are_kept_until_acknowledged() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("");
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    kill(pid, libc::SIGKILL);
    let events = until("its events", || {
        supervisor.listen();
        (supervisor.events.len() == 2).then(|| supervisor.events.clone())
    });
    let (number, exit) = &events[0];
    assert_eq!(exit.kind, model::event::EventKind::ProcessExit);
    assert_eq!(exit.exit, Some(model::status::Exit::Signal(9)));
    assert!(
        exit.reason.starts_with("killed by signal 9 after "),
        "{}",
        exit.reason
    );
    supervisor.stop();
    let (mut supervisor, recovered) = home.supervisor_with(options());
    assert_eq!(recovered.events, events);
    supervisor.ask(supervisor::Request::AcknowledgeEvents(*number));
    supervisor.succeed(2, Op::Query);
    supervisor.stop();
    let (_, recovered) = home.supervisor_with(options());
    assert_eq!(recovered.events, events[1..]);
}

#[test]
fn two_agents_cannot_share_a_directory() {
    let home = Home::new();
    let _keeper = home.supervisor();
    let refused = Supervisor::open(&home.path("agent"), Options::default()).unwrap_err();
    assert!(matches!(&refused, SupervisorError::InUse(_)), "{refused}");
    assert!(refused.to_string().contains("in use by another agent"));
}

#[test]
fn an_unwritable_journal_refuses_operations_but_not_restarts() {
    let home = Home::new();
    // A file system with almost no space.
    let full = home.path("full");
    std::fs::create_dir(&full).unwrap();
    let Some(disk) = SmallDisk::mount(full.clone(), "size=1m") else {
        return;
    };
    std::fs::create_dir(full.join("agent")).unwrap();
    std::fs::remove_dir(home.path("agent")).unwrap();
    std::os::unix::fs::symlink(full.join("agent"), home.path("agent")).unwrap();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--count %/count");
    spec.monitor_policy.start_interval = 0;
    spec.identity.log_path = home.file("work/log");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    disk.fill();
    let mut refused = None;
    for number in 2..200 {
        let outcome = supervisor.operate(number, Op::Query);
        if outcome.message.contains("journal") {
            refused = Some(outcome);
            break;
        }
        assert!(number < 199, "it was never full: {outcome:?}");
    }
    assert_eq!(refused.unwrap().code, Code::COMMAND_FAILED);
    let running = supervisor.running().pid;
    kill(running, libc::SIGKILL);
    supervisor.status_where("running again", |s| {
        s.state == State::Running && s.pid != running
    });
    disk.make_room();
    let outcome = until("room again", || {
        let id = op_id(1000 + home.lines("tries") as u32);
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(home.path("tries"))
            .unwrap();
        file.write_all(b"try\n").unwrap();
        let outcome = supervisor.operate(id.ordinal, Op::Stop);
        (!outcome.message.contains("journal")).then_some(outcome)
    });
    assert_eq!(outcome.code, Code::OK, "{outcome:?}");
    assert!(!is_alive(pid));
    supervisor.stop();
}

/// A result is reported only after it is in the journal.
#[test]
fn every_reported_result_is_in_the_journal() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.daemon());
    let told = supervisor.operate(1, Op::Start);
    supervisor.stop();
    let (_, recovered) = home.supervisor_with(options());
    assert_eq!(recovered.results, [(op_id(1), told)]);
    let _: fn(Notice) = drop;
}
