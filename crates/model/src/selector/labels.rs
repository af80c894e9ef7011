//! Label selectors, written and meant as in Kubernetes: tests, separated by commas, all of which must hold.
//!
//! | written | holds where |
//! |---|---|
//! | `tier=front`, `tier==front` | the label has this value |
//! | `tier!=front` | it has another value, or is missing |
//! | `tier in (front,back)` | it has one of these values |
//! | `tier notin (front,back)` | it has none of these values, or is missing |
//! | `tier` | it is there, with any value |
//! | `!tier` | it is missing |
//! | `\` | the next character stands for itself: `note=a\,b` |
//!
//! Blanks around keys, values and operators do not count. A blank in a key is escaped.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// How many tests one selector may have.
pub const MAX_LABEL_TESTS: usize = 64;
/// How many values one test may list.
pub const MAX_LABEL_VALUES: usize = 256;

/// Tests of labels, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabelSelector(Vec<LabelTest>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelTest {
    pub key: String,
    pub wanted: LabelWanted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelWanted {
    /// One of these values; never empty.
    In(BTreeSet<String>),
    /// None of these values, or missing; never empty.
    NotIn(BTreeSet<String>),
    Present,
    Absent,
}

impl LabelSelector {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let tests = Reader::new(text).tests()?;
        ensure!(
            tests.len() <= MAX_LABEL_TESTS,
            "label",
            "must be at most {MAX_LABEL_TESTS} tests"
        );
        Ok(Self(tests))
    }

    /// The tests of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a test holds only where its label is there.
    pub fn wants_presence(&self) -> bool {
        let mut tests = self.0.iter();
        tests.any(|test| matches!(test.wanted, LabelWanted::In(_) | LabelWanted::Present))
    }

    pub fn tests(&self) -> &[LabelTest] {
        &self.0
    }

    /// Whether labels of which `value` gives the value of each key pass every test.
    pub fn matches<V: AsRef<str>>(&self, value: impl Fn(&str) -> Option<V>) -> bool {
        let mut tests = self.0.iter();
        tests.all(|test| test.matches(value(&test.key).as_ref().map(AsRef::as_ref)))
    }
}

impl LabelTest {
    /// Whether it holds for the value of its key; None where that is missing.
    pub fn matches(&self, value: Option<&str>) -> bool {
        match &self.wanted {
            LabelWanted::In(wanted) => value.is_some_and(|value| wanted.contains(value)),
            LabelWanted::NotIn(unwanted) => !value.is_some_and(|value| unwanted.contains(value)),
            LabelWanted::Present => value.is_some(),
            LabelWanted::Absent => value.is_none(),
        }
    }
}

impl FromStr for LabelSelector {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

string_conversions!(
    LabelSelector,
    LabelSelector::parse,
    |selector: LabelSelector| selector.to_string()
);

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, test) in self.0.iter().enumerate() {
            match at {
                0 => write!(f, "{test}")?,
                _ => write!(f, ",{test}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for LabelTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = escaped(&self.key, char::is_whitespace);
        let (values, one, several) = match &self.wanted {
            LabelWanted::Present => return f.write_str(&key),
            LabelWanted::Absent => return write!(f, "!{key}"),
            LabelWanted::In(values) => (values, "=", "in"),
            LabelWanted::NotIn(values) => (values, "!=", "notin"),
        };
        let values: Vec<String> = values.iter().map(|value| escaped_value(value)).collect();
        match values.as_slice() {
            [value] => write!(f, "{key}{one}{value}"),
            values => write!(f, "{key} {several} ({})", values.join(",")),
        }
    }
}

fn escaped(text: &str, is_blank: impl Fn(char) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | ',' | '=' | '!' | '(' | ')') || is_blank(c) {
            written.push('\\');
        }
        written.push(c);
    }
    written
}

/// Only blanks at the ends of a value need an escape.
fn escaped_value(value: &str) -> String {
    match value.trim() == value {
        true => escaped(value, |_| false),
        false => escaped(value, char::is_whitespace),
    }
}

/// Reads a selector from left to right: each character, and whether it was escaped.
struct Reader<'a> {
    text: &'a str,
    /// Each with its position in the text, from 1.
    characters: Vec<(char, bool, usize)>,
    at: usize,
    fault: Option<Invalid>,
}

/// A key or a value as written.
#[derive(Default)]
struct Part(Vec<(char, bool, usize)>);

impl Part {
    fn trimmed(&self) -> &[(char, bool, usize)] {
        let is_blank = |(c, escaped, _): &(char, bool, usize)| c.is_whitespace() && !escaped;
        let from = self.0.iter().position(|c| !is_blank(c));
        let to = self.0.iter().rposition(|c| !is_blank(c));
        match (from, to) {
            (Some(from), Some(to)) => &self.0[from..=to],
            _ => &[],
        }
    }

    fn text(&self) -> String {
        self.trimmed().iter().map(|(c, _, _)| *c).collect()
    }
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        let mut reader = Self {
            text,
            characters: Vec::new(),
            at: 0,
            fault: None,
        };
        let mut rest = (1..).zip(text.chars());
        while let Some((position, c)) = rest.next() {
            let read = match c {
                '\\' => match rest.next() {
                    Some((_, escaped)) => (escaped, true, position),
                    None => {
                        let fault = reader.expected(position + 1, "a character after \\");
                        reader.fault = Some(fault);
                        break;
                    }
                },
                other => (other, false, position),
            };
            reader.characters.push(read);
        }
        reader
    }

    fn tests(mut self) -> Result<Vec<LabelTest>, Invalid> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut tests = vec![self.test()?];
        while self.take(',') {
            tests.push(self.test()?);
        }
        Ok(tests)
    }

    fn test(&mut self) -> Result<LabelTest, Invalid> {
        self.skip_blanks();
        // `!=` here has no key before it.
        let is_negated = !self.next_is_unequal() && self.take('!');
        let begin = self.position();
        let key = self.until(|reader| {
            reader.is_at('=')
                || reader.next_is_unequal()
                || reader.is_at(',')
                || reader.is_at('(')
                || reader.is_at(')')
        });
        if is_negated {
            let key = self.key(&key, begin)?;
            if self.at < self.characters.len() && !self.is_at(',') {
                return Err(self.expected_here("a comma or the end after a test with !"));
            }
            let wanted = LabelWanted::Absent;
            return Ok(LabelTest { key, wanted });
        }
        if self.take('=') {
            let key = self.key(&key, begin)?;
            self.take('=');
            let wanted = LabelWanted::In([self.value()].into());
            return Ok(LabelTest { key, wanted });
        }
        if self.next_is_unequal() {
            let key = self.key(&key, begin)?;
            self.at += 2;
            let wanted = LabelWanted::NotIn([self.value()].into());
            return Ok(LabelTest { key, wanted });
        }
        if self.is_at('(') {
            return self.listed(&key, begin);
        }
        if self.is_at(')') {
            return Err(self.expected_here("a comma or the end; ) without ("));
        }
        let key = self.key(&key, begin)?;
        let wanted = LabelWanted::Present;
        Ok(LabelTest { key, wanted })
    }

    /// `key in (a,b)`, of which everything before the parenthesis was read.
    fn listed(&mut self, before: &Part, begin: usize) -> Result<LabelTest, Invalid> {
        let words = before.trimmed();
        let is_blank = |(c, escaped, _): &(char, bool, usize)| c.is_whitespace() && !escaped;
        let last = words.iter().rposition(is_blank).map(|at| at + 1);
        let operator: String = words[last.unwrap_or(0)..].iter().map(|c| c.0).collect();
        let (Some(last), "in" | "notin") = (last, operator.as_str()) else {
            return Err(self.expected_here("in or notin, between a key and ("));
        };
        let key = self.key(&Part(words[..last].to_vec()), begin)?;
        self.take('(');
        let first = self.position();
        let mut values = BTreeSet::new();
        loop {
            let value = self.until(|reader| reader.is_at(',') || reader.is_at(')'));
            values.insert(value.text());
            if values.len() > MAX_LABEL_VALUES {
                let what = format!("at most {MAX_LABEL_VALUES} values");
                return Err(self.expected(first, &what));
            }
            if self.take(')') {
                break;
            }
            if !self.take(',') {
                return Err(self.expected_here("a comma or ) after a value"));
            }
        }
        if values.iter().all(String::is_empty) {
            return Err(self.expected(first, "a value between ( and )"));
        }
        self.skip_blanks();
        if self.at < self.characters.len() && !self.is_at(',') {
            return Err(self.expected_here("a comma or the end after )"));
        }
        let wanted = match operator.as_str() {
            "in" => LabelWanted::In(values),
            _ => LabelWanted::NotIn(values),
        };
        Ok(LabelTest { key, wanted })
    }

    fn key(&self, part: &Part, begin: usize) -> Result<String, Invalid> {
        let trimmed = part.trimmed();
        if trimmed.is_empty() {
            return Err(self.expected(begin, "the key of a label"));
        }
        let blank = (trimmed.iter()).find(|(c, escaped, _)| c.is_whitespace() && !escaped);
        match blank {
            Some((_, _, position)) => {
                let what = "=, !=, in (…), notin (…), a comma or the end after a key";
                Err(self.expected(*position, what))
            }
            None => Ok(part.text()),
        }
    }

    /// Everything up to the next comma.
    fn value(&mut self) -> String {
        self.until(|reader| reader.is_at(',')).text()
    }

    fn until(&mut self, is_end: impl Fn(&Self) -> bool) -> Part {
        let mut part = Part::default();
        while let Some(read) = self.characters.get(self.at) {
            if is_end(self) {
                break;
            }
            part.0.push(*read);
            self.at += 1;
        }
        part
    }

    fn skip_blanks(&mut self) {
        let is_blank = |read: Option<&(char, bool, usize)>| {
            read.is_some_and(|(c, escaped, _)| c.is_whitespace() && !escaped)
        };
        while is_blank(self.characters.get(self.at)) {
            self.at += 1;
        }
    }

    /// Whether the next character is this one, unescaped.
    fn is_at(&self, wanted: char) -> bool {
        let next = self.characters.get(self.at);
        next.is_some_and(|(c, escaped, _)| *c == wanted && !escaped)
    }

    fn next_is_unequal(&self) -> bool {
        let next = self.characters.get(self.at + 1);
        self.is_at('!') && next.is_some_and(|(c, escaped, _)| *c == '=' && !escaped)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.is_at(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    /// The position of the next character in the text, from 1.
    fn position(&self) -> usize {
        let next = self.characters.get(self.at);
        next.map_or_else(
            || self.text.chars().count() + 1,
            |(_, _, position)| *position,
        )
    }

    fn expected_here(&self, what: &str) -> Invalid {
        self.expected(self.position(), what)
    }

    fn expected(&self, position: usize, what: &str) -> Invalid {
        let text = self.text;
        Invalid::new(
            "label",
            format!(
                "must be tests such as tier=front,zone!=b,env in (a,b),!old: \
                 character {position} of {text:?}: expected {what}"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_test_of_labels_must_hold() {
        let labels = [("tier", "front"), ("note", "a,b=c"), ("empty", "")];
        let matches = |selector: &str| {
            let value = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
            LabelSelector::parse(selector).unwrap().matches(value)
        };
        for (selector, wanted) in [
            ("tier=front", true),
            ("tier==front", true),
            ("tier=back", false),
            ("tier!=front", false),
            ("tier!=back", true),
            ("zone!=a", true),
            ("tier", true),
            ("zone", false),
            ("!zone", true),
            (" ! tier", false),
            ("tier = front , !zone", true),
            ("tier=front,zone", false),
            (r"note=a\,b\=c", true),
            (r"note=a\,b=c", true),
            ("empty=", true),
            ("tier=", false),
            ("tier in (front,back)", true),
            ("tier in(back , front ),!zone", true),
            ("tier in (back)", false),
            ("zone in (a,b)", false),
            ("tier notin (back,other)", true),
            ("tier notin (front,back)", false),
            ("zone notin (a,b)", true),
            ("empty in (,x)", true),
            ("empty notin (x,)", false),
            (r"note in (a\,b=c,other)", true),
            ("tier in (front,back),tier!=front", false),
        ] {
            assert_eq!(matches(selector), wanted, "{selector}");
        }
        let both = LabelSelector::parse("tier").unwrap();
        let both = both.and(LabelSelector::parse("zone").unwrap());
        assert!(!both.matches(|key| (key == "tier").then_some("x")));
    }

    #[test]
    fn a_key_may_be_named_like_an_operator() {
        for selector in ["in", "notin", "in=a", "in in (a,b)", "notin notin (a,b)"] {
            assert_eq!(
                LabelSelector::parse(selector).unwrap().to_string(),
                selector
            );
        }
    }

    #[test]
    fn a_wrong_selector_says_what_was_expected_and_where() {
        for (selector, why) in [
            ("", "character 1 of \"\": expected the key of a label"),
            ("=x", "character 1 of \"=x\": expected the key of a label"),
            (
                "a,,b",
                "character 3 of \"a,,b\": expected the key of a label",
            ),
            ("a,", "character 3 of \"a,\": expected the key of a label"),
            ("!", "character 2 of \"!\": expected the key of a label"),
            ("!=x", "character 1 of \"!=x\": expected the key of a label"),
            (
                "!a=b",
                "character 3 of \"!a=b\": expected a comma or the end",
            ),
            (
                "a\\",
                "character 3 of \"a\\\\\": expected a character after",
            ),
            ("in (a)", "character 4 of \"in (a)\": expected in or notin"),
            ("a (b)", "character 3 of \"a (b)\": expected in or notin"),
            (
                "a of (b)",
                "character 6 of \"a of (b)\": expected in or notin",
            ),
            (
                "a in b",
                "character 2 of \"a in b\": expected =, !=, in (…)",
            ),
            ("a b in (c)", "character 2 of \"a b in (c)\": expected ="),
            (
                "a in (b",
                "character 8 of \"a in (b\": expected a comma or )",
            ),
            ("a in ()", "character 7 of \"a in ()\": expected a value"),
            (
                "a in (b) c",
                "character 10 of \"a in (b) c\": expected a comma or the end after )",
            ),
            ("a)", "character 2 of \"a)\": expected a comma or the end"),
            (&vec!["a"; 65].join(","), "at most 64 tests"),
            (&format!("a in ({})", long_list()), "at most 256 values"),
        ] {
            let error = LabelSelector::parse(selector).unwrap_err();
            assert_eq!(error.field, "label");
            assert!(error.rule.contains(why), "{selector}: {error}");
        }
    }

    fn long_list() -> String {
        let values: Vec<String> = (0..=MAX_LABEL_VALUES).map(|n| n.to_string()).collect();
        values.join(",")
    }

    #[test]
    fn a_selector_is_stored_as_its_text() {
        let selector = LabelSelector::parse("tier=front,zone notin (b,a)").unwrap();
        let json = serde_json::to_string(&selector).unwrap();
        assert_eq!(json, r#""tier=front,zone notin (a,b)""#);
        let read: LabelSelector = serde_json::from_str(&json).unwrap();
        assert_eq!(read, selector);
        assert!(serde_json::from_str::<LabelSelector>(r#""a in b""#).is_err());
        // An empty one would hold for everything.
        assert!(serde_json::from_str::<LabelSelector>(r#""""#).is_err());
    }

    /// Texts with every character that has a meaning.
    fn text() -> impl Strategy<Value = String> {
        "[a-c=!,()\\\\ ü]{0,6}"
    }

    fn test() -> impl Strategy<Value = LabelTest> {
        let key = "[a-c=!,()\\\\ ü]{1,6}";
        let values = || proptest::collection::btree_set(text(), 1..4);
        let wanted = prop_oneof![
            values().prop_map(LabelWanted::In),
            values().prop_map(LabelWanted::NotIn),
            Just(LabelWanted::Present),
            Just(LabelWanted::Absent),
        ];
        (key, wanted).prop_map(|(key, wanted)| LabelTest { key, wanted })
    }

    proptest! {
        #[test]
        fn a_selector_parses_from_its_display(tests in proptest::collection::vec(test(), 1..5)) {
            let selector = LabelSelector(tests);
            let written = selector.to_string();
            prop_assert_eq!(LabelSelector::parse(&written), Ok(selector), "{}", written);
        }

        #[test]
        fn any_text_parses_or_is_refused(text in "[a-c=!,()\\\\ in]{0,12}") {
            if let Ok(selector) = LabelSelector::parse(&text) {
                let written = selector.to_string();
                prop_assert_eq!(LabelSelector::parse(&written), Ok(selector), "{}", written);
            }
        }

        /// A negated test holds exactly where the test does not.
        #[test]
        fn a_test_and_its_opposite_never_agree(
            labels in proptest::collection::btree_map("[a-b]", "[x-z]?", 0..3),
            key in "[a-c]",
            values in proptest::collection::btree_set("[x-z]?", 1..3),
        ) {
            let value = |key: &str| BTreeMap::get(&labels, key);
            let holds = |wanted| LabelSelector(vec![LabelTest { key: key.clone(), wanted }]).matches(value);
            prop_assert_ne!(holds(LabelWanted::In(values.clone())), holds(LabelWanted::NotIn(values.clone())));
            prop_assert_ne!(holds(LabelWanted::Present), holds(LabelWanted::Absent));
            let expected = labels.get(&key).is_some_and(|value| values.contains(value));
            prop_assert_eq!(holds(LabelWanted::In(values)), expected);
        }
    }
}
