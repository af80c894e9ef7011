//! The processes of one simulated agent: desired state, status, and what to report.

use std::sync::Arc;
use std::time::Duration;

use ::agent::report::Granted;
use bytes::Bytes;
use model::Op;
use model::digest::{definition_hash, held_hash};
use testing::Random;
use tokio::time::Instant;
use wire::{Desired, DesiredProcess};

use super::names::{Names, SharedName};

/// How long a state change waits for others, as in a real agent.
const STATE_DELAY: Duration = Duration::from_millis(5);
/// A spec with this command cannot be started.
const FAILING: &str = "./fails.sh";
/// About the length of an encoded status.
const STATUS_BYTES: usize = 96;
const UNREGISTERED: u32 = 0;
const RUNNING: u32 = 1;
const STOPPED: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct Processes {
    held: Vec<HeldProcess>,
    /// XOR of the hashes of all processes.
    digest: u64,
    /// The names of a full list so far, while it is arriving.
    listed: Option<Vec<Arc<SharedName>>>,
    n_dirty: usize,
    /// How many of them have changed their state.
    n_moved: usize,
    due: Option<Instant>,
}

/// A report whose statuses are encoded.
#[derive(Debug, Default)]
pub(super) struct EncodedReport {
    pub(super) bytes: Vec<u8>,
    pub(super) n_statuses: usize,
}

/// What a simulated process has of [`wire::ProcessStatus`], with the same tags. Its names are shared, so that a status costs no
/// allocation: the simulator shares its cores with the server that it loads.
#[derive(Clone, PartialEq, prost::Message)]
struct SimulatedStatus {
    #[prost(bytes = "bytes", tag = "1")]
    namespace: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    name: Bytes,
    #[prost(uint32, tag = "3")]
    state: u32,
    #[prost(sint32, tag = "4")]
    pid: i32,
    #[prost(int64, tag = "6")]
    started_at_ms: i64,
    #[prost(int64, tag = "7")]
    reported_at_ms: i64,
    #[prost(float, tag = "8")]
    cpu: f32,
    #[prost(float, tag = "9")]
    mem: f32,
    #[prost(uint32, tag = "10")]
    fd: u32,
    #[prost(uint64, tag = "11")]
    disk: u64,
    #[prost(uint64, tag = "12")]
    net: u64,
    #[prost(uint32, optional, tag = "14")]
    flag: Option<u32>,
    #[prost(bool, optional, tag = "15")]
    managed: Option<bool>,
}

#[derive(Debug)]
struct HeldProcess {
    name: Arc<SharedName>,
    incarnation: u64,
    hash: u64,
    started_at_ms: i64,
    pid: i32,
    flag: u8,
    managed: bool,
    is_dirty: bool,
    /// More than its figures is dirty.
    has_moved: bool,
    cannot_start: bool,
}

impl Processes {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// When the next report is due, if there is one.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn any(&self, random: &mut Random) -> Option<Arc<SharedName>> {
        let at = random.below(self.held.len().max(1));
        self.held.get(at).map(|held| held.name.clone())
    }

    pub(super) fn desired(&mut self, frame: Desired, names: &Names, random: &mut Random) {
        if frame.full && self.listed.is_none() {
            self.listed = Some(Vec::new());
        }
        for process in &frame.processes {
            let Ok(name) = process.full_name() else {
                continue;
            };
            let name = names.keep(name);
            self.hold(&name, process, random);
            if let Some(listed) = &mut self.listed {
                listed.push(name);
            }
        }
        for name in frame.forget.iter().filter_map(|name| name.full_name().ok()) {
            let name = names.keep(name);
            self.keep_only(|held| !Arc::ptr_eq(&held.name, &name));
        }
        if frame.last
            && let Some(mut listed) = self.listed.take()
        {
            listed.sort_unstable_by_key(Arc::as_ptr);
            self.keep_only(|held| {
                let found = listed.binary_search_by_key(&Arc::as_ptr(&held.name), Arc::as_ptr);
                found.is_ok()
            });
        }
    }

    fn hold(&mut self, name: &Arc<SharedName>, process: &DesiredProcess, random: &mut Random) {
        let definition = definition_hash(&process.spec_json, &process.labels_json);
        let hash = held_hash(&name.full, process.incarnation, definition);
        let at = match self.find(name) {
            Some(at) => at,
            None => {
                self.held.push(HeldProcess {
                    name: name.clone(),
                    incarnation: 0,
                    hash: 0,
                    started_at_ms: 0,
                    pid: -1,
                    flag: UNREGISTERED as u8,
                    managed: false,
                    is_dirty: false,
                    has_moved: false,
                    cannot_start: false,
                });
                self.held.len() - 1
            }
        };
        let held = &mut self.held[at];
        self.digest ^= held.hash ^ hash;
        held.hash = hash;
        held.cannot_start = process.spec_json.contains(FAILING);
        if held.incarnation != process.incarnation {
            held.incarnation = process.incarnation;
            held.flag = process.flag as u8;
            held.managed = process.managed;
            held.run(process.flag == RUNNING, process.registered_at_ms, random);
        }
        self.mark_dirty(at);
    }

    /// Flag and managed after an operation; `None` for an unknown process.
    pub(super) fn operate(
        &mut self,
        name: &Arc<SharedName>,
        op: Op,
        now_ms: i64,
        random: &mut Random,
    ) -> Option<(u8, bool)> {
        let at = self.find(name)?;
        let held = &mut self.held[at];
        match op {
            Op::Start | Op::Restart | Op::Manage => {
                let is_new = op != Op::Manage || held.pid < 0;
                (held.flag, held.managed) = (RUNNING as u8, true);
                if is_new {
                    held.run(true, now_ms, random);
                }
            }
            Op::Stop | Op::Kill => {
                (held.flag, held.managed) = (STOPPED as u8, false);
                held.run(false, now_ms, random);
            }
            Op::Unmanage => held.managed = false,
            Op::Query | Op::Reload => {}
        }
        let after = (held.flag, held.managed);
        self.mark_dirty(at);
        Some(after)
    }

    /// Whether an operation fails because the process cannot be started, which is down then.
    pub(super) fn fails(&mut self, name: &Arc<SharedName>, op: Op, random: &mut Random) -> bool {
        let starts = matches!(op, Op::Start | Op::Restart);
        let found = self.find(name).filter(|_| starts);
        let Some(at) = found.filter(|at| self.held[*at].cannot_start) else {
            return false;
        };
        self.held[at].run(false, 0, random);
        self.mark_dirty(at);
        true
    }

    /// A process died and runs again.
    pub(super) fn run_anew(&mut self, name: &Arc<SharedName>, now_ms: i64, random: &mut Random) {
        if let Some(at) = self.find(name) {
            self.held[at].run(true, now_ms, random);
            self.mark_dirty(at);
        }
    }

    /// Makes every status due now, for a new connection.
    pub(super) fn rewind(&mut self, now: Instant) {
        self.mark_all_dirty(now);
        self.held.iter_mut().for_each(|held| held.has_moved = true);
        self.n_moved = self.held.len();
    }

    /// Makes every status due now, with new usage figures.
    pub(super) fn mark_all_dirty(&mut self, now: Instant) {
        self.held.iter_mut().for_each(|held| held.is_dirty = true);
        self.n_dirty = self.held.len();
        self.due = (self.n_dirty > 0).then_some(now);
    }

    fn mark_dirty(&mut self, at: usize) {
        let held = &mut self.held[at];
        self.n_dirty += usize::from(!held.is_dirty);
        self.n_moved += usize::from(!held.has_moved);
        (held.is_dirty, held.has_moved) = (true, true);
        self.due.get_or_insert_with(|| Instant::now() + STATE_DELAY);
    }

    /// The statuses of one frame; the rest stays due.
    pub(super) fn take_report(
        &mut self,
        granted: Granted,
        now_ms: i64,
        random: &mut Random,
    ) -> Option<EncodedReport> {
        let n = match granted {
            Granted::All => self.n_dirty,
            Granted::States => self.n_moved,
        };
        if self.n_dirty == 0 {
            self.due = None;
        }
        if n == 0 {
            return None;
        }
        let mut report = EncodedReport::default();
        let mut scratch = Vec::with_capacity(STATUS_BYTES);
        report.bytes.reserve(n * STATUS_BYTES);
        let is_wanted = |held: &&mut HeldProcess| match granted {
            Granted::All => held.is_dirty,
            Granted::States => held.has_moved,
        };
        for held in self.held.iter_mut().filter(is_wanted).take(n) {
            if report.bytes.len() >= wire::FRAME_BUDGET {
                break;
            }
            self.n_moved -= usize::from(held.has_moved);
            (held.is_dirty, held.has_moved) = (false, false);
            let status = held.status(now_ms, random);
            wire::codec::push_status(&status, &mut scratch, &mut report.bytes);
            report.n_statuses += 1;
        }
        self.n_dirty -= report.n_statuses;
        if self.n_dirty == 0 {
            self.due = None;
        }
        Some(report)
    }

    fn find(&self, name: &Arc<SharedName>) -> Option<usize> {
        let same = |held: &HeldProcess| Arc::ptr_eq(&held.name, name);
        self.held.iter().position(same)
    }

    fn keep_only(&mut self, keep: impl Fn(&HeldProcess) -> bool) {
        self.held.retain(|held| {
            let stays = keep(held);
            if !stays {
                self.digest ^= held.hash;
                self.n_dirty -= usize::from(held.is_dirty);
                self.n_moved -= usize::from(held.has_moved);
            }
            stays
        });
    }
}

impl HeldProcess {
    fn run(&mut self, is_up: bool, now_ms: i64, random: &mut Random) {
        (self.pid, self.started_at_ms) = match is_up {
            true => (1 + random.below(4_000_000), now_ms),
            false => (-1, 0),
        };
    }

    fn status(&self, now_ms: i64, random: &mut Random) -> SimulatedStatus {
        let is_up = self.pid > 0;
        let figure = |most: u64, random: &mut Random| match is_up {
            true => random.below(most),
            false => 0,
        };
        SimulatedStatus {
            namespace: self.name.namespace.clone(),
            name: self.name.name.clone(),
            state: if is_up { RUNNING } else { STOPPED },
            pid: self.pid,
            started_at_ms: self.started_at_ms,
            reported_at_ms: now_ms,
            cpu: figure(10_000, random) as f32 / 100.0,
            mem: figure(10_000, random) as f32 / 100.0,
            fd: figure(1_000, random) as u32,
            disk: figure(1 << 30, random),
            net: figure(1 << 20, random),
            flag: Some(u32::from(self.flag)),
            managed: Some(self.managed),
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use wire::down::NameRef;

    use super::*;

    fn process(name: &str, incarnation: u64) -> DesiredProcess {
        DesiredProcess {
            name: Some(NameRef {
                namespace: "gse".into(),
                name: name.into(),
            }),
            incarnation,
            spec_json: "{}".into(),
            labels_json: "{}".into(),
            ..Default::default()
        }
    }

    fn desired(full: bool, last: bool, processes: &[(&str, u64)]) -> Desired {
        let processes = processes.iter().map(|(name, n)| process(name, *n));
        Desired {
            full,
            last,
            processes: processes.collect(),
            ..Default::default()
        }
    }

    #[test]
    fn held_processes_and_digest_follow_the_server() {
        let (names, mut random) = (Names::default(), Random::new(1));
        let mut processes = Processes::default();
        let mut take = |processes: &mut Processes, frame| {
            processes.desired(frame, &names, &mut random);
        };
        take(&mut processes, desired(true, true, &[("a", 1), ("b", 2)]));
        let (a, b) = ("gse/a".parse().unwrap(), "gse/b".parse().unwrap());
        let definition = definition_hash("{}", "{}");
        let both = held_hash(&a, 1, definition) ^ held_hash(&b, 2, definition);
        assert_eq!((processes.len(), processes.digest()), (2, both));

        take(&mut processes, desired(false, false, &[("a", 5)]));
        let anew = held_hash(&a, 5, definition) ^ held_hash(&b, 2, definition);
        assert_eq!((processes.len(), processes.digest()), (2, anew));

        // In two frames, and without b.
        take(&mut processes, desired(true, false, &[("a", 5)]));
        assert_eq!(processes.len(), 2);
        take(&mut processes, desired(true, true, &[("c", 7)]));
        let rest =
            held_hash(&a, 5, definition) ^ held_hash(&"gse/c".parse().unwrap(), 7, definition);
        assert_eq!((processes.len(), processes.digest()), (2, rest));
    }

    #[test]
    fn a_change_is_reported_once() {
        let (names, mut random) = (Names::default(), Random::new(1));
        let mut processes = Processes::default();
        processes.desired(
            desired(true, true, &[("a", 1), ("b", 2)]),
            &names,
            &mut random,
        );
        let report = processes.take_report(Granted::All, 9, &mut random).unwrap();
        assert_eq!(report.n_statuses, 2);
        assert!(
            processes
                .take_report(Granted::All, 9, &mut random)
                .is_none()
        );

        let a = names.keep("gse/a".parse().unwrap());
        let wanted = processes.operate(&a, Op::Start, 9, &mut random);
        assert_eq!(wanted, Some((1, true)));
        let report = processes.take_report(Granted::All, 9, &mut random).unwrap();
        let decoded = wire::Report::decode(&report.bytes[..]).unwrap();
        assert_eq!((report.n_statuses, decoded.statuses.len()), (1, 1));
        assert_eq!(
            (&*decoded.statuses[0].name, decoded.statuses[0].state),
            ("a", 1)
        );
        assert_eq!(processes.due(), None);
    }
}
