//! Two replicas on one store that lose every hint between them: each must still show what the other committed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bus::{Bus, LocalHub, ReplicaId};
use control::{Clock, Control, ControlError, HostSelector, Mode, Registration, TargetHost};
use model::access::Caller;
use model::{Labels, UnixMillis};
use store::Store;
use testing::Random;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::clock_hold::ClockHold;
use crate::history::pause;
use crate::program;
use crate::server_side::{open_store, write_template};
use crate::world::{N_HOSTS, N_PROCESSES, hosts};

const N_CHANGES: usize = 12;
/// Longer than the polling interval of a replica.
const QUIET: Duration = Duration::from_secs(90);

#[derive(Debug)]
struct Replica {
    control: Control,
    store: Store,
    /// Its drop ends the background tasks.
    _stop: watch::Sender<bool>,
}

/// Changes registrations through both, and compares them after a quiet while.
pub(crate) async fn converge(seed: u64, dir: &Path, clock_hold: &ClockHold) -> Result<(), String> {
    let mut random = Random::new(seed);
    let path = write_template(dir);
    let replicas = [
        start(&path, clock_hold, 1).await,
        start(&path, clock_hold, 2).await,
    ];
    for _ in 0..N_CHANGES {
        let control = &replicas[random.below(replicas.len())].control;
        let name = program::name(random.below(N_PROCESSES));
        let host = hosts()[random.below(N_HOSTS)];
        let places = vec![TargetHost {
            key_prefix: host.to_string().into(),
            place: HostSelector::Host(host),
        }];
        let changed = match random.permille(700) {
            true => {
                let request = Registration {
                    spec: program::spec(&mut random, &name),
                    name,
                    labels: Labels::default(),
                    hosts: places,
                    suppliers: Default::default(),
                    mode: Mode::Update,
                    restores: None,
                };
                control
                    .registry()
                    .register(&Caller::system(), request)
                    .await
            }
            false => {
                control
                    .registry()
                    .unregister(&Caller::system(), &name, places)
                    .await
            }
        };
        match changed {
            // Its dependencies would make a cycle.
            Err(ControlError::Invalid(invalid)) if invalid.field == "spec.after" => {}
            changed => drop(changed.map_err(|error| error.to_string())?),
        }
        sleep(pause(&mut random)).await;
    }
    sleep(QUIET).await;
    let shown: Vec<BTreeSet<String>> = replicas.iter().map(shown).collect();
    for replica in &replicas {
        replica.store.close().await;
    }
    match shown[0] == shown[1] {
        true => Ok(()),
        false => Err(format!(
            "one shows {:?}, the other {:?}",
            shown[0], shown[1]
        )),
    }
}

async fn start(path: &Path, clock_hold: &ClockHold, number: u64) -> Replica {
    let began = Instant::now();
    let clock = Clock::new(move || UnixMillis(1 + began.elapsed().as_millis() as i64));
    let opening = async {
        let store = open_store(path).await;
        // Each has its own bus: no message reaches the other.
        let bus = Bus::local(&LocalHub::new(), ReplicaId(number));
        let started = Control::among_replicas(store.clone(), bus, clock).await;
        let (control, background) = started.expect("the server starts");
        (store, control, background)
    };
    let (store, control, background) = clock_hold.hold(opening).await;
    clock_hold.watch(&store);
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(background.run(stopped));
    Replica {
        control,
        store,
        _stop: stop,
    }
}

fn shown(replica: &Replica) -> BTreeSet<String> {
    let fleet = replica.control.inspect_fleet();
    let ids: Vec<_> = hosts()
        .iter()
        .filter_map(|host| fleet.host_id(host))
        .collect();
    let rows = ids.iter().flat_map(|host| fleet.processes_of(*host));
    rows.map(|row| format!("{:?}", row.to_change())).collect()
}
