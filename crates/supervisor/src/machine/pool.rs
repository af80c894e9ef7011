//! Process groups: which member is killed when a pool is over its limit for several samples in a row.
//!
//! Pure: members with their usage go in, a victim and a reason come out.

use std::collections::HashMap;

use model::group::ProcessGroup;
use model::{Labels, Namespace};

use super::limits::{IN_A_ROW, percent};
use super::messages::seconds;

/// The label that names the group of a process.
const LABEL: &str = "process_group";

/// Whether a process with these labels is in the group: its label names the group, or it has no such label.
pub(crate) fn belongs(labels: &Labels, group: &ProcessGroup) -> bool {
    let named = labels.iter().find(|(key, _)| *key == LABEL);
    named.is_none_or(|(_, id)| *id == group.id)
}

/// What one member uses of one resource, and its own limit, 0 for none. Percent of the whole machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) used: f64,
    pub(crate) limit: f64,
}

/// What a member uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Member {
    pub(crate) cpu: Share,
    pub(crate) mem: Share,
}

/// How many samples in a row each pool was over its limits of cpu and memory.
#[derive(Debug, Default)]
pub(crate) struct Pools(HashMap<(Namespace, String), [u32; 2]>);

impl Pools {
    /// Counts one sample of a group. Returns the victim and the reason when the count is reached; counting starts again then.
    pub(crate) fn sample(
        &mut self,
        namespace: &Namespace,
        group: &ProcessGroup,
        members: &[Member],
        every_ms: u64,
    ) -> Option<(usize, String)> {
        let pool = &group.resource;
        let shares = |of: fn(&Member) -> Share| -> Vec<Share> { members.iter().map(of).collect() };
        let resources = [
            (
                "cpu",
                shares(|member| member.cpu),
                pool.cpu_pool_limit,
                pool.cpu_pool_weight,
            ),
            (
                "memory",
                shares(|member| member.mem),
                pool.mem_pool_limit,
                pool.mem_pool_weight,
            ),
        ];
        let key = (namespace.clone(), group.id.clone());
        let counts = self.0.entry(key).or_default();
        let mut verdict = None;
        for (count, (what, shares, limit, weight)) in counts.iter_mut().zip(resources) {
            let sum: f64 = shares.iter().map(|share| share.used).sum();
            *count = match limit > 0.0 && sum > limit {
                true => *count + 1,
                false => 0,
            };
            if *count >= IN_A_ROW && verdict.is_none() {
                let over = seconds(u64::from(IN_A_ROW) * every_ms);
                verdict = highest(&shares, weight).map(|(victim, why)| {
                    let reason = format!(
                        "killed: group {} uses {sum:.1} % of {what}, over its limit {} for {over}, and this process {why}",
                        group.id,
                        percent(limit),
                    );
                    (victim, reason)
                });
            }
        }
        if verdict.is_some() {
            *counts = [0; 2];
        }
        verdict
    }

    /// Forgets the counts of a namespace whose groups changed.
    pub(crate) fn clear(&mut self, namespace: &Namespace) {
        self.0.retain(|(of, _), _| of != namespace);
    }
}

/// The member with the highest score: by usage, or by usage of its own limit. Without a limit it may use everything.
fn highest(shares: &[Share], weight: u8) -> Option<(usize, String)> {
    let limit = |share: &Share| match share.limit > 0.0 {
        true => share.limit,
        false => 100.0,
    };
    let score = |share: &Share| match weight {
        0 => share.used,
        _ => share.used / limit(share),
    };
    let (victim, share) = shares
        .iter()
        .enumerate()
        .max_by(|(_, a), (_, b)| score(a).total_cmp(&score(b)))?;
    let why = match weight {
        0 => format!("most: {:.1} %", share.used),
        _ => format!(
            "most of its own limit: {:.1} % of {}",
            share.used,
            percent(limit(share))
        ),
    };
    Some((victim, why))
}

#[cfg(test)]
mod tests {
    use model::group::Pool;

    use super::*;

    fn group(weight: u8) -> ProcessGroup {
        ProcessGroup {
            id: "web".into(),
            resource: Pool {
                mem_pool_limit: 50.0,
                mem_pool_weight: weight,
                ..Pool::default()
            },
        }
    }

    fn member(used: f64, limit: f64) -> Member {
        Member {
            cpu: Share {
                used: 90.0,
                limit: 0.0,
            },
            mem: Share { used, limit },
        }
    }

    /// The victims of so many samples.
    fn victims(weight: u8, members: &[Member], samples: usize) -> Vec<usize> {
        let namespace = Namespace::parse("gse").unwrap();
        let mut pools = Pools::default();
        (0..samples)
            .filter_map(|_| pools.sample(&namespace, &group(weight), members, 5_000))
            .map(|(victim, _)| victim)
            .collect()
    }

    #[test]
    fn the_victim_is_chosen_by_the_weight_and_only_after_three_samples() {
        let members = [member(20.0, 20.0), member(32.0, 0.0), member(5.0, 2.0)];
        for (weight, samples, expected) in [
            (0, 2, vec![]),
            (0, 3, vec![1]),
            (1, 3, vec![2]),
            (0, 6, vec![1, 1]),
        ] {
            let context = format!("weight {weight}, {samples} samples");
            assert_eq!(victims(weight, &members, samples), expected, "{context}");
        }
        assert!(victims(0, &[member(50.0, 0.0)], 9).is_empty(), "not over");
        assert!(victims(0, &[], 9).is_empty());
    }

    #[test]
    fn the_reason_names_group_sum_limit_and_share() {
        let namespace = Namespace::parse("gse").unwrap();
        let members = [member(20.0, 40.0), member(32.0, 80.0)];
        let mut pools = Pools::default();
        let message = (0..3).find_map(|_| pools.sample(&namespace, &group(1), &members, 5_000));
        assert_eq!(
            message.unwrap().1,
            "killed: group web uses 52.0 % of memory, over its limit 50 % for 15 s, and this process most of its own \
             limit: 20.0 % of 40 %"
        );
    }

    #[test]
    fn a_process_without_a_group_label_is_in_every_group() {
        let labels = |text: &str| -> Labels { serde_json::from_str(text).unwrap() };
        for (text, inside) in [
            ("{}", true),
            (r#"{"process_group": "web"}"#, true),
            (r#"{"process_group": "db"}"#, false),
            (r#"{"other": "db"}"#, true),
        ] {
            assert_eq!(belongs(&labels(text), &group(0)), inside, "{text}");
        }
    }
}
