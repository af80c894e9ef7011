//! The unified diff of two texts.

/// Context lines around a change.
const AROUND: usize = 3;
/// Above this many lines on either side only the differing middle is compared as a whole.
const MAX_COMPARED: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The diff from `expected` to `actual`.
pub(super) fn unified(path: &str, expected: &str, actual: &str) -> String {
    let before: Vec<&str> = expected.lines().collect();
    let after: Vec<&str> = actual.lines().collect();
    let lines = compare(&before, &after);
    let mut text = format!("--- {path} as released\n+++ {path} on the host\n");
    let changed: Vec<usize> = (0..lines.len())
        .filter(|at| !matches!(lines[*at], Line::Same(_)))
        .collect();
    if changed.is_empty() {
        // The same lines, which end differently.
        text.push_str("only line ends or the end of the file differ\n");
        return text;
    }
    let mut shown = 0;
    for at in changed {
        let start = at.saturating_sub(AROUND).max(shown);
        let end = (at + AROUND + 1).min(lines.len());
        if start > shown || shown == 0 {
            let (old, new) = position(&lines[..start]);
            text.push_str(&format!("@@ -{} +{} @@\n", old + 1, new + 1));
        }
        for line in &lines[start.min(end)..end] {
            let (sign, line) = match line {
                Line::Same(line) => (' ', line),
                Line::Gone(line) => ('-', line),
                Line::New(line) => ('+', line),
            };
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
        shown = shown.max(end);
    }
    text
}

/// How many lines of the old and of the new text come before.
fn position(lines: &[Line<'_>]) -> (usize, usize) {
    let old = lines.iter().filter(|line| !matches!(line, Line::New(_)));
    let new = lines.iter().filter(|line| !matches!(line, Line::Gone(_)));
    (old.count(), new.count())
}

fn compare<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let head = common(before.iter(), after.iter());
    let (before_rest, after_rest) = (&before[head..], &after[head..]);
    let tail = common(before_rest.iter().rev(), after_rest.iter().rev());
    let middle_before = &before_rest[..before_rest.len() - tail];
    let middle_after = &after_rest[..after_rest.len() - tail];
    let same = |lines: &[&'a str]| {
        lines
            .iter()
            .map(|line| Line::Same(line))
            .collect::<Vec<_>>()
    };
    let mut lines = same(&before[..head]);
    lines.extend(middle(middle_before, middle_after));
    lines.extend(same(&before[before.len() - tail..]));
    lines
}

fn common<'a>(
    one: impl Iterator<Item = &'a &'a str>,
    other: impl Iterator<Item = &'a &'a str>,
) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).count()
}

/// Keeps a longest common subsequence of lines.
fn middle<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let replaced = || {
        let gone = before.iter().map(|line| Line::Gone(line));
        gone.chain(after.iter().map(|line| Line::New(line)))
            .collect()
    };
    if before.len() > MAX_COMPARED || after.len() > MAX_COMPARED {
        return replaced();
    }
    // lengths[i][j]: of the longest common lines of before[i..] and after[j..].
    let width = after.len() + 1;
    let mut lengths = vec![0_u16; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            lengths[i * width + j] = match before[i] == after[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::with_capacity(before.len() + after.len());
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            lines.push(Line::Same(before[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == after.len()
            || (i < before.len() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])
        {
            lines.push(Line::Gone(before[i]));
            i += 1;
        } else {
            lines.push(Line::New(after[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_has_context() {
        let expected = "a\nb\nc\nd\ne\nf\ng\n";
        let actual = "a\nb\nc\nD\ne\nf\ng\nh\n";
        assert_eq!(
            unified("/etc/x", expected, actual),
            "--- /etc/x as released\n+++ /etc/x on the host\n@@ -1 +1 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n+h\n"
        );
    }

    #[test]
    fn distant_changes_are_separate_hunks() {
        let lines = |changed: &[usize]| -> String {
            (0..30)
                .map(|n| match changed.contains(&n) {
                    true => format!("changed {n}\n"),
                    false => format!("line {n}\n"),
                })
                .collect()
        };
        let text = unified("/x", &lines(&[]), &lines(&[5, 25]));
        assert_eq!(text.matches("@@ -").count(), 2, "{text}");
        assert!(text.contains("@@ -23 +23 @@\n line 22\n"), "{text}");
    }

    #[test]
    fn every_line_of_both_texts_appears() {
        let texts = ["", "a", "a\nb", "b\na\nb", "c\nc\na", "a\nb\nc\nd"];
        for before in texts {
            for after in texts {
                let (b, a): (Vec<&str>, Vec<&str>) =
                    (before.lines().collect(), after.lines().collect());
                let lines = compare(&b, &a);
                let old: Vec<&str> = lines
                    .iter()
                    .filter_map(|line| match line {
                        Line::Same(line) | Line::Gone(line) => Some(*line),
                        Line::New(_) => None,
                    })
                    .collect();
                let new: Vec<&str> = lines
                    .iter()
                    .filter_map(|line| match line {
                        Line::Same(line) | Line::New(line) => Some(*line),
                        Line::Gone(_) => None,
                    })
                    .collect();
                assert_eq!((old, new), (b, a));
            }
        }
    }

    #[test]
    fn different_line_ends_are_reported() {
        let text = unified("/x", "a\nb\n", "a\nb");
        assert!(
            text.ends_with("only line ends or the end of the file differ\n"),
            "{text}"
        );
    }
}
