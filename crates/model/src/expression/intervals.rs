//! Sorted ranges for binary search.

/// Inclusive ranges, sorted and disjoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intervals<T>(Vec<(T, T)>);

impl<T: Copy + Ord> Intervals<T> {
    pub(super) fn new(mut ranges: Vec<(T, T)>) -> Self {
        ranges.sort_unstable();
        let mut disjoint: Vec<(T, T)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match disjoint.last_mut() {
                Some((_, end)) if low <= *end => *end = high.max(*end),
                _ => disjoint.push((low, high)),
            }
        }
        Self(disjoint)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, value: T) -> bool {
        let after = self.0.partition_point(|(low, _)| *low <= value);
        after > 0 && value <= self.0[after - 1].1
    }

    /// The largest value.
    pub(super) fn end(&self) -> Option<T> {
        self.0.last().map(|(_, high)| *high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_are_merged() {
        let intervals = Intervals::new(vec![(7, 9), (1, 6), (20, 30), (2, 3), (9, 12)]);
        assert_eq!(intervals.0, [(1, 6), (7, 12), (20, 30)]);
        let inside: Vec<u32> = (0..40).filter(|value| intervals.contains(*value)).collect();
        let expected: Vec<u32> = (1..=12).chain(20..=30).collect();
        assert_eq!(inside, expected);
        assert_eq!(intervals.end(), Some(30));
        assert!(!Intervals::new(vec![]).contains(0));
    }
}
