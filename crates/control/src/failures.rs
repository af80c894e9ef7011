//! Groups failures that have the same code and the same reason.
//!
//! Reasons are alike if they differ only in numbers, addresses, names with a slash, and paths: the words that a digit or a slash
//! marks. The text of a group keeps what all its reasons share, and has `…` for the rest. The shape of a text is a pure function
//! of it, and the text of a group has the shape of its members: callers filter by the text that they were shown.

use std::borrow::Cow;
use std::collections::HashMap;

use model::Code;

/// How many words of a reason count. What comes after them is the same to a reader.
const MAX_WORDS: usize = 60;
/// How many hosts a group names.
const NAMED_HOSTS: usize = 3;
/// Stands for a word in which the reasons of a group differ.
const ANY: &str = "…";

/// Failures with one code and alike reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    pub code: Code,
    pub reason: String,
    pub count: usize,
    /// The first of its hosts, each once.
    pub hosts: Vec<String>,
}

/// One failure: its code, reason and host.
#[derive(Debug, Clone)]
pub struct Failure<'a> {
    pub code: Code,
    pub reason: Cow<'a, str>,
    pub host: String,
}

/// Tests reasons for being like a given one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlikeReason(String);

impl AlikeReason {
    /// Like this reason, or like the text of a group.
    pub fn new(reason: &str) -> Self {
        Self(shape(reason))
    }

    pub fn matches(&self, reason: &str) -> bool {
        shape(reason) == self.0
    }
}

/// Every failure is in exactly one group. The largest group comes first.
pub fn group_failures<'a>(failures: impl IntoIterator<Item = Failure<'a>>) -> Vec<FailureGroup> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<(Code, String), usize> = HashMap::new();
    for failure in failures {
        let key = (failure.code, shape(&failure.reason));
        let index = *known.entry(key).or_insert_with(|| {
            groups.push(Group::new(failure.code, &failure.reason));
            groups.len() - 1
        });
        groups[index].add(failure);
    }
    let mut groups: Vec<FailureGroup> = groups.into_iter().map(Group::finish).collect();
    // Stable: of two equally large groups, the one that came first.
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

#[derive(Debug)]
struct Group {
    code: Code,
    /// The words of the first reason; None where another has a different one.
    words: Vec<Option<String>>,
    shape: Vec<String>,
    count: usize,
    hosts: Vec<String>,
}

impl Group {
    fn new(code: Code, reason: &str) -> Self {
        Self {
            code,
            words: words(reason).map(|word| Some(word.to_owned())).collect(),
            shape: words(reason)
                .map(|word| word_shape(word).into_owned())
                .collect(),
            count: 0,
            hosts: Vec::new(),
        }
    }

    fn add(&mut self, failure: Failure<'_>) {
        for (kept, word) in self.words.iter_mut().zip(words(&failure.reason)) {
            if kept.as_deref() != Some(word) {
                *kept = None;
            }
        }
        self.count += 1;
        if self.hosts.len() < NAMED_HOSTS && !self.hosts.contains(&failure.host) {
            self.hosts.push(failure.host);
        }
    }

    fn finish(self) -> FailureGroup {
        let words = self.words.into_iter().zip(self.shape);
        let words: Vec<String> = words.map(|(word, shape)| word.unwrap_or(shape)).collect();
        FailureGroup {
            code: self.code,
            reason: words.join(" "),
            count: self.count,
            hosts: self.hosts,
        }
    }
}

fn words(reason: &str) -> impl Iterator<Item = &str> {
    reason.split_whitespace().take(MAX_WORDS)
}

/// Equal for reasons that are alike.
fn shape(reason: &str) -> String {
    let words: Vec<Cow<'_, str>> = words(reason).map(word_shape).collect();
    words.join(" ")
}

/// The word, or `…` with the punctuation around it in place of a word that varies.
fn word_shape(word: &str) -> Cow<'_, str> {
    let core = word.trim_matches(is_punctuation);
    let varies = core.contains(|c: char| c.is_numeric() || c == '/');
    match varies {
        false => Cow::Borrowed(word),
        true => {
            let start = word.len() - word.trim_start_matches(is_punctuation).len();
            let (before, after) = (&word[..start], &word[start + core.len()..]);
            Cow::Owned(format!("{before}{ANY}{after}"))
        }
    }
}

fn is_punctuation(c: char) -> bool {
    matches!(
        c,
        ',' | '.' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '`'
    )
}

#[cfg(test)]
mod tests {
    use testing::random::Random;

    use super::*;

    fn failure(code: i32, reason: &str, host: &str) -> Failure<'static> {
        Failure {
            code: Code(code),
            reason: reason.to_owned().into(),
            host: host.to_owned(),
        }
    }

    #[test]
    fn numbers_addresses_and_paths_do_not_split_a_group() {
        let groups = group_failures([
            failure(117, "agent on 10.0.0.1 is not connected", "0:10.0.0.1"),
            failure(836, "exited with code 3 (see /var/log/a)", "0:10.0.0.2"),
            failure(836, "exited with code 3 (see /var/log/b)", "0:10.0.0.3"),
            failure(117, "agent on 10.0.0.2 is not connected", "0:10.0.0.2"),
            failure(836, "exited with code 3 (see /tmp/x/y.log)", "0:10.0.0.3"),
            failure(836, "no such table: users", "0:10.0.0.4"),
        ]);
        let shown: Vec<(i32, &str, usize)> = groups
            .iter()
            .map(|group| (group.code.0, group.reason.as_str(), group.count))
            .collect();
        assert_eq!(
            shown,
            [
                (836, "exited with code 3 (see …)", 3),
                (117, "agent on … is not connected", 2),
                (836, "no such table: users", 1),
            ]
        );
        assert_eq!(groups[0].hosts, ["0:10.0.0.2", "0:10.0.0.3"]);
    }

    #[test]
    fn other_words_and_other_codes_split_groups() {
        let alike = AlikeReason::new("disk of host 7 is full");
        assert!(alike.matches("disk of  host 8\nis full"));
        assert!(!alike.matches("disk of host 8 is broken"));
        assert!(!alike.matches("disk of host is full"));
        let groups = group_failures([failure(1, "a", "h"), failure(2, "a", "h")]);
        assert_eq!(groups.len(), 2);
    }

    /// Reasons made of words that are alike in many ways.
    fn random_reason(random: &mut Random) -> String {
        const WORDS: [&str; 14] = [
            "exit",
            "7",
            "80",
            "(7)",
            "/a/b",
            "web/x:",
            "…",
            "(…)",
            "'…'",
            "a…",
            "10.0.0.1,",
            ",",
            "中",
            "",
        ];
        let n_words = random.below(5_u32);
        let words: Vec<&str> = (0..n_words).map(|_| random.pick(&WORDS)).collect();
        words.join(random.pick(&[" ", "  ", "\n"]))
    }

    #[test]
    fn every_failure_is_in_one_group_and_the_text_of_a_group_finds_exactly_its_members() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let failures: Vec<Failure<'static>> = (0..40)
                .map(|n| {
                    let code = random.below(3);
                    failure(code, &random_reason(&mut random), &format!("0:10.0.0.{n}"))
                })
                .collect();
            let groups = group_failures(failures.clone());
            let total: usize = groups.iter().map(|group| group.count).sum();
            assert_eq!(total, failures.len(), "seed {seed}");
            let mut found = 0;
            for group in &groups {
                let alike = AlikeReason::new(&group.reason);
                let members = failures
                    .iter()
                    .filter(|failure| failure.code == group.code && alike.matches(&failure.reason));
                let n_members = members.count();
                assert_eq!(n_members, group.count, "seed {seed}: {group:?}");
                found += n_members;
            }
            assert_eq!(
                found,
                failures.len(),
                "seed {seed}: no failure is found twice"
            );
        }
    }
}
