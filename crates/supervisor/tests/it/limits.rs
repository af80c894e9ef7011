//! Soft limits: processes over a limit are killed with a reason.

use std::time::Duration;

use model::event::EventKind;
use model::group::{Pool, ProcessGroup};
use model::operation::Op;
use model::spec::probes::ProbeTarget;
use model::{Code, Flag, FullName, Namespace, ProcessState, Spec};
use supervisor::{ControlGroups, Options, Request};

use crate::harness::{
    Home, TestSupervisor, is_alive, name, options, until, with_and_without_groups,
};
use crate::probes::rule;

with_and_without_groups!(
    each_limit_kills_the_whole_family_with_its_own_reason,
    a_process_over_its_limit_before_it_is_ready_fails_its_start,
    a_group_over_its_pool_loses_the_member_with_the_highest_score,
);

/// MiB as percent of this machine's memory.
fn percent_of_memory(mib: f64) -> f64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
    let total_kib: f64 = meminfo.split_whitespace().nth(1).unwrap().parse().unwrap();
    mib * 1024.0 / total_kib * 100.0
}

fn reason_of(supervisor: &mut TestSupervisor, of: &FullName, kind: EventKind) -> String {
    until(kind.as_str(), || {
        supervisor.listen();
        let mut events = supervisor.events.iter().map(|(_, event)| event);
        let event = events.find(|event| event.kind == kind && event.process == *of)?;
        Some(event.reason.clone())
    })
}

/// The program's options, the limit that it exceeds, and the reason.
type Case = (&'static str, fn(&mut Spec), &'static str);

fn each_limit_kills_the_whole_family_with_its_own_reason(groups: ControlGroups) {
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
        let mut supervisor = home.supervisor();
        let odd = env!("CARGO_BIN_EXE_odd-child");
        let mut spec = home.spec(options);
        spec.control.start_cmd = format!("{odd} & {}", spec.control.start_cmd);
        spec.identity.log_path = home.file("work/log");
        limit(&mut spec);
        spec.warn_report_policy.report_id = 77;
        spec.monitor_policy.start_interval = 1000;
        supervisor.hold(spec);
        supervisor.succeed(1, Op::Start);
        let kind = EventKind::ProcessResourceLimitExceed;
        let reason = reason_of(&mut supervisor, &name(), kind);
        assert!(reason.starts_with(sentence), "{reason}");
        assert!(reason.ends_with(" for 0.3 s"), "{reason}");
        let said = supervisor.stopped().message;
        assert!(said.starts_with(&reason), "{said}");
        assert!(said.ends_with("; attempt 1 of 4, next in 1000 s"), "{said}");
        until("no process of the family", || {
            (home.processes() == 0).then_some(())
        });
        assert_eq!(supervisor.events[0].1.report_id, 77);
        assert_eq!(supervisor.events.len(), 1, "{:?}", supervisor.events);
    }
}

#[test]
fn only_a_process_over_its_net_limit_is_killed() {
    let home = Home::new();
    let port = crate::usage::listen();
    let mut supervisor = home.supervisor();
    let talks = |net: u64, pid_file: &str| {
        let odd = env!("CARGO_BIN_EXE_odd-child");
        let mut spec = home.spec("");
        // The traffic is that of a child of the program.
        spec.control.start_cmd = format!("{odd} --talk {port} & {odd}");
        spec.identity.pid_path = home.file(pid_file);
        spec.runtime.net_max = Some(net);
        spec.monitor_policy.start_interval = 1000;
        spec
    };
    let modest: FullName = "test/modest".parse().unwrap();
    supervisor.hold_as(
        &modest,
        talks(100_000_000, "modest.pid"),
        Flag::Unregistered,
        false,
    );
    let start = supervisor.begin_on(&modest, 1, Op::Start, None);
    supervisor.end_of(start);
    let (pid, n_modest) = (supervisor.statuses[&modest].pid, home.processes());
    supervisor.hold(talks(2_000, "pid"));
    supervisor.succeed(2, Op::Start);
    let kind = EventKind::ProcessResourceLimitExceed;
    let reason = reason_of(&mut supervisor, &name(), kind);
    assert!(reason.starts_with("killed: net "), "{reason}");
    let limit = " bytes/s over its limit 2000 bytes/s for 0.3 s";
    assert!(reason.ends_with(limit), "{reason}");
    let said = supervisor.stopped().message;
    assert!(said.starts_with(&reason), "{said}");
    assert!(said.ends_with("; attempt 1 of 4, next in 1000 s"), "{said}");
    until("the other's are left", || {
        (home.processes() == n_modest).then_some(())
    });
    assert!(is_alive(pid));
    assert_eq!(supervisor.events.len(), 1, "{:?}", supervisor.events);
}

/// `fd`, `disk` and `net` are reserved in the GSE documents, and their example sends `disk: 100`.
#[test]
fn reserved_limits_of_the_documents_never_kill() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
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
    supervisor.hold_as(&reserved, spec, Flag::Unregistered, false);
    let start = supervisor.begin_on(&reserved, 1, Op::Start, None);
    supervisor.end_of(start);
    // Started later and killed by a native limit: the other process had more samples by then.
    let mut spec = with_log("ours");
    spec.runtime.log_bytes_max = Some(100);
    supervisor.hold(spec);
    supervisor.succeed(2, Op::Start);
    let kind = EventKind::ProcessResourceLimitExceed;
    let reason = reason_of(&mut supervisor, &name(), kind);
    assert!(reason.starts_with("killed: disk "), "{reason}");
    let status = &supervisor.statuses[&reserved];
    assert!(is_alive(status.pid));
    assert!(status.fd > 60 && status.disk > 100, "shown: {status:?}");
    assert_eq!(supervisor.events.len(), 1, "{:?}", supervisor.events);
}

#[test]
fn limits_do_not_apply_to_unmanaged_processes() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let with_limit = |mut spec: Spec| {
        spec.runtime.fd_max = Some(20);
        spec
    };
    let free: FullName = "test/free".parse().unwrap();
    let mut spec = with_limit(home.spec("--hold-fds 60"));
    spec.identity.pid_path = home.file("free.pid");
    supervisor.hold_as(&free, spec, Flag::Unregistered, false);
    let start = supervisor.begin_on(&free, 1, Op::Start, None);
    // Before it can be over its limit for long enough.
    let unmanage = supervisor.begin_on(&free, 2, Op::Unmanage, None);
    supervisor.end_of(start);
    supervisor.end_of(unmanage);
    let pid = supervisor.statuses[&free].pid;
    supervisor.hold(with_limit(home.spec("--hold-fds 60")));
    supervisor.succeed(3, Op::Start);
    let kind = EventKind::ProcessResourceLimitExceed;
    reason_of(&mut supervisor, &name(), kind);
    assert!(is_alive(pid));
    let killed = |(_, event): &(u64, model::event::Event)| event.process == free;
    assert!(
        !supervisor.events.iter().any(killed),
        "{:?}",
        supervisor.events
    );
}

fn a_process_over_its_limit_before_it_is_ready_fails_its_start(groups: ControlGroups) {
    for options in ["--hold-fds 100", "--daemon --pid-file %/pid --hold-fds 100"] {
        let home = Home::with(groups);
        let mut supervisor = home.supervisor();
        let mut spec = home.spec(options);
        spec.runtime.fd_max = Some(50);
        spec.monitor_policy.op_timeout = 60;
        spec.probes.ready = Some(rule(ProbeTarget::Exec("false".into())));
        supervisor.hold(spec);
        let outcome = supervisor.operate(1, Op::Start);
        assert_eq!(outcome.code, Code::CHECK_FAILED, "{outcome:?}");
        let said = "start process (odd) failed, for post-check status not alive, \
                    killed: open descriptors ";
        assert!(outcome.message.starts_with(said), "{outcome:?}");
        let kind = EventKind::ProcessResourceLimitExceed;
        let reason = reason_of(&mut supervisor, &name(), kind);
        assert!(outcome.message.ends_with(&reason), "{outcome:?}");
        until("nothing is left", || (home.processes() == 0).then_some(()));
        let status = supervisor.status_where("failed", |status| {
            status.process_state == ProcessState::Failed
        });
        assert!(status.message.contains("over its limit 50"), "{status:?}");
        assert_eq!(
            (status.flag, status.managed),
            (Some(Flag::Running), Some(false))
        );
    }
}

fn a_group_over_its_pool_loses_the_member_with_the_highest_score(groups: ControlGroups) {
    let weights = [
        (0, "test/odd", "most: "),
        (1, "test/small", "most of its own limit: "),
    ];
    for (weight, victim, why) in weights {
        let home = Home::with(groups);
        let mut supervisor = home.supervisor();
        let group = ProcessGroup {
            id: "web".into(),
            resource: Pool {
                mem_pool_limit: percent_of_memory(150.0),
                mem_pool_weight: weight,
                ..Pool::default()
            },
        };
        let namespace = Namespace::parse("test").unwrap();
        supervisor.ask(Request::Groups(namespace, vec![group]));
        // Groups survive a restart of the agent.
        supervisor.operate(9, Op::Query);
        supervisor.stop();
        supervisor = home.supervisor();
        let small: FullName = "test/small".parse().unwrap();
        let mut spec = home.spec("--hold-mib 60");
        spec.identity.pid_path = home.file("small.pid");
        spec.resource.mem = percent_of_memory(80.0);
        spec.monitor_policy.start_interval = 1000;
        supervisor.hold_as(&small, spec, Flag::Unregistered, false);
        let start = supervisor.begin_on(&small, 1, Op::Start, None);
        supervisor.end_of(start);
        let mut spec = home.spec("--hold-mib 120");
        spec.monitor_policy.start_interval = 1000;
        supervisor.hold(spec);
        supervisor.succeed(2, Op::Start);
        let victim: FullName = victim.parse().unwrap();
        let kind = EventKind::ProcessGroupResourceLimitExceed;
        let reason = reason_of(&mut supervisor, &victim, kind);
        assert!(reason.starts_with("killed: group web uses "), "{reason}");
        assert!(reason.contains(why), "{reason}");
        until("one of two", || (home.processes() == 1).then_some(()));
    }
}

#[test]
fn an_agent_over_its_cpu_max_samples_less_often() {
    let home = Home::new();
    // At this pace sampling alone uses more than a hundredth of a core.
    let (mut supervisor, _) = home.supervisor_with(Options {
        sample_every: Duration::from_millis(5),
        cpu_max: Some(1),
        ..options()
    });
    let mut spec = home.spec("--hold-fds 60");
    spec.runtime.fd_max = Some(20);
    spec.monitor_policy.start_interval = 0;
    spec.monitor_policy.start_retries = 1000;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    // The reason names the duration of three samples.
    until("a longer period", || {
        supervisor.listen();
        let reasons = supervisor.events.iter().map(|(_, event)| &event.reason);
        let mut killed = reasons.filter(|reason| reason.starts_with("killed: "));
        killed
            .any(|reason| !reason.ends_with(" for 0.0 s"))
            .then_some(())
    });
}
