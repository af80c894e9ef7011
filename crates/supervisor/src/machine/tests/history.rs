//! Random histories on a pretended host: the properties that must hold whatever happens, in whatever order.

use std::collections::HashMap;

use model::event::EventKind;
use model::{Flag, Op, State};
use proptest::prelude::*;

use super::world::{Behaviour, World};
use crate::machine::{Event, Phase};

#[derive(Debug, Clone)]
enum Happens {
    Asked(Op),
    Time(u64),
    ProgramDies,
    Becomes(Behaviour),
    AgentDies { after: u32 },
    AgentRestarts,
    HostRestarts,
    CheckFails(bool),
    IgnoresTerm(bool),
    IsUnhealthy,
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

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => proptest::sample::select(Op::ALL.to_vec()).prop_map(Happens::Asked),
        6 => prop_oneof![0_u64..100, 0_u64..6_000, 0_u64..70_000].prop_map(Happens::Time),
        2 => Just(Happens::ProgramDies),
        2 => behaviour().prop_map(Happens::Becomes),
        3 => (0_u32..6).prop_map(|after| Happens::AgentDies { after }),
        1 => Just(Happens::AgentRestarts),
        1 => Just(Happens::HostRestarts),
        1 => any::<bool>().prop_map(Happens::CheckFails),
        1 => any::<bool>().prop_map(Happens::IgnoresTerm),
        1 => Just(Happens::IsUnhealthy),
        1 => Just(Happens::UsesTooMuch),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_properties_hold(
        commands in any::<bool>(),
        stop_check_secs in prop_oneof![3 => Just(0_u32), 1 => 0..100_u32],
        history in proptest::collection::vec(happens(), 1..40),
    ) {
        let mut world = World::new();
        world.spec.monitor_policy.stop_check_secs = stop_check_secs;
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
                Happens::Asked(op) => {
                    if world.process.operations().count() < 32 {
                        asked += 1;
                        world.ask(asked, op);
                    }
                }
                Happens::Time(ms) => world.pass(ms),
                Happens::ProgramDies => world.kill_program(),
                Happens::Becomes(behaviour) => world.behaviour = behaviour,
                Happens::AgentDies { after } => world.dies_after = Some(after),
                Happens::AgentRestarts => world.restart_agent(),
                Happens::HostRestarts => world.reboot(),
                Happens::CheckFails(fails) => {
                    world.check = if fails { Err("no".into()) } else { Ok(()) };
                }
                Happens::IgnoresTerm(ignores) => world.ignores_term = ignores,
                Happens::IsUnhealthy => {
                    for _ in 0..3 {
                        world.drive(Event::HealthChecked(Err("no".into())));
                    }
                }
                Happens::UsesTooMuch => {
                    let kind = EventKind::ProcessResourceLimitExceed;
                    world.drive(Event::Sentenced(kind, "killed: too much".into()));
                }
            }
            prop_assert!(world.most_programs <= 1, "two live runs of one process");
        }

        // A quiet world: a good program, and time.
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
