//! Ranges of numbers, matched by comparison instead of enumeration.

use std::collections::BTreeMap;

use super::intervals::Intervals;

/// The most digits of a number in a range, so that values fit 128 bits.
pub const MAX_DIGITS: usize = 32;

/// `8-12`, `01-12`. Matches numbers without leading zeros and, if an end has leading zeros, also numbers padded to its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberRange {
    low: u128,
    high: u128,
    /// The number of digits of each end.
    written: (usize, usize),
    /// The widths of the ends that have leading zeros.
    padded: [Option<usize>; 2],
}

impl NumberRange {
    /// Both ends are at most `MAX_DIGITS` ASCII digits; None if they are reversed.
    pub(super) fn new(from: &str, to: &str) -> Option<Self> {
        let width = |text: &str| (text.len() > 1 && text.starts_with('0')).then_some(text.len());
        let range = Self {
            low: from.parse().ok()?,
            high: to.parse().ok()?,
            written: (from.len(), to.len()),
            padded: [width(from), width(to)],
        };
        (range.low <= range.high).then_some(range)
    }

    /// All spellings of all numbers, if they are at most `limit`.
    pub(super) fn words(&self, limit: usize) -> Option<Vec<String>> {
        if self.high - self.low >= limit as u128 {
            return None;
        }
        let mut words = Vec::new();
        for value in self.low..=self.high {
            let plain = value.to_string();
            let padded = self.widths().filter(|width| *width > plain.len());
            words.extend(padded.map(|width| format!("{value:0width$}")));
            words.push(plain);
        }
        (words.len() <= limit).then_some(words)
    }

    /// The numbers as shell patterns with digit classes: `1-100` is `[1-9]`, `[1-9][0-9]` and `100`.
    pub(super) fn shell_patterns(&self) -> Vec<String> {
        let mut styles = Vec::new();
        let smallest = |digits: u32| {
            if digits == 1 {
                0
            } else {
                10_u128.pow(digits - 1)
            }
        };
        let largest = |digits: u32| 10_u128.pow(digits) - 1;
        let digits = |value: u128| value.checked_ilog10().unwrap_or(0) + 1;
        for count in digits(self.low)..=digits(self.high) {
            let low = self.low.max(smallest(count)).to_string();
            let high = self.high.min(largest(count)).to_string();
            split(&low, &high, String::new(), &mut styles);
        }
        for width in self.widths() {
            let high = self.high.min(largest(width as u32 - 1));
            if self.low <= high {
                let text = |value: u128| format!("{value:0width$}");
                split(&text(self.low), &text(high), String::new(), &mut styles);
            }
        }
        styles
    }

    pub(super) fn takes_zeros(&self) -> bool {
        self.widths().next().is_some()
    }

    /// The ends as written in the expression.
    pub(super) fn ends(&self) -> (String, String) {
        let (from, to) = self.written;
        (
            format!("{:0from$}", self.low),
            format!("{:0to$}", self.high),
        )
    }

    fn widths(&self) -> impl Iterator<Item = usize> {
        let [from, to] = self.padded;
        from.into_iter().chain(to.filter(|_| to != from))
    }
}

/// Several ranges, searched together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberRanges {
    plain: Intervals<u128>,
    /// By the width that numbers are padded to.
    padded: Vec<(usize, Intervals<u128>)>,
}

impl NumberRanges {
    pub(super) fn new<'r>(ranges: impl Iterator<Item = &'r NumberRange>) -> Self {
        let mut plain = Vec::new();
        let mut padded: BTreeMap<usize, Vec<(u128, u128)>> = BTreeMap::new();
        for range in ranges {
            let ends = (range.low, range.high);
            plain.push(ends);
            for width in range.widths() {
                padded.entry(width).or_default().push(ends);
            }
        }
        let by_width = |(width, intervals)| (width, Intervals::new(intervals));
        Self {
            plain: Intervals::new(plain),
            padded: padded.into_iter().map(by_width).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// Calls `found` with the length of each number of these ranges that `rest` begins with. Returns how many digits it compared.
    pub(super) fn lengths(&self, rest: &[u8], mut found: impl FnMut(usize)) -> usize {
        let mut value = 0;
        for (index, byte) in rest.iter().enumerate().take(MAX_DIGITS) {
            if !byte.is_ascii_digit() {
                return index + 1;
            }
            value = value * 10 + u128::from(byte - b'0');
            let length = index + 1;
            let is_one = match rest[0] == b'0' && length > 1 {
                true => self.padded_to(length).is_some_and(|it| it.contains(value)),
                false => self.plain.contains(value),
            };
            if is_one {
                found(length);
            }
            if Some(value) > self.plain.end() {
                return length;
            }
        }
        rest.len().min(MAX_DIGITS)
    }

    fn padded_to(&self, width: usize) -> Option<&Intervals<u128>> {
        let index = self
            .padded
            .binary_search_by_key(&width, |(width, _)| *width);
        index.ok().map(|index| &self.padded[index].1)
    }
}

/// Splits a range between two numbers with equally many digits into patterns with digit classes.
fn split(low: &str, high: &str, prefix: String, styles: &mut Vec<String>) {
    let (Some(first), Some(last)) = (low.chars().next(), high.chars().next()) else {
        styles.push(prefix);
        return;
    };
    let (low_rest, high_rest) = (&low[1..], &high[1..]);
    if first == last {
        split(low_rest, high_rest, format!("{prefix}{first}"), styles);
        return;
    }
    let (mut first, mut last) = (first as u8, last as u8);
    if low_rest.contains(|digit| digit != '0') {
        let nines = "9".repeat(low_rest.len());
        let begun = format!("{prefix}{}", char::from(first));
        split(low_rest, &nines, begun, styles);
        first += 1;
    }
    let ends_early = high_rest.contains(|digit| digit != '9');
    if ends_early {
        last -= 1;
    }
    if first <= last {
        let class = match first == last {
            true => char::from(first).to_string(),
            false => format!("[{}-{}]", char::from(first), char::from(last)),
        };
        let any = "[0-9]".repeat(low_rest.len());
        styles.push(format!("{prefix}{class}{any}"));
    }
    if ends_early {
        let zeros = "0".repeat(high_rest.len());
        let begun = format!("{prefix}{}", char::from(high.as_bytes()[0]));
        split(&zeros, high_rest, begun, styles);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(from: &str, to: &str, text: &str) -> Vec<usize> {
        let mut lengths = Vec::new();
        let range = NumberRange::new(from, to).unwrap();
        let ranges = NumberRanges::new([range].iter());
        ranges.lengths(text.as_bytes(), |length| lengths.push(length));
        lengths
    }

    #[test]
    fn a_number_may_match_with_several_lengths() {
        assert_eq!(lengths("1", "1000000", "12345"), [1, 2, 3, 4, 5]);
        assert_eq!(lengths("8", "12", "120"), [2]);
        assert_eq!(lengths("0", "5", "05"), [1]);
        assert_eq!(lengths("1", "12", "01"), [0; 0]);
        assert_eq!(lengths("01", "12", "01"), [2]);
        assert_eq!(lengths("01", "12", "001"), [0; 0]);
        assert_eq!(lengths("08", "120", "08"), [2]);
        assert_eq!(lengths("00", "10", "00"), [1, 2]);
        assert_eq!(lengths("1", "9", "x"), [0; 0]);
        let longest = "9".repeat(MAX_DIGITS);
        assert_eq!(
            lengths(&longest, &longest, &"9".repeat(50)),
            [MAX_DIGITS],
            "no overflow"
        );
    }

    #[test]
    fn many_ranges_are_searched_together() {
        let range = |from, to| NumberRange::new(from, to).unwrap();
        let ranges = [
            range("7", "9"),
            range("1", "3"),
            range("020", "30"),
            range("2", "5"),
        ];
        let ranges = NumberRanges::new(ranges.iter());
        let matches = |text: &str| {
            let mut whole = false;
            ranges.lengths(text.as_bytes(), |length| whole |= length == text.len());
            whole
        };
        for text in ["1", "5", "7", "9", "20", "025", "30"] {
            assert!(matches(text), "{text}");
        }
        for text in ["0", "6", "10", "005", "07", "31", "0025", ""] {
            assert!(!matches(text), "{text}");
        }
    }

    #[test]
    fn a_range_becomes_shell_patterns() {
        let styles = |from, to| NumberRange::new(from, to).unwrap().shell_patterns();
        assert_eq!(styles("1", "3"), ["[1-3]"]);
        assert_eq!(styles("1", "100"), ["[1-9]", "[1-9][0-9]", "100"]);
        assert_eq!(styles("1", "105"), ["[1-9]", "[1-9][0-9]", "10[0-5]"]);
        assert_eq!(styles("8", "12"), ["[8-9]", "1[0-2]"]);
        assert_eq!(styles("5", "5"), ["5"]);
        assert_eq!(styles("01", "12"), ["[1-9]", "1[0-2]", "0[1-9]"]);
        assert_eq!(
            styles("27", "341"),
            [
                "2[7-9]",
                "[3-9][0-9]",
                "[1-2][0-9][0-9]",
                "3[0-3][0-9]",
                "34[0-1]"
            ]
        );
    }

    #[test]
    fn small_ranges_are_enumerated() {
        let words = |from, to| NumberRange::new(from, to).unwrap().words(10);
        assert_eq!(words("08", "10").unwrap(), ["08", "8", "09", "9", "10"]);
        assert_eq!(words("1", "11"), None);
        assert_eq!(words("00", "09"), None, "two spellings of most of them");
        assert_eq!(words("0", &"9".repeat(MAX_DIGITS)), None);
    }
}
