//! The second implementation: expands every pattern, then matches by backtracking. Slow and simple.

/// Matches one position of a name.
#[derive(Debug, Clone)]
pub(super) enum Glob {
    Only(char),
    Run,
    One,
    NoneOf(Vec<char>),
    OneOf(Vec<char>),
}

type Globs = Vec<Glob>;
/// A character, and whether it is escaped.
type EscapedChar = (char, bool);

/// Whether the pattern matches; None if it is invalid.
pub(super) fn matches(pattern: &str, name: &str) -> Option<bool> {
    let name: Vec<char> = name.chars().collect();
    Some(expand(pattern)?.iter().any(|globs| fits(globs, &name)))
}

/// All expansions of the pattern; None if it is invalid.
pub(super) fn expand(pattern: &str) -> Option<Vec<Globs>> {
    let written = trim(&unescape(pattern)?);
    if written.is_empty() {
        return Some(vec![vec![Glob::Run]]);
    }
    let mut expanded: Vec<Globs> = vec![vec![]];
    let mut rest = &written[..];
    while let Some((first, after)) = rest.split_first() {
        let alternatives = match first {
            ('[', false) => {
                let close = after.iter().position(|w| *w == (']', false))?;
                let content = &after[..close];
                if content.contains(&('[', false)) {
                    return None;
                }
                rest = &after[close + 1..];
                bracket(content)?
            }
            other => {
                rest = after;
                vec![vec![glob(*other)]]
            }
        };
        let mut next = Vec::new();
        for begun in &expanded {
            for more in &alternatives {
                next.push([&begun[..], &more[..]].concat());
            }
        }
        expanded = next;
    }
    Some(expanded)
}

fn unescape(text: &str) -> Option<Vec<EscapedChar>> {
    let mut written = Vec::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        written.push(match character {
            '\\' => (characters.next()?, true),
            other => (other, false),
        });
    }
    Some(written)
}

fn trim(written: &[EscapedChar]) -> Vec<EscapedChar> {
    let mut written = written.to_vec();
    let is_blank =
        |w: Option<&EscapedChar>| w.is_some_and(|(c, escaped)| c.is_whitespace() && !escaped);
    while is_blank(written.last()) {
        written.pop();
    }
    while is_blank(written.first()) {
        written.remove(0);
    }
    written
}

fn glob(written: EscapedChar) -> Glob {
    match written {
        ('*', false) => Glob::Run,
        ('?', false) => Glob::One,
        (character, _) => Glob::Only(character),
    }
}

fn bracket(content: &[EscapedChar]) -> Option<Vec<Globs>> {
    if content.first() == Some(&('!', false)) {
        return Some(vec![vec![none_of(&content[1..])?]]);
    }
    let mut alternatives = Vec::new();
    for item in content.split(|(c, escaped)| "，、,".contains(*c) && !escaped) {
        alternatives.extend(self::item(&trim(item))?);
    }
    Some(alternatives)
}

fn item(item: &[EscapedChar]) -> Option<Vec<Globs>> {
    if item.first() == Some(&('!', false)) {
        return Some(vec![vec![none_of(&item[1..])?]]);
    }
    let ends: Vec<Vec<EscapedChar>> = item.split(|w| *w == ('-', false)).map(trim).collect();
    if let [from, to] = &ends[..]
        && from.iter().chain(to).all(|(_, escaped)| !escaped)
    {
        let text = |written: &[EscapedChar]| written.iter().map(|(c, _)| *c).collect::<String>();
        if let Some(words) = range(&text(from), &text(to)) {
            let globs = |word: &String| word.chars().map(Glob::Only).collect();
            return Some(words?.iter().map(globs).collect());
        }
    }
    Some(vec![item.iter().map(|written| glob(*written)).collect()])
}

/// None if it is no range, Some(None) if it is reversed.
fn range(from: &str, to: &str) -> Option<Option<Vec<String>>> {
    let one = |text: &str, low: char, high: char| {
        text.chars().count() == 1 && text.chars().all(|c| (low..=high).contains(&c))
    };
    if [('a', 'z'), ('A', 'Z')]
        .iter()
        .any(|(low, high)| one(from, *low, *high) && one(to, *low, *high))
    {
        let (from, to) = (from.chars().next()?, to.chars().next()?);
        return Some((from <= to).then(|| (from..=to).map(String::from).collect()));
    }
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if !is_number(from) || !is_number(to) {
        return None;
    }
    let (low, high): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
    let mut words = Vec::new();
    for value in low..=high {
        words.push(value.to_string());
        for end in [from, to] {
            if end.len() > 1 && end.starts_with('0') {
                words.push(format!("{value:0>width$}", width = end.len()));
            }
        }
    }
    Some((low <= high).then_some(words))
}

fn none_of(written: &[EscapedChar]) -> Option<Glob> {
    let excluded = members_of(written)?;
    (!excluded.is_empty()).then_some(Glob::NoneOf(excluded))
}

fn members_of(written: &[EscapedChar]) -> Option<Vec<char>> {
    let mut members = Vec::new();
    let mut index = 0;
    while index < written.len() {
        let from = written[index].0;
        if index + 2 < written.len() && written[index + 1] == ('-', false) {
            let to = written[index + 2].0;
            if from > to {
                return None;
            }
            members.extend(from..=to);
            index += 3;
        } else {
            members.push(from);
            index += 1;
        }
    }
    Some(members)
}

pub(super) fn fits(globs: &[Glob], name: &[char]) -> bool {
    let Some((glob, globs)) = globs.split_first() else {
        return name.is_empty();
    };
    let Some((first, rest)) = name.split_first() else {
        return matches!(glob, Glob::Run) && fits(globs, name);
    };
    match glob {
        Glob::Only(character) => character == first && fits(globs, rest),
        Glob::One => fits(globs, rest),
        Glob::NoneOf(excluded) => !excluded.contains(first) && fits(globs, rest),
        Glob::OneOf(members) => members.contains(first) && fits(globs, rest),
        Glob::Run => fits(globs, name) || fits(&[&[Glob::Run], globs].concat(), rest),
    }
}

/// Python's `fnmatchcase`.
pub(super) fn fnmatch(style: &str, name: &str) -> bool {
    let style: Vec<char> = style.chars().collect();
    let name: Vec<char> = name.chars().collect();
    fits(&read_style(&style), &name)
}

fn read_style(style: &[char]) -> Globs {
    let mut globs = Vec::new();
    let mut index = 0;
    while index < style.len() {
        let character = style[index];
        index += 1;
        globs.push(match character {
            '*' => Glob::Run,
            '?' => Glob::One,
            '[' => {
                let negated = style[index] == '!';
                let begin = index + usize::from(negated);
                let skip = usize::from(style[begin] == ']');
                let close = begin + skip;
                let end = close + style[close..].iter().position(|c| *c == ']').unwrap();
                index = end + 1;
                let members: Vec<EscapedChar> =
                    style[begin..end].iter().map(|c| (*c, false)).collect();
                let members = members_of(&members).unwrap();
                match negated {
                    true => Glob::NoneOf(members),
                    false => Glob::OneOf(members),
                }
            }
            other => Glob::Only(other),
        });
    }
    globs
}
