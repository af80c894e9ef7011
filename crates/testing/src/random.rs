//! Seeded random numbers (splitmix64): the same seed, the same numbers.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent generator: how often one part of a test draws does not change what another part gets.
    pub fn branch(&mut self) -> Self {
        Self(self.number())
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below `end`, which must be positive.
    pub fn below<N: TryInto<u64> + TryFrom<u64>>(&mut self, end: N) -> N {
        let end = end.try_into().ok().expect("the end is not negative");
        let number = N::try_from(self.number() % end);
        number.ok().expect("a number below the end fits its type")
    }

    /// Each number below `end` with a probability of one third.
    pub fn subset(&mut self, end: u32) -> Vec<u32> {
        (0..end).filter(|_| self.one_in(3)).collect()
    }

    pub fn byte(&mut self) -> u8 {
        self.number() as u8
    }

    /// From 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True `times` out of a thousand times.
    pub fn permille(&mut self, times: usize) -> bool {
        self.below(1000) < times
    }

    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    pub fn millis_below(&mut self, end: usize) -> Duration {
        Duration::from_millis(self.below(end) as u64)
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// One of several, each as likely as its weight says.
    pub fn weighted<T: Copy>(&mut self, choices: &[(usize, T)]) -> T {
        let mut at = self.below(choices.iter().map(|(weight, _)| weight).sum::<usize>());
        for (weight, choice) in choices {
            if at < *weight {
                return *choice;
            }
            at -= weight;
        }
        unreachable!("a number below the sum of all weights falls into one of them")
    }
}
