//! Enforces the soft limits of managed processes and groups, after each sample.

use model::event::EventKind;

use super::{Key, Runner};
use crate::machine::{Event, Member, Share, belongs};

impl Runner {
    pub(super) fn enforce_limits(&mut self) {
        let every_ms = self.pace.period().as_millis() as u64;
        let mut sentences: Vec<(Key, EventKind, String)> = Vec::new();
        for (key, held) in &mut self.held {
            if !held.process.is_limited() {
                held.limit_counters.clear();
                continue;
            }
            // A failed sample counts neither as over nor as below the limit.
            if !held.is_sampled {
                continue;
            }
            let spec = &held.registration.spec;
            if let Some(sentence) = held.limit_counters.sample(&held.usage, spec, every_ms) {
                let kind = EventKind::ProcessResourceLimitExceed;
                sentences.push((*key, kind, sentence));
            }
        }
        self.enforce_pool_limits(every_ms, &mut sentences);
        for (key, kind, sentence) in sentences {
            self.drive(key, Event::OverLimit(kind, sentence));
        }
    }

    /// Unmanaged members are neither counted nor killed.
    fn enforce_pool_limits(
        &mut self,
        every_ms: u64,
        sentences: &mut Vec<(Key, EventKind, String)>,
    ) {
        for (namespace, groups) in &self.groups {
            let mut keys: Vec<Key> = self
                .held
                .iter()
                .filter(|(_, held)| {
                    held.registration.name.namespace == *namespace && held.process.is_limited()
                })
                .map(|(key, _)| *key)
                .collect();
            keys.sort();
            for group in groups {
                let (mut victims, mut members) = (Vec::new(), Vec::new());
                for key in &keys {
                    let Some(held) = self.held.get(key) else {
                        continue;
                    };
                    if !belongs(&held.registration.labels, group) {
                        continue;
                    }
                    let limits = &held.registration.spec.resource;
                    victims.push(*key);
                    members.push(Member {
                        cpu: Share {
                            used: held.usage.cpu.into(),
                            limit: limits.cpu,
                        },
                        mem: Share {
                            used: held.usage.mem.into(),
                            limit: limits.mem,
                        },
                    });
                }
                let verdict = self.pools.sample(namespace, group, &members, every_ms);
                if let Some((victim, sentence)) = verdict {
                    let kind = EventKind::ProcessGroupResourceLimitExceed;
                    sentences.push((victims[victim], kind, sentence));
                }
            }
        }
    }
}
