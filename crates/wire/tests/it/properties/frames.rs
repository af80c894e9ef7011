//! Random frames.

#![allow(
    clippy::needless_update,
    reason = "a field that is new says nothing here until it is given something to say"
)]

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wire::down::{GroupSet, NameRef};
use wire::up::{HealthFrame, LastExitFrame, OpRef, ProbesFrame};
use wire::{
    Ack, Ask, Bye, Command, Dependencies, DependencyState, Desired, DesiredProcess, Down,
    EventFrame, Hello, Move, Output, ProcessStatus, Report, ResultFrame, Up, Welcome,
};

pub(super) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9._-]{0,12}",
        any::<String>(),
        // What JSON is made of.
        r#"[\[\]{}":,0-9a-z \\]{0,24}"#,
    ]
}

fn op() -> impl Strategy<Value = OpRef> {
    any::<(u64, u32)>().prop_map(|(task, ordinal)| OpRef { task, ordinal })
}

fn name() -> impl Strategy<Value = NameRef> {
    (text(), text()).prop_map(|(namespace, name)| NameRef { namespace, name })
}

prop_compose! {
    fn hello()(
        numbers in any::<(u32, u32, u32, u64, u32, u64, u64)>(),
        texts in [text(), text(), text(), text(), text(), text(), text()],
        held_ops in vec(op(), 0..4),
        [missing, extensions] in [vec(text(), 0..4), vec(text(), 0..4)],
        (root, waits_for_grants) in any::<(bool, bool)>(),
    ) -> Hello {
        let (oldest, newest, cloud, held_digest, cores, memory_kib, session) = numbers;
        let [agent_version, ip, agent_id, hostname, kernel, arch, program] = texts;
        Hello { oldest, newest, agent_version, cloud, ip, agent_id, held_digest, held_ops, root, hostname, kernel, cores, memory_kib, session, missing, arch, program, extensions, waits_for_grants }
    }
}

prop_compose! {
    fn last_exit()(
        (code, signal) in any::<(Option<i32>, Option<i32>)>(),
        (at_ms, oom) in any::<(i64, bool)>(),
        (memory_used, memory_limit) in any::<(u64, u64)>(),
    ) -> LastExitFrame {
        LastExitFrame { code, signal, at_ms, oom, memory_used, memory_limit, host_restarted: !oom }
    }
}

prop_compose! {
    fn health()((ok, checked_at_ms) in any::<(bool, i64)>(), message in text()) -> HealthFrame {
        HealthFrame { ok, checked_at_ms, message }
    }
}

prop_compose! {
    fn probes()(ready in option::of(health()), live in option::of(health())) -> ProbesFrame {
        ProbesFrame { ready, live }
    }
}

prop_compose! {
    fn status()(
        numbers in any::<(u32, i32, i64, i64, u32, u64, u64)>(),
        figures in (-1e9f32..1e9, -1e9f32..1e9),
        texts in [text(), text(), text(), text()],
        flag in any::<Option<u32>>(),
        managed in any::<Option<bool>>(),
        (process_state, next_at_ms, restarts, restart_needed) in any::<(u32, i64, u32, bool)>(),
        (last_exit, health) in (option::of(last_exit()), option::of(health())),
        probes in option::of(probes()),
    ) -> ProcessStatus {
        let (state, pid, started_at_ms, reported_at_ms, fd, disk, net) = numbers;
        let [namespace, name, version, message] = texts;
        let (cpu, mem) = figures;
        ProcessStatus { namespace, name, state, pid, version, started_at_ms, reported_at_ms, cpu, mem, fd, disk, net, message, flag, managed, process_state, next_at_ms, restarts, last_exit, health, restart_needed, probes }
    }
}

prop_compose! {
    fn event()(
        (seq, at_ms, report_id) in any::<(u64, i64, i64)>(),
        [namespace, name, kind, reason] in [text(), text(), text(), text()],
        (exit_code, exit_signal) in any::<(Option<i32>, Option<i32>)>(),
    ) -> EventFrame {
        EventFrame { seq, at_ms, namespace, name, kind, reason, exit_code, exit_signal, report_id }
    }
}

pub(super) fn up() -> impl Strategy<Value = Up> {
    let report = vec(status(), 0..3).prop_map(|statuses| Report { statuses });
    let result = (option::of(op()), vec(any::<u8>(), 0..40))
        .prop_map(|(op, outcome_json)| ResultFrame { op, outcome_json });
    let output =
        (any::<(u64, Vec<u8>, bool)>(), text()).prop_map(|((id, chunk, last), refused)| Output {
            id,
            chunk,
            last,
            refused,
        });
    prop_oneof![
        hello().prop_map(Up::from),
        report.prop_map(Up::from),
        result.prop_map(Up::from),
        event().prop_map(Up::from),
        output.prop_map(Up::from),
        Just(Up::default()),
    ]
}

prop_compose! {
    fn process()(
        name in option::of(name()),
        (incarnation, flag, managed, registered_at_ms) in any::<(u64, u32, bool, i64)>(),
        [spec_json, labels_json] in [text(), text()],
    ) -> DesiredProcess {
        DesiredProcess { name, incarnation, spec_json, labels_json, flag, managed, registered_at_ms }
    }
}

prop_compose! {
    fn desired()(
        (full, last) in any::<(bool, bool)>(),
        processes in vec(process(), 0..3),
        forget in vec(name(), 0..3),
        groups in vec((text(), text()), 0..3),
    ) -> Desired {
        let groups = groups.into_iter();
        let groups = groups.map(|(namespace, groups_json)| GroupSet { namespace, groups_json });
        Desired { full, last, processes, forget, groups: groups.collect() }
    }
}

prop_compose! {
    fn command()(
        (op, name, probe_json) in (option::of(op()), option::of(name()), text()),
        (op_type, deadline_ms, sent_ms) in any::<(u32, i64, i64)>(),
    ) -> Command {
        Command { op, name, op_type, probe_json, deadline_ms, sent_ms }
    }
}

pub(super) fn down() -> impl Strategy<Value = Down> {
    let welcome = (any::<(u32, i64, bool)>(), text()).prop_map(
        |((version, server_time_ms, grants_reports), server_version)| Welcome {
            version,
            server_time_ms,
            server_version,
            grants_reports,
        },
    );
    let ack = (vec(op(), 0..4), any::<(u64, u32)>()).prop_map(
        |(results, (events_through, may_report))| Ack {
            results,
            events_through,
            may_report,
        },
    );
    let bye = (text(), any::<bool>()).prop_map(|(reason, permanent)| Bye {
        reason,
        permanent,
        ..Bye::default()
    });
    let ask = (any::<u64>(), text(), any::<Vec<u8>>()).prop_map(|(id, body_json, content)| Ask {
        id,
        body_json,
        content: content.into(),
    });
    prop_oneof![
        welcome.prop_map(Down::from),
        desired().prop_map(Down::from),
        command().prop_map(Down::from),
        ack.prop_map(Down::from),
        bye.prop_map(Down::from),
        ask.prop_map(Down::from),
        text().prop_map(|reason| Move { reason }.into()),
        dependencies().prop_map(Down::from),
        Just(Down::default()),
    ]
}

fn dependencies() -> impl Strategy<Value = Dependencies> {
    let state = (
        proptest::option::of(name()),
        text(),
        text(),
        any::<bool>(),
        text(),
    );
    let state = state.prop_map(|(name, when, place, is_met, unmet)| DependencyState {
        name,
        when,
        place,
        is_met,
        unmet,
    });
    vec(state, 0..4).prop_map(|states| Dependencies { states })
}
