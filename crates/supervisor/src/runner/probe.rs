//! Runs the probes of `spec.probes` while a run is up, or while a start waits for its ready probe.
//!
//! A command runs beside the machine (`side_command`), TCP and HTTP in tasks of their own (`net_probe`). Of each probe one at
//! most is under way. Neither timers nor results are in the journal: a restarted agent probes at once, and the machine has
//! kept what the last probes have shown.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use model::UnixMillis;
use model::rare::Rare;
use model::spec::probes::{ProbeRule, ProbeTarget};
use model::spec::{ProbeKind, Probes};
use model::status::{HealthResult, ProbeResults};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::net_probe;
use super::side_command::StartError;
use super::{Key, Runner, Timer};
use crate::machine::{Event, LiveRun, Run};
use crate::os::clock;

/// How many TCP and HTTP probes are under way at once; the others wait for their turn.
const MAX_NET_PROBES: usize = 128;
/// While a start waits, its ready probe runs at least this often.
const STARTING_EVERY_MS: u64 = 1_000;
/// The least time between the end of a probe and the next.
const LEAST_PAUSE_MS: u64 = 100;

/// The probes of one run.
#[derive(Debug)]
pub(crate) struct RunProbes {
    run: Run,
    rules: Rare<Probes>,
    is_starting: bool,
    timers: [ProbeTimer; ProbeKind::ALL.len()],
    /// Not in the journal: each probe would be written.
    pub(crate) results: ProbeResults,
}

#[derive(Debug, Clone, Copy, Default)]
struct ProbeTimer {
    due_boot_ms: Option<u64>,
    /// When the probe began that is under way.
    began_boot_ms: Option<u64>,
}

impl RunProbes {
    fn timer(&mut self, kind: ProbeKind) -> &mut ProbeTimer {
        &mut self.timers[kind as usize]
    }

    pub(super) fn due(&self, kind: ProbeKind) -> Option<u64> {
        self.timers[kind as usize].due_boot_ms
    }

    fn note(&mut self, kind: ProbeKind, result: &Result<(), String>, now: UnixMillis) {
        let noted = HealthResult {
            ok: result.is_ok(),
            checked_at: now,
            message: result.as_ref().err().cloned().unwrap_or_default(),
        };
        match kind {
            ProbeKind::Ready => self.results.ready = Some(noted),
            ProbeKind::Live => self.results.live = Some(noted),
        }
    }
}

/// Which probe of which run.
#[derive(Debug, Clone, Copy)]
struct ProbeOf {
    key: Key,
    kind: ProbeKind,
    run: Run,
}

/// TCP and HTTP probes under way.
#[derive(Debug)]
pub(super) struct NetProbes {
    tasks: JoinSet<Result<(), StartError>>,
    under_way: HashMap<tokio::task::Id, ProbeOf>,
    turns: Arc<Semaphore>,
}

impl Default for NetProbes {
    fn default() -> Self {
        Self {
            tasks: JoinSet::new(),
            under_way: HashMap::new(),
            turns: Arc::new(Semaphore::new(MAX_NET_PROBES)),
        }
    }
}

/// A probe that has ended.
#[derive(Debug)]
pub(super) struct ProbeEnd {
    of: ProbeOf,
    result: Result<(), StartError>,
}

impl NetProbes {
    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The next probe that ends; none if none is under way.
    pub(super) async fn ended(&mut self) -> Option<ProbeEnd> {
        let (id, result) = match self.tasks.join_next_with_id().await? {
            Ok((id, result)) => (id, result),
            // It panics when the host allows no thread to look up a name.
            Err(error) => (error.id(), Err(StartError::Shortage(error.to_string()))),
        };
        let of = self.under_way.remove(&id)?;
        Some(ProbeEnd { of, result })
    }

    fn begin(&mut self, of: ProbeOf, rule: &ProbeRule) {
        let (turns, target) = (Arc::clone(&self.turns), rule.target.clone());
        let timeout = Duration::from_millis(rule.timeout_ms());
        let task = self.tasks.spawn(async move {
            // Never closed.
            let _turn = turns.acquire().await;
            net_probe::probe(&target, timeout).await
        });
        self.under_way.insert(task.id(), of);
    }
}

impl Runner {
    /// Sets the timers of a new run or of changed probes; clears them if there is nothing to probe.
    pub(super) fn update_probe_timers(&mut self, key: Key) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let rules = &held.registration.spec.probes;
        let probed = held.process.probed_run().filter(|_| !rules.is_default());
        let Some((current, is_starting)) = probed else {
            held.probes = None;
            return;
        };
        let alive = current.alive;
        let is_known = |probes: &RunProbes| probes.run == alive.run && probes.rules == *rules;
        if !held.probes.as_deref().is_some_and(is_known) {
            held.probes = Some(Box::new(RunProbes {
                run: alive.run,
                rules: rules.clone(),
                is_starting,
                timers: Default::default(),
                results: ProbeResults::default(),
            }));
        }
        if let Some(probes) = &mut held.probes {
            probes.is_starting = is_starting;
            for kind in ProbeKind::ALL {
                self.arm_first_probe(key, kind, alive);
            }
        }
    }

    /// The first probe of a run: after its delay, at once if that is over.
    fn arm_first_probe(&mut self, key: Key, kind: ProbeKind, alive: LiveRun) {
        let Some(probes) = self
            .held
            .get_mut(&key)
            .and_then(|held| held.probes.as_mut())
        else {
            return;
        };
        let is_starting = probes.is_starting;
        let Some(rule) = probes.rules.get(kind) else {
            return;
        };
        let delay_ms = rule.delay_ms();
        let timer = probes.timer(kind);
        // A process that is starting may not live up to its live probe yet.
        let waits = is_starting && kind == ProbeKind::Live;
        if waits || timer.due_boot_ms.is_some() || timer.began_boot_ms.is_some() {
            return;
        }
        // Spread the probes of runs that a restarted agent finds together.
        let spread_ms = match is_starting {
            true => 0,
            false => u64::from(key.0 % 64) * 16,
        };
        let at = (alive.since_boot_ms + delay_ms).max(clock::boot_ms() + spread_ms);
        self.arm_probe(key, kind, at);
    }

    fn arm_probe(&mut self, key: Key, kind: ProbeKind, at: u64) {
        if let Some(held) = self.held.get_mut(&key)
            && let Some(probes) = &mut held.probes
        {
            probes.timer(kind).due_boot_ms = Some(at);
            self.timers.push(Reverse((at, Timer::Probe(key, kind))));
        }
    }

    pub(super) fn probe_timer_fired(&mut self, key: Key, kind: ProbeKind) {
        let Some(probes) = self
            .held
            .get_mut(&key)
            .and_then(|held| held.probes.as_mut())
        else {
            return;
        };
        let (run, rule) = (probes.run, probes.rules.get(kind).cloned());
        *probes.timer(kind) = ProbeTimer {
            due_boot_ms: None,
            began_boot_ms: Some(clock::boot_ms()),
        };
        let Some(rule) = rule else {
            return;
        };
        match &rule.target {
            ProbeTarget::Exec(command) => {
                let begun = self.start_probe_command(key, kind, run, command, rule.timeout_ms());
                if let Err(error) = begun {
                    self.probe_ended(key, kind, run, Err(error));
                }
            }
            ProbeTarget::Tcp(_) | ProbeTarget::Http(_) => {
                let of = ProbeOf { key, kind, run };
                self.net_probes.begin(of, &rule);
            }
        }
    }

    pub(super) fn net_probe_ended(&mut self, end: Option<ProbeEnd>) {
        if let Some(ProbeEnd { of, result }) = end {
            self.probe_ended(of.key, of.kind, of.run, result);
        }
    }

    /// Tells the machine, and arms the next probe.
    pub(super) fn probe_ended(
        &mut self,
        key: Key,
        kind: ProbeKind,
        run: Run,
        result: Result<(), StartError>,
    ) {
        let probes = self
            .held
            .get_mut(&key)
            .and_then(|held| held.probes.as_mut());
        // The result of an earlier run, or of a probe that was changed, says nothing.
        let Some(probes) = probes.filter(|probes| probes.run == run) else {
            return;
        };
        let Some(began) = probes.timer(kind).began_boot_ms.take() else {
            return;
        };
        let every_ms = probes.rules.get(kind).map_or(0, ProbeRule::interval_ms);
        let event = match result {
            Ok(()) => Event::Probed(kind, Ok(())),
            Err(StartError::Refused(why)) => Event::Probed(kind, Err(why)),
            // A shortage says nothing about the process.
            Err(StartError::Shortage(why)) => Event::NotProbed(kind, why),
        };
        if let Event::Probed(_, result) = &event {
            probes.note(kind, result, clock::unix());
        }
        self.drive(key, event);
        // The operation that waited for it may have ended.
        let probes = self.held.get(&key).and_then(|held| held.probes.as_ref());
        let Some(probes) = probes.filter(|probes| probes.run == run) else {
            return;
        };
        let every_ms = match probes.is_starting {
            true => every_ms.min(STARTING_EVERY_MS),
            false => every_ms,
        };
        let at = (began + every_ms).max(clock::boot_ms() + LEAST_PAUSE_MS);
        self.arm_probe(key, kind, at);
    }
}
