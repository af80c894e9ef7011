//! Not tests but measurements: `cargo nextest run --release -p supervisor --run-ignored only measure --no-capture`.

use std::time::{Duration, Instant};

use model::operation::Op;
use model::{Flag, FullName, State};

use crate::keeper::{Home, kill, options, wait_for};

#[test]
#[ignore = "a measurement"]
fn crash_to_restart() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let mut spec = home.spec("");
    spec.monitor_policy.start_interval = 0;
    spec.monitor_policy.start_retries = 1000;
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    let mut pid = keeper.running().pid;
    let mut took: Vec<Duration> = Vec::new();
    for _ in 0..50 {
        let begin = Instant::now();
        kill(pid, libc::SIGKILL);
        let old = pid;
        pid = loop {
            keeper.listen();
            let status = keeper.statuses.values().next().unwrap();
            if status.state == State::Running && status.pid != old {
                break status.pid;
            }
            std::hint::spin_loop();
        };
        took.push(begin.elapsed());
    }
    took.sort();
    println!("crash to restart: p50 {:?}, p99 {:?}", took[25], took[49]);
}

#[test]
#[ignore = "a measurement"]
fn many_processes() {
    const MANY: u32 = 1000;
    let home = Home::new();
    let (mut keeper, _) = home.keeper_with(supervisor::Options::default());
    let mut spec = home.spec("");
    spec.control.start_cmd = "sleep 1000000".into();
    spec.identity.proc_name = "sleep".into();
    spec.monitor_policy.start_interval = 0;
    let names: Vec<FullName> = (0..MANY)
        .map(|n| format!("many/p{n}").parse().unwrap())
        .collect();
    let all_running = |keeper: &mut crate::keeper::Keeper, other_than: &[i32]| {
        wait_for("all running", || {
            keeper.listen();
            let running = keeper.statuses.values();
            let count = running
                .filter(|s| s.state == State::Running && !other_than.contains(&s.pid))
                .count();
            (count == MANY as usize).then_some(())
        });
    };
    let begin = Instant::now();
    for (number, name) in names.iter().enumerate() {
        let mut spec = spec.clone();
        spec.identity.pid_path = home.file(&format!("pid{number}"));
        keeper.hold_as(name, spec, Flag::Running, true);
    }
    all_running(&mut keeper, &[]);
    println!("{MANY} started and reported: {:?}", begin.elapsed());
    // Past the check, so that the attempts are over.
    wait_for("the checks", || {
        keeper.listen();
        (keeper.events.len() >= MANY as usize).then_some(())
    });
    let pids: Vec<i32> = keeper.statuses.values().map(|s| s.pid).collect();
    let begin = Instant::now();
    for pid in &pids {
        kill(*pid, libc::SIGKILL);
    }
    all_running(&mut keeper, &pids);
    println!("storm of {MANY} back: {:?}", begin.elapsed());
    let cpu = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    std::thread::sleep(Duration::from_secs(6));
    let before = cpu();
    std::thread::sleep(Duration::from_secs(20));
    println!("idle over 20 s: {} ticks of 10 ms", cpu() - before);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!(
        "{}",
        status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap()
    );
    let _ = options();
}
