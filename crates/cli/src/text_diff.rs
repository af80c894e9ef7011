//! The difference between two texts, line by line.

/// A longer text is shown as replaced as a whole: the comparison costs the product of both lengths.
const MAX_LINES: usize = 2000;
/// How many equal lines are shown around a change.
const CONTEXT: usize = 2;

/// Lines that begin with `-` (only before), `+` (only after) or a blank (both); `…` stands for equal lines that are left out.
pub fn lines(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let all = match before.len().max(after.len()) > MAX_LINES {
        true => {
            let gone = before.iter().map(|line| ('-', *line));
            gone.chain(after.iter().map(|line| ('+', *line))).collect()
        }
        false => compared(&before, &after),
    };
    let is_near = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..=(at + CONTEXT).min(all.len() - 1);
        all[around].iter().any(|(sign, _)| *sign != ' ')
    };
    let mut shown: Vec<String> = Vec::new();
    let mut is_cut = false;
    for (at, (sign, line)) in all.iter().enumerate() {
        match is_near(at) {
            true => shown.push(format!("{sign} {line}")),
            false if !is_cut => shown.push("…".to_owned()),
            false => {}
        }
        is_cut = !is_near(at);
    }
    shown
}

/// By the longest common subsequence.
fn compared<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(char, &'a str)> {
    let width = after.len() + 1;
    // How long the common subsequence of the rests from here on is.
    let mut rest = vec![0_u32; (before.len() + 1) * width];
    for b in (0..before.len()).rev() {
        for a in (0..after.len()).rev() {
            rest[b * width + a] = match before[b] == after[a] {
                true => rest[(b + 1) * width + a + 1] + 1,
                false => rest[(b + 1) * width + a].max(rest[b * width + a + 1]),
            };
        }
    }
    let (mut b, mut a) = (0, 0);
    let mut all = Vec::new();
    while b < before.len() || a < after.len() {
        if b < before.len() && a < after.len() && before[b] == after[a] {
            all.push((' ', before[b]));
            (b, a) = (b + 1, a + 1);
        } else if a == after.len()
            || (b < before.len() && rest[(b + 1) * width + a] >= rest[b * width + a + 1])
        {
            all.push(('-', before[b]));
            b += 1;
        } else {
            all.push(('+', after[a]));
            a += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_the_lines_around_them() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let after = "a\nb\nc\nd\nE\nf\ng\nh\ni\n";
        assert_eq!(
            lines(before, after),
            ["…", "  c", "  d", "- e", "+ E", "  f", "  g", "  h", "+ i"]
        );
        assert_eq!(lines("a\n", "a\n"), ["…"]);
        assert_eq!(lines("", "x\n"), ["+ x"]);
        assert_eq!(lines("x\n", ""), ["- x"]);
        assert!(lines("", "").is_empty());
        let long = "x\n".repeat(MAX_LINES + 1);
        assert_eq!(lines(&long, "x\n").len(), MAX_LINES + 2);
    }
}
