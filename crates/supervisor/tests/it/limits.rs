//! Too much of something for too long: killed, and told why.

use std::time::Duration;

use model::event::EventKind;
use model::group::{Pool, ProcessGroup};
use model::operation::Op;
use model::{Flag, FullName, Namespace, Spec};
use supervisor::{ControlGroups, Options, Request};

use crate::keeper::{Home, Keeper, both_ways, is_alive, name, options, wait_for};

both_ways!(
    each_limit_kills_the_whole_family_with_its_own_sentence,
    a_group_over_its_pool_loses_the_member_with_the_highest_score,
);

/// So many MiB as percent of this machine.
fn percent_of_memory(mib: f64) -> f64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
    let total_kib: f64 = meminfo.split_whitespace().nth(1).unwrap().parse().unwrap();
    mib * 1024.0 / total_kib * 100.0
}

fn reason_of(keeper: &mut Keeper, of: &FullName, kind: EventKind) -> String {
    wait_for(kind.as_str(), || {
        keeper.listen();
        let mut events = keeper.events.iter().map(|(_, event)| event);
        let event = events.find(|event| event.kind == kind && event.process == *of)?;
        Some(event.reason.clone())
    })
}

/// What the program does, the limit that it breaks, and what is said then.
type Case = (&'static str, fn(&mut Spec), &'static str);

fn each_limit_kills_the_whole_family_with_its_own_sentence(groups: ControlGroups) {
    let cases: [Case; 4] = [
        (
            "--hold-mib 100",
            |spec| spec.resource.mem = percent_of_memory(50.0),
            "killed: memory ",
        ),
        ("--burn", |spec| spec.resource.cpu = 2.0, "killed: cpu "),
        (
            "--hold-fds 100",
            |spec| spec.runtime.fd_max = Some(50),
            "killed: open descriptors ",
        ),
        (
            "--print hello",
            |spec| spec.runtime.log_bytes_max = Some(1),
            "killed: disk under log_path 4096 bytes over its limit 1 bytes for ",
        ),
    ];
    for (options, limit, sentence) in cases {
        let home = Home::with(groups);
        let mut keeper = home.keeper();
        let odd = env!("CARGO_BIN_EXE_odd-child");
        let mut spec = home.spec(options);
        spec.control.start_cmd = format!("{odd} & {}", spec.control.start_cmd);
        spec.identity.log_path = home.file("work/log");
        limit(&mut spec);
        spec.warn_report_policy.report_id = 77;
        spec.monitor_policy.start_interval = 1000;
        keeper.hold(spec);
        keeper.succeed(1, Op::Start);
        let kind = EventKind::ProcessResourceLimitExceed;
        let reason = reason_of(&mut keeper, &name(), kind);
        assert!(reason.starts_with(sentence), "{reason}");
        assert!(reason.ends_with(" for 0.3 s"), "{reason}");
        let said = keeper.stopped().message;
        assert!(said.starts_with(&reason), "{said}");
        assert!(said.ends_with("; attempt 1 of 4, next in 1000 s"), "{said}");
        wait_for("nobody of the family", || {
            (home.processes() == 0).then_some(())
        });
        assert_eq!(keeper.events[0].1.report_id, 77);
        assert_eq!(keeper.events.len(), 1, "{:?}", keeper.events);
    }
}

#[test]
fn who_talks_too_much_over_the_net_is_killed_and_who_keeps_within_its_limit_is_not() {
    let home = Home::new();
    let port = crate::usage::listen();
    let mut keeper = home.keeper();
    let talks = |net: u64, pid_file: &str| {
        let odd = env!("CARGO_BIN_EXE_odd-child");
        let mut spec = home.spec("");
        // The one who talks is somebody below the program that is known.
        spec.control.start_cmd = format!("{odd} --talk {port} & {odd}");
        spec.identity.pid_path = home.file(pid_file);
        spec.runtime.net_max = Some(net);
        spec.monitor_policy.start_interval = 1000;
        spec
    };
    let modest: FullName = "test/modest".parse().unwrap();
    keeper.hold_as(
        &modest,
        talks(100_000_000, "modest.pid"),
        Flag::Unregistered,
        false,
    );
    let start = keeper.begin_on(&modest, 1, Op::Start, None);
    keeper.end_of(start);
    let (pid, n_modest) = (keeper.statuses[&modest].pid, home.processes());
    keeper.hold(talks(2_000, "pid"));
    keeper.succeed(2, Op::Start);
    let kind = EventKind::ProcessResourceLimitExceed;
    let reason = reason_of(&mut keeper, &name(), kind);
    assert!(reason.starts_with("killed: net "), "{reason}");
    let limit = " bytes/s over its limit 2000 bytes/s for 0.3 s";
    assert!(reason.ends_with(limit), "{reason}");
    let said = keeper.stopped().message;
    assert!(said.starts_with(&reason), "{said}");
    assert!(said.ends_with("; attempt 1 of 4, next in 1000 s"), "{said}");
    wait_for("the other's are left", || {
        (home.processes() == n_modest).then_some(())
    });
    assert!(is_alive(pid));
    assert_eq!(keeper.events.len(), 1, "{:?}", keeper.events);
}

/// `fd`, `disk` and `net` are reserved in the GSE documents, and their example sends `disk: 100`.
#[test]
fn reserved_limits_of_the_documents_never_kill() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let with_log = |of: &str| {
        let mut spec = home.spec("--hold-fds 60 --print hello");
        spec.identity.pid_path = home.file(&format!("{of}.pid"));
        spec.identity.log_path = home.file(&format!("work/{of}.log"));
        spec.monitor_policy.start_interval = 1000;
        spec
    };
    let reserved: FullName = "test/reserved".parse().unwrap();
    let mut spec = with_log("reserved");
    (spec.resource.fd, spec.resource.disk, spec.resource.net) = (1, 100, 1);
    keeper.hold_as(&reserved, spec, Flag::Unregistered, false);
    let start = keeper.begin_on(&reserved, 1, Op::Start, None);
    keeper.end_of(start);
    // Started later, killed by a limit of ours: the other had more samples by then.
    let mut spec = with_log("ours");
    spec.runtime.log_bytes_max = Some(100);
    keeper.hold(spec);
    keeper.succeed(2, Op::Start);
    let kind = EventKind::ProcessResourceLimitExceed;
    let reason = reason_of(&mut keeper, &name(), kind);
    assert!(reason.starts_with("killed: disk "), "{reason}");
    let status = &keeper.statuses[&reserved];
    assert!(is_alive(status.pid));
    assert!(status.fd > 60 && status.disk > 100, "shown: {status:?}");
    assert_eq!(keeper.events.len(), 1, "{:?}", keeper.events);
}

#[test]
fn who_is_not_managed_may_use_what_it_wants() {
    let home = Home::new();
    let mut keeper = home.keeper();
    let with_limit = |mut spec: Spec| {
        spec.runtime.fd_max = Some(20);
        spec
    };
    let free: FullName = "test/free".parse().unwrap();
    let mut spec = with_limit(home.spec("--hold-fds 60"));
    spec.identity.pid_path = home.file("free.pid");
    keeper.hold_as(&free, spec, Flag::Unregistered, false);
    let start = keeper.begin_on(&free, 1, Op::Start, None);
    // Before it can be over its limit for long enough.
    let unmanage = keeper.begin_on(&free, 2, Op::Unmanage, None);
    keeper.end_of(start);
    keeper.end_of(unmanage);
    let pid = keeper.statuses[&free].pid;
    keeper.hold(with_limit(home.spec("--hold-fds 60")));
    keeper.succeed(3, Op::Start);
    let kind = EventKind::ProcessResourceLimitExceed;
    reason_of(&mut keeper, &name(), kind);
    assert!(is_alive(pid));
    let killed = |(_, event): &(u64, model::event::Event)| event.process == free;
    assert!(!keeper.events.iter().any(killed), "{:?}", keeper.events);
}

fn a_group_over_its_pool_loses_the_member_with_the_highest_score(groups: ControlGroups) {
    let weights = [
        (0, "test/odd", "most: "),
        (1, "test/small", "most of its own limit: "),
    ];
    for (weight, victim, why) in weights {
        let home = Home::with(groups);
        let mut keeper = home.keeper();
        let group = ProcessGroup {
            id: "web".into(),
            resource: Pool {
                mem_pool_limit: percent_of_memory(150.0),
                mem_pool_weight: weight,
                ..Pool::default()
            },
        };
        let namespace = Namespace::parse("test").unwrap();
        keeper.ask(Request::Groups(namespace, vec![group]));
        // Known again after a restart of the agent, once it was taken.
        keeper.operate(9, Op::Query);
        keeper.stop();
        keeper = home.keeper();
        let small: FullName = "test/small".parse().unwrap();
        let mut spec = home.spec("--hold-mib 60");
        spec.identity.pid_path = home.file("small.pid");
        spec.resource.mem = percent_of_memory(80.0);
        spec.monitor_policy.start_interval = 1000;
        keeper.hold_as(&small, spec, Flag::Unregistered, false);
        let start = keeper.begin_on(&small, 1, Op::Start, None);
        keeper.end_of(start);
        let mut spec = home.spec("--hold-mib 120");
        spec.monitor_policy.start_interval = 1000;
        keeper.hold(spec);
        keeper.succeed(2, Op::Start);
        let victim: FullName = victim.parse().unwrap();
        let kind = EventKind::ProcessGroupResourceLimitExceed;
        let reason = reason_of(&mut keeper, &victim, kind);
        assert!(reason.starts_with("killed: group web uses "), "{reason}");
        assert!(reason.contains(why), "{reason}");
        wait_for("one of two", || (home.processes() == 1).then_some(()));
    }
}

#[test]
fn an_agent_over_its_own_share_of_the_cpu_looks_less_often() {
    let home = Home::new();
    // At this pace looking alone is more than a hundredth of a core.
    let (mut keeper, _) = home.keeper_with(Options {
        sample_every: Duration::from_millis(5),
        cpu_max: Some(1),
        ..options()
    });
    let mut spec = home.spec("--hold-fds 60");
    spec.runtime.fd_max = Some(20);
    spec.monitor_policy.start_interval = 0;
    spec.monitor_policy.start_retries = 1000;
    keeper.hold(spec);
    keeper.succeed(1, Op::Start);
    // The sentence says how long three samples take.
    wait_for("a longer period", || {
        keeper.listen();
        let reasons = keeper.events.iter().map(|(_, event)| &event.reason);
        let mut killed = reasons.filter(|reason| reason.starts_with("killed: "));
        killed
            .any(|reason| !reason.ends_with(" for 0.0 s"))
            .then_some(())
    });
}
