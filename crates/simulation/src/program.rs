//! Random specs: well-behaved, short-lived, stubborn, and failing programs.

use model::spec::after::{Place, When};
use model::spec::{AutoType, Commands, Dependency, Identity, Policy, Restart, Stop};
use model::{FullName, Spec};
use testing::Random;

use crate::world::N_PROCESSES;

/// Retries of a program that can run: the agent never gives up.
const MANY: u32 = 100_000;
/// The process that is a one-shot.
const ONE_SHOT: usize = 2;

pub(crate) fn name(number: usize) -> FullName {
    FullName::parse("gse", &format!("p{number}")).expect("a good name")
}

/// The spec of a program that runs until it is stopped.
pub(crate) fn lasting_spec(random: &mut Random, name: &FullName) -> Spec {
    loop {
        let spec = plain_spec(random, name);
        if is_good_command(&spec.control.start_cmd) {
            return spec;
        }
    }
}

/// A spec that may depend on another process.
pub(crate) fn spec(random: &mut Random, name: &FullName) -> Spec {
    let mut spec = plain_spec(random, name);
    spec.after = after(random, name);
    // The fake host checks that a start with these words is executed only after what it needs.
    let needs = |dependency: &&Dependency| {
        dependency.place == Place::SameHost
            && dependency.patience.is_none()
            && dependency.when != When::ExitedOk
    };
    if let Some(dependency) = spec.after.iter().find(needs) {
        let start = &spec.control.start_cmd;
        let (start, stubborn) = match start.strip_suffix(" stubborn") {
            Some(start) => (start, " stubborn"),
            None => (start.as_str(), ""),
        };
        let start = format!("{start} after {}{stubborn}", dependency.process.name);
        if !spec.control.restart_cmd.is_empty() {
            spec.control.restart_cmd = format!("restart {start}");
        }
        spec.control.start_cmd = start;
    }
    spec
}

/// Sometimes another process, which may not be registered, may never run, and may depend on this one.
fn after(random: &mut Random, name: &FullName) -> Vec<Dependency> {
    let number = random.below(N_PROCESSES);
    let process = self::name(number);
    if !random.one_in(3) || process == *name {
        return Vec::new();
    }
    let when = match number == ONE_SHOT {
        true => random.pick(&[When::ExitedOk, When::Up]),
        false => random.pick(&[When::Ready, When::Up]),
    };
    let place = random.weighted(&[(6, Place::SameHost), (1, Place::Any), (1, Place::All)]);
    let may_restart = place == Place::SameHost && when != When::ExitedOk;
    vec![Dependency {
        process,
        when,
        place,
        patience: random.one_in(3).then(|| random.below(10) as u32),
        restart: may_restart && random.one_in(2),
    }]
}

fn plain_spec(random: &mut Random, name: &FullName) -> Spec {
    // The own user exists on this host.
    let user = rustix::process::geteuid().as_raw().to_string();
    let pid_path = format!("/run/{}.pid", name.name);
    let start = start_cmd(random, &pid_path);
    let may = |random: &mut Random, text: &str| match random.permille(400) {
        true => text.to_owned(),
        false => String::new(),
    };
    let (stop, reload) = (
        random.weighted(&[(5, ""), (4, "stop"), (1, "nothing 1"), (1, "hangs")]),
        random.weighted(&[(5, ""), (4, "nothing 0"), (1, "nothing 1"), (1, "hangs")]),
    );
    let retries = match is_good_command(&start) {
        true => MANY,
        false => 3,
    };
    Spec {
        identity: Identity {
            index_key: String::new(),
            proc_name: name.name.to_string(),
            setup_path: "/".to_owned(),
            pid_path,
            config_path: String::new(),
            log_path: String::new(),
            user: user.to_owned(),
        },
        control: Commands {
            restart_cmd: may(random, &format!("restart {start}")),
            kill_cmd: may(random, "kill"),
            stop_cmd: stop.to_owned(),
            reload_cmd: reload.to_owned(),
            start_cmd: start,
            ..Commands::default()
        },
        resource: Default::default(),
        monitor_policy: Policy {
            // A one-shot that becomes resident after its run need not be kept running, so the type never changes.
            auto_type: match *name == self::name(ONE_SHOT) {
                true => AutoType::OneShot,
                false => AutoType::Resident,
            },
            start_check_secs: random.below(3) as u32,
            stop_check_secs: random.below(3) as u32,
            start_retries: retries,
            start_interval: 1 + random.below(4) as u32,
            op_timeout: 3 + random.below(6) as u32,
            ..Policy::default()
        },
        warn_report_policy: Default::default(),
        configmap: Vec::new(),
        runtime: Default::default(),
        restart: match random.one_in(3) {
            true => Restart {
                delay: Some(1),
                delay_max: Some(3),
                ..Restart::default()
            },
            false => Restart::default(),
        }
        .into(),
        stop: Stop {
            grace: random.one_in(3).then_some(1),
            ..Stop::default()
        },
        schedule: Default::default(),
        probes: Default::default(),
        after: Default::default(),
    }
}

fn start_cmd(random: &mut Random, pid_path: &str) -> String {
    let late = random.weighted(&[(3, 0), (2, 200), (1, 2500)]);
    let lives = 300 + random.below(20_000);
    let start = match random.below(12) {
        0..4 => format!("daemon {pid_path} {late} 0"),
        4..8 => "stays 0 0".to_owned(),
        8 => format!("daemon {pid_path} {late} {lives}"),
        9 => format!("stays {lives} {}", random.below(2)),
        10 => "fails 2".to_owned(),
        _ => random
            .pick(&["missing", "cannot-fork", "cannot-exec"])
            .to_owned(),
    };
    match random.permille(150) {
        true => format!("{start} stubborn"),
        false => start,
    }
}

/// Whether it is resident and runs until it is stopped.
pub(crate) fn is_good(spec: &Spec) -> bool {
    is_good_command(&spec.control.start_cmd) && spec.monitor_policy.auto_type == AutoType::Resident
}

fn is_good_command(start: &str) -> bool {
    let words: Vec<&str> = start.split_whitespace().collect();
    match words.first() {
        Some(&"daemon") => words.get(3) == Some(&"0"),
        Some(&"stays") => words.get(1) == Some(&"0"),
        _ => false,
    }
}
