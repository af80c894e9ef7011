//! Says how many hosts have which version.

use crate::format::{clean, count, counted};

/// The hosts with one version.
#[derive(Debug, Clone, Copy)]
pub struct VersionCount<'a> {
    pub hosts: u32,
    /// None where it is no longer kept.
    pub number: Option<u32>,
    /// Such as `new`; may be empty.
    pub note: &'a str,
}

/// `38 of 40 hosts have version 7, 2 have version 6 (old)`: the most frequent first.
pub fn sentence<'a>(versions: impl Iterator<Item = VersionCount<'a>>) -> String {
    let mut versions: Vec<VersionCount> = versions.collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.hosts));
    let total: u32 = versions.iter().map(|version| version.hosts).sum();
    let each = versions.iter().enumerate().map(|(n, version)| {
        let number = match version.number {
            Some(number) => format!("version {number}"),
            None => "a version that is not kept".to_owned(),
        };
        let of = match n {
            0 => format!(" of {}", counted(total, "host")),
            _ => String::new(),
        };
        let verb = match version.hosts {
            1 => "has",
            _ => "have",
        };
        let note = match version.note {
            "" => String::new(),
            note => format!(" ({})", clean(note)),
        };
        format!("{}{of} {verb} {number}{note}", count(version.hosts))
    });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_version_comes_first() {
        let count = |hosts, number, note| VersionCount {
            hosts,
            number,
            note,
        };
        let counts = [count(1, Some(6), "old"), count(1038, Some(7), "new")];
        assert_eq!(
            sentence(counts.into_iter()),
            "1,038 of 1,039 hosts have version 7 (new), 1 has version 6 (old)"
        );
        assert_eq!(
            sentence([count(2, None, "")].into_iter()),
            "2 of 2 hosts have a version that is not kept"
        );
    }
}
