//! Tells agents what dependencies on other hosts have come to.
//!
//! Once a second, as long as a registered spec has such a dependency. Each answer is worked out once for all hosts, and an
//! agent hears of it only when it has changed: the latest value wins, so a lost frame costs nothing once the agent connects
//! again.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fleet::Fleet;
use model::FullName;
use model::change::{HostId, Revision};
use model::spec::after::{Dependency, Place, When};
use tokio::sync::watch;
use tokio::time::Instant;
use wire::{Dependencies, DependencyState};

use crate::core::Core;
use crate::stopped;

/// How often the answers are worked out.
const EVERY: Duration = Duration::from_secs(1);
/// That takes at most this part of the time.
const PART_OF_TIME: u32 = 20;
/// How many dependencies of one host are answered, so that a frame holds them.
const MAX_ON_HOST: usize = 1000;

/// A dependency on other hosts.
type Need = (FullName, When, Place);

pub(crate) async fn run(core: Arc<Core>, mut stop: watch::Receiver<bool>) {
    let mut needs = Needs::default();
    let mut pause = EVERY;
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = tokio::time::sleep(pause) => {}
        }
        let began = Instant::now();
        needs.tell(&core);
        pause = EVERY.max(began.elapsed() * PART_OF_TIME);
    }
}

/// What the hosts have to be told about.
#[derive(Debug, Default)]
struct Needs {
    /// Of this revision.
    revision: Revision,
    by_host: HashMap<HostId, BTreeSet<Need>>,
}

impl Needs {
    fn tell(&mut self, core: &Core) {
        let frames = self.frames(&core.fleet());
        for (host, frame) in frames {
            if let Some(outbox) = core.outboxes.outbox(host) {
                let hash = hash(&frame);
                if outbox.told_dependencies.swap(hash, Ordering::SeqCst) != hash {
                    outbox.change(|pending| pending.dependencies = Some(frame));
                }
            }
        }
    }

    fn frames(&mut self, fleet: &Fleet) -> Vec<(HostId, Dependencies)> {
        if fleet.waiting_definitions().next().is_none() {
            self.by_host.clear();
            return Vec::new();
        }
        if self.revision != fleet.revision() || self.by_host.is_empty() {
            self.revision = fleet.revision();
            self.by_host = needs_of(fleet);
        }
        let mut answers: HashMap<&Need, DependencyState> = HashMap::new();
        let mut frames = Vec::with_capacity(self.by_host.len());
        let is_up = |id| fleet.host(id).is_some_and(|view| view.link.is_up());
        for (host, needs) in self.by_host.iter().filter(|(host, _)| is_up(**host)) {
            let answer = |need| {
                answers
                    .entry(need)
                    .or_insert_with(|| look_up(fleet, need))
                    .clone()
            };
            let states = needs.iter().take(MAX_ON_HOST).map(answer).collect();
            frames.push((*host, Dependencies { states }));
        }
        frames
    }
}

fn needs_of(fleet: &Fleet) -> HashMap<HostId, BTreeSet<Need>> {
    let mut by_host: HashMap<HostId, BTreeSet<Need>> = HashMap::new();
    for (id, definition) in fleet.waiting_definitions() {
        let elsewhere = |dependency: &&Dependency| dependency.place != Place::SameHost;
        let needs = definition.spec.after.iter().filter(elsewhere);
        let needs: Vec<Need> = needs
            .map(|need| (need.process.clone(), need.when, need.place))
            .collect();
        let rows = fleet.processes_named(definition.name);
        for row in rows.filter(|row| row.definition_id() == id) {
            let here = by_host.entry(row.host().id).or_default();
            here.extend(needs.iter().cloned());
        }
    }
    by_host
}

/// What a dependency has come to, as far as the server knows.
fn look_up(fleet: &Fleet, (process, when, place): &Need) -> DependencyState {
    let rows = fleet.name_id(process).into_iter();
    let rows = rows.flat_map(|name| fleet.processes_named(name));
    let (mut n_hosts, mut n_met) = (0, 0);
    for row in rows {
        let spec = &row.definition().spec;
        let is_met = when.is_met_by(spec, row.process_state(), row.last_exit());
        n_hosts += 1;
        n_met += usize::from(is_met);
        if is_met && *place == Place::Any {
            break;
        }
    }
    let is_met = match place {
        Place::SameHost | Place::Any => n_met > 0,
        Place::All => n_met == n_hosts && n_hosts > 0,
    };
    let unmet = match n_hosts {
        0 => "registered on no host".to_owned(),
        _ => format!("{n_met} of {n_hosts} hosts"),
    };
    let unmet = (!is_met).then_some(unmet.as_str());
    DependencyState::new(process, *when, *place, unmet)
}

/// Never 0, which stands for nothing told.
fn hash(frame: &Dependencies) -> u64 {
    let mut hasher = DefaultHasher::new();
    for state in &frame.states {
        hasher.write(format!("{state:?}").as_bytes());
    }
    hasher.finish().max(1)
}
