//! The order in which an agent tries its servers. Pure: random numbers are an argument.
//!
//! Every agent shuffles its own order, so that a fleet spreads over its servers, also when one of them goes.

/// Servers in this agent's order, and which one is next. A server is its index in the configuration.
#[derive(Debug)]
pub struct ServerOrder {
    order: Vec<usize>,
    at: usize,
    /// Servers that failed since the last session.
    n_failed: usize,
}

impl ServerOrder {
    /// `random_fraction` returns numbers in 0..1.
    pub fn new(n_servers: usize, random_fraction: impl Fn() -> f64) -> Self {
        let mut order: Vec<usize> = (0..n_servers).collect();
        shuffle(&mut order, random_fraction);
        Self {
            order,
            at: 0,
            n_failed: 0,
        }
    }

    /// The server to try next.
    pub fn current(&self) -> usize {
        self.order.get(self.at).copied().unwrap_or_default()
    }

    /// Records a failed attempt. True while a server is left that was not tried since the last session.
    pub fn failed(&mut self) -> bool {
        self.n_failed += 1;
        self.advance();
        self.n_failed < self.order.len()
    }

    /// Records the end of a session with this server, which is then tried last.
    pub fn lost(&mut self, server: usize) {
        self.at = self.order.iter().position(|n| *n == server).unwrap_or(0);
        self.n_failed = 0;
        self.advance();
    }

    /// Every other server, shuffled.
    pub fn others(&self, server: usize, random_fraction: impl Fn() -> f64) -> Vec<usize> {
        let mut others = self.order.clone();
        others.retain(|n| *n != server);
        shuffle(&mut others, random_fraction);
        others
    }

    fn advance(&mut self) {
        self.at = (self.at + 1) % self.order.len().max(1);
    }
}

fn shuffle(items: &mut [usize], random_fraction: impl Fn() -> f64) {
    for last in (1..items.len()).rev() {
        let other = (random_fraction() * (last + 1) as f64) as usize;
        items.swap(last, other.min(last));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use testing::Random;

    use super::*;

    fn fractions(seed: u64) -> impl Fn() -> f64 {
        let random = RefCell::new(Random::new(seed));
        move || random.borrow_mut().fraction()
    }

    #[test]
    fn a_fleet_spreads_over_its_servers() {
        let mut n_first = [0; 3];
        for agent in 0..3000 {
            n_first[ServerOrder::new(3, fractions(agent)).current()] += 1;
        }
        assert!(
            n_first.iter().all(|n| (900..1100).contains(n)),
            "{n_first:?}"
        );
    }

    #[test]
    fn agents_of_a_lost_server_spread_over_the_others() {
        let mut n_next = [0; 3];
        for agent in 0..3000 {
            let mut order = ServerOrder::new(3, fractions(agent));
            order.lost(1);
            n_next[order.current()] += 1;
        }
        assert_eq!(n_next[1], 0);
        assert!((1400..1600).contains(&n_next[0]), "{n_next:?}");
    }

    #[test]
    fn each_server_is_tried_once_before_any_is_tried_again() {
        let mut order = ServerOrder::new(3, fractions(7));
        order.lost(2);
        let mut tried = Vec::new();
        for is_another_left in [true, true, false] {
            tried.push(order.current());
            assert_eq!(order.failed(), is_another_left);
        }
        assert_eq!(tried[2], 2, "the lost server comes last");
        tried.sort_unstable();
        assert_eq!(tried, [0, 1, 2]);
        assert!(!order.failed(), "the second round is not the first");
    }

    #[test]
    fn a_single_server_is_tried_again_and_again() {
        let mut order = ServerOrder::new(1, || 1.0);
        assert!(!order.failed());
        order.lost(0);
        assert_eq!(order.current(), 0);
        assert!(order.others(0, || 0.5).is_empty());
    }
}
