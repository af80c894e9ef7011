//! The unified diff of two texts.

use std::time::Duration;

use similar::TextDiff;

/// Context lines around a change.
const AROUND: usize = 3;
/// After this time the comparison no longer looks for the smallest difference.
const MAX_TIME: Duration = Duration::from_millis(500);

/// The diff from `expected` to `actual`.
pub(super) fn unified(path: &str, expected: &str, actual: &str) -> String {
    let (before, after) = (format!("{path} as released"), format!("{path} on the host"));
    if expected.lines().eq(actual.lines()) {
        return format!(
            "--- {before}\n+++ {after}\nonly line ends or the end of the file differ\n"
        );
    }
    let diff = TextDiff::configure()
        .timeout(MAX_TIME)
        .diff_lines(expected, actual);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(AROUND).header(&before, &after);
    unified.to_string()
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
            "--- /etc/x as released\n+++ /etc/x on the host\n@@ -1,7 +1,8 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n+h\n"
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
        assert!(text.contains("@@ -23,7 +23,7 @@\n line 22\n"), "{text}");
    }

    #[test]
    fn different_line_ends_are_reported() {
        for (expected, actual) in [("a\nb\n", "a\nb"), ("a\r\nb\n", "a\nb\n")] {
            let text = unified("/x", expected, actual);
            assert!(
                text.ends_with("only line ends or the end of the file differ\n"),
                "{text}"
            );
        }
    }
}
