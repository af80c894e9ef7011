//! Which of the servers to turn to. Pure, so that chance is an argument.
//!
//! Every agent has an order of its own, so that a fleet spreads over its servers, and so does what a server leaves behind
//! when it goes.

/// An order of the servers, and whose turn it is. Servers are known by their place in the configuration.
#[derive(Debug)]
pub struct Choice {
    order: Vec<usize>,
    at: usize,
    /// How many have been tried in vain since the last session.
    in_vain: usize,
}

impl Choice {
    /// `chance` gives numbers in 0..1.
    pub fn new(n_servers: usize, chance: impl Fn() -> f64) -> Self {
        let mut order: Vec<usize> = (0..n_servers).collect();
        shuffle(&mut order, chance);
        Self {
            order,
            at: 0,
            in_vain: 0,
        }
    }

    /// Whose turn it is.
    pub fn current(&self) -> usize {
        self.order.get(self.at).copied().unwrap_or_default()
    }

    /// No session came about: the next one's turn. True when there is one that was not tried since the last session.
    pub fn failed(&mut self) -> bool {
        self.in_vain += 1;
        self.advance();
        self.in_vain < self.order.len()
    }

    /// There was a session, in the end with this server: it is the last to be tried again.
    pub fn lost(&mut self, server: usize) {
        self.at = self.order.iter().position(|n| *n == server).unwrap_or(0);
        self.in_vain = 0;
        self.advance();
    }

    /// Every server but this one, in any order.
    pub fn others(&self, server: usize, chance: impl Fn() -> f64) -> Vec<usize> {
        let mut others = self.order.clone();
        others.retain(|n| *n != server);
        shuffle(&mut others, chance);
        others
    }

    fn advance(&mut self) {
        self.at = (self.at + 1) % self.order.len().max(1);
    }
}

fn shuffle(items: &mut [usize], chance: impl Fn() -> f64) {
    for last in (1..items.len()).rev() {
        let other = (chance() * (last + 1) as f64) as usize;
        items.swap(last, other.min(last));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Some chance, the same at every run.
    fn chances(seed: u32) -> impl Fn() -> f64 {
        let state = Cell::new(seed);
        move || {
            let next = state
                .get()
                .wrapping_mul(1_664_525)
                .wrapping_add(1_013_904_223);
            state.set(next);
            f64::from(next >> 8) / f64::from(1 << 24)
        }
    }

    #[test]
    fn a_fleet_spreads_over_its_servers() {
        let mut n_first = [0; 3];
        for agent in 0..3000 {
            n_first[Choice::new(3, chances(agent)).current()] += 1;
        }
        assert!(
            n_first.iter().all(|n| (900..1100).contains(n)),
            "{n_first:?}"
        );
    }

    #[test]
    fn what_a_server_leaves_behind_spreads_over_the_others() {
        let mut n_next = [0; 3];
        for agent in 0..3000 {
            let mut choice = Choice::new(3, chances(agent));
            choice.lost(1);
            n_next[choice.current()] += 1;
        }
        assert_eq!(n_next[1], 0);
        assert!((1400..1600).contains(&n_next[0]), "{n_next:?}");
    }

    #[test]
    fn each_server_is_tried_once_before_any_is_tried_again() {
        let mut choice = Choice::new(3, chances(7));
        choice.lost(2);
        let mut tried = Vec::new();
        for is_another_left in [true, true, false] {
            tried.push(choice.current());
            assert_eq!(choice.failed(), is_another_left);
        }
        assert_eq!(tried[2], 2, "the one that was lost comes last");
        tried.sort_unstable();
        assert_eq!(tried, [0, 1, 2]);
        assert!(!choice.failed(), "the second round is not the first");
    }

    #[test]
    fn a_single_server_is_all_there_is() {
        let mut choice = Choice::new(1, || 1.0);
        assert!(!choice.failed());
        choice.lost(0);
        assert_eq!(choice.current(), 0);
        assert!(choice.others(0, || 0.5).is_empty());
    }
}
