//! What has arrived of one sender's numbered messages: what comes twice is known, and so is what is missing. Messages may
//! come by two ways, of which one is slow, so an old number may be new.

/// How far behind the newest a number is still told from one that was there before.
const WIDTH: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Window {
    highest: u64,
    /// A bit for each of the last [`WIDTH`] numbers, at its place modulo that.
    seen: Box<[u64; WIDTH as usize / 64]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It follows what was there.
    Next,
    /// It was missed before.
    Late,
    /// Numbers before it are missing.
    AfterGap,
    /// It was there, or is too old to tell.
    Again,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            highest: 0,
            seen: Box::new([0; WIDTH as usize / 64]),
        }
    }
}

impl Window {
    pub(crate) fn arrive(&mut self, sequence: u64) -> Arrival {
        if sequence > self.highest {
            let arrival = if sequence == self.highest + 1 {
                Arrival::Next
            } else {
                Arrival::AfterGap
            };
            let skipped = (self.highest + 1)..sequence;
            let first = skipped.start.max(sequence.saturating_sub(WIDTH));
            (first..sequence).for_each(|missing| self.mark(missing, false));
            self.highest = sequence;
            self.mark(sequence, true);
            return arrival;
        }
        if sequence + WIDTH <= self.highest || self.has_seen(sequence) {
            return Arrival::Again;
        }
        self.mark(sequence, true);
        Arrival::Late
    }

    fn mark(&mut self, sequence: u64, seen: bool) {
        let (word, bit) = place(sequence);
        if seen {
            self.seen[word] |= bit;
        } else {
            self.seen[word] &= !bit;
        }
    }

    fn has_seen(&self, sequence: u64) -> bool {
        let (word, bit) = place(sequence);
        self.seen[word] & bit != 0
    }
}

fn place(sequence: u64) -> (usize, u64) {
    let place = sequence % WIDTH;
    ((place / 64) as usize, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(sequences: &[u64]) -> Vec<Arrival> {
        let mut window = Window::default();
        sequences.iter().map(|it| window.arrive(*it)).collect()
    }

    #[test]
    fn numbers_in_order_follow_each_other() {
        assert_eq!(arrivals(&[1, 2, 3]), [Arrival::Next; 3]);
    }

    #[test]
    fn what_is_missing_is_seen_and_what_comes_late_is_taken_once() {
        use Arrival::{AfterGap, Again, Late, Next};
        let expected = [Next, AfterGap, Late, Again, Again, Next];
        assert_eq!(arrivals(&[1, 4, 3, 3, 4, 5]), expected);
    }

    #[test]
    fn a_sender_that_is_heard_late_has_said_something_before() {
        assert_eq!(arrivals(&[7]), [Arrival::AfterGap]);
    }

    #[test]
    fn what_is_too_old_to_tell_counts_as_seen() {
        let far = 10 * WIDTH;
        let mut window = Window::default();
        window.arrive(1);
        window.arrive(far);
        assert_eq!(window.arrive(far - WIDTH), Arrival::Again);
        assert_eq!(window.arrive(far - WIDTH + 1), Arrival::Late);
        assert_eq!(window.arrive(far - WIDTH + 1), Arrival::Again);
    }
}
