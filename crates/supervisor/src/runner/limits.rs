//! Keeps managed processes and groups within their limits, once for each sample.

use model::event::EventKind;

use super::{Key, Runner};
use crate::machine::{Event, Member, Share, belongs};

impl Runner {
    pub(super) fn enforce_limits(&mut self) {
        let every_ms = self.pace.period().as_millis() as u64;
        let mut sentences: Vec<(Key, EventKind, String)> = Vec::new();
        for (key, held) in &mut self.held {
            if !held.is_judged() {
                held.over.clear();
                continue;
            }
            // Figures that are not known count neither for nor against it.
            if !held.is_sampled {
                continue;
            }
            let spec = &held.hold.spec;
            if let Some(sentence) = held.over.sample(&held.usage, spec, every_ms) {
                let kind = EventKind::ProcessResourceLimitExceed;
                sentences.push((*key, kind, sentence));
            }
        }
        self.judge_groups(every_ms, &mut sentences);
        for (key, kind, sentence) in sentences {
            self.drive(key, Event::Sentenced(kind, sentence));
        }
    }

    /// Who is not managed is neither counted nor killed.
    fn judge_groups(&mut self, every_ms: u64, sentences: &mut Vec<(Key, EventKind, String)>) {
        for (namespace, groups) in &self.groups {
            let mut keys: Vec<Key> = self
                .held
                .iter()
                .filter(|(_, held)| held.hold.name.namespace == *namespace && held.is_judged())
                .map(|(key, _)| *key)
                .collect();
            keys.sort();
            for group in groups {
                let (mut victims, mut members) = (Vec::new(), Vec::new());
                for key in &keys {
                    let Some(held) = self.held.get(key) else {
                        continue;
                    };
                    if !belongs(&held.hold.labels, group) {
                        continue;
                    }
                    let limits = &held.hold.spec.resource;
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
