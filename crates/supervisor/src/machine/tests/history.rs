//! Random histories on a fake host: the invariants that hold for any events in any order.

use std::collections::HashMap;

use model::event::EventKind;
use model::spec::probes::{ProbeRule, ProbeTarget};
use model::spec::{ProbeAction, ProbeKind};
use model::{Flag, Op, State};
use proptest::prelude::*;

use super::world::{Behaviour, World};
use crate::machine::{Event, Phase};

#[derive(Debug, Clone)]
enum HistoryEvent {
    Operation(Op),
    Time(u64),
    ProgramDies,
    Becomes(Behaviour),
    AgentDies {
        after: u32,
    },
    AgentRestarts,
    HostRestarts,
    CheckFails(bool),
    IgnoresTerm(bool),
    IsUnhealthy,
    /// The ready probe succeeds, or not, or cannot be made.
    Probed(Option<bool>),
    UsesTooMuch,
}

fn behaviour() -> impl Strategy<Value = Behaviour> {
    prop_oneof![
        3 => (0_u64..20_000, prop_oneof![1 => 0_u64..90_000, 3 => Just(u64::MAX)])
            .prop_map(|(late_ms, lives_ms)| Behaviour::Daemon { late_ms, lives_ms }),
        3 => (prop_oneof![1 => 0_u64..90_000, 3 => Just(u64::MAX)], 0..2)
            .prop_map(|(lives_ms, code)| Behaviour::Stays { lives_ms, code }),
        1 => (1..3).prop_map(|code| Behaviour::Fails { code }),
    ]
}

fn happens() -> impl Strategy<Value = HistoryEvent> {
    prop_oneof![
        6 => proptest::sample::select(Op::ALL.to_vec()).prop_map(HistoryEvent::Operation),
        6 => prop_oneof![0_u64..100, 0_u64..6_000, 0_u64..70_000].prop_map(HistoryEvent::Time),
        2 => Just(HistoryEvent::ProgramDies),
        2 => behaviour().prop_map(HistoryEvent::Becomes),
        3 => (0_u32..6).prop_map(|after| HistoryEvent::AgentDies { after }),
        1 => Just(HistoryEvent::AgentRestarts),
        1 => Just(HistoryEvent::HostRestarts),
        1 => any::<bool>().prop_map(HistoryEvent::CheckFails),
        1 => any::<bool>().prop_map(HistoryEvent::IgnoresTerm),
        1 => Just(HistoryEvent::IsUnhealthy),
        2 => any::<Option<bool>>().prop_map(HistoryEvent::Probed),
        1 => Just(HistoryEvent::UsesTooMuch),
    ]
}

proptest! {
    #[test]
    fn the_invariants_hold_in_every_history(
        commands in any::<bool>(),
        stop_check_secs in prop_oneof![3 => Just(0_u32), 1 => 0..100_u32],
        grace in proptest::option::of(1_u32..20),
        ready in proptest::option::of(proptest::sample::select(ProbeAction::ALL.to_vec())),
        history in proptest::collection::vec(happens(), 1..40),
    ) {
        let mut world = World::new();
        world.spec.monitor_policy.stop_check_secs = stop_check_secs;
        world.spec.stop.grace = grace;
        world.spec.probes.ready = ready.map(|action| ProbeRule {
            target: ProbeTarget::Exec("true".into()),
            interval: None,
            timeout: None,
            successes: None,
            failures: Some(1),
            delay: None,
            action: Some(action),
        });
        if commands {
            let control = &mut world.spec.control;
            control.stop_cmd = "stop".into();
            control.kill_cmd = "kill".into();
            control.restart_cmd = "restart".into();
            control.reload_cmd = "reload".into();
        }
        world.drive(Event::Held);
        let mut asked = 0;
        for event in history {
            match event {
                HistoryEvent::Operation(op) => {
                    if world.process.operations().count() < 32 {
                        asked += 1;
                        world.ask(asked, op);
                    }
                }
                HistoryEvent::Time(ms) => world.pass(ms),
                HistoryEvent::ProgramDies => world.kill_program(),
                HistoryEvent::Becomes(behaviour) => world.behaviour = behaviour,
                HistoryEvent::AgentDies { after } => world.dies_after = Some(after),
                HistoryEvent::AgentRestarts => world.restart_agent(),
                HistoryEvent::HostRestarts => world.reboot(),
                HistoryEvent::CheckFails(fails) => {
                    world.check = if fails { Err("no".into()) } else { Ok(()) };
                }
                HistoryEvent::IgnoresTerm(ignores) => world.ignores_term = ignores,
                HistoryEvent::IsUnhealthy => {
                    for _ in 0..3 {
                        world.drive(Event::HealthChecked(Err("no".into())));
                    }
                }
                HistoryEvent::Probed(None) => {
                    let (n_ended, run) = (world.ends.len(), world.process.watched());
                    let why = "the agent has no descriptors".to_owned();
                    world.drive(Event::NotProbed(ProbeKind::Ready, why));
                    prop_assert_eq!((world.ends.len(), world.process.watched()), (n_ended, run));
                }
                HistoryEvent::Probed(Some(succeeds)) => {
                    let result = if succeeds { Ok(()) } else { Err("no".into()) };
                    world.drive(Event::Probed(ProbeKind::Ready, result));
                }
                HistoryEvent::UsesTooMuch => {
                    let kind = EventKind::ProcessResourceLimitExceed;
                    let start = world.process.operation().filter(|_| world.process.is_limited());
                    let n_told = world.emitted.len();
                    world.drive(Event::OverLimit(kind, "killed: too much".into()));
                    if let Some(start) = start.filter(|_| world.emitted.len() > n_told) {
                        let end = world.ends.iter().find(|end| end.id == start.id);
                        let said = end.map(|end| end.message.as_str());
                        prop_assert!(
                            said.is_some_and(|said| said.ends_with("killed: too much")),
                            "a start fails with the limit: {said:?}"
                        );
                    }
                }
            }
            prop_assert!(world.most_programs <= 1, "two live runs of one process");
        }

        // No more faults: a good program, and time to settle.
        world.dies_after = None;
        world.check = Ok(());
        world.behaviour = Behaviour::Daemon { late_ms: 0, lives_ms: u64::MAX };
        world.pass(5_000_000);
        let mut ends: HashMap<_, u32> = HashMap::new();
        for ending in &world.ends {
            *ends.entry(ending.id.ordinal).or_default() += 1;
        }
        prop_assert!(ends.values().all(|count| *count == 1), "an operation ended twice");
        prop_assert_eq!(ends.len() as u32, asked, "every operation ends");
        prop_assert!(world.most_programs <= 1, "two live runs of one process");
        let there = world.program().is_some();
        let shown = world.process.view().state == State::Running;
        prop_assert_eq!(there, shown, "what is shown is what is: {:?}", world.process.phase);
        let gave_up = world.process.message.starts_with("gave up");
        if world.process.managed && world.process.flag == Flag::Running && !gave_up {
            prop_assert!(there, "wanted and kept, so running: {:?}", world.process);
        }
        prop_assert!(
            matches!(world.process.phase, Phase::Up { .. } | Phase::Down),
            "at rest: {:?}",
            world.process.phase
        );
    }
}
