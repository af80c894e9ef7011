//! Shows what an import changes.

use api::{ChangeCounts, Difference, LeftOutRow};

use super::{Changed, Import};
use crate::colors::Style;
use crate::failure::Failure;
use crate::format::{clean, count, counted};
use crate::out::Out;

pub(super) fn show(out: &Out, changed: &Changed, import: Import) -> Result<(), Failure> {
    let (business, difference) = (changed.id, &changed.difference);
    for line in lines(difference) {
        out.line(out.paint(style(&line), &line))?;
    }
    let named = match changed.name.as_str() {
        "" => format!("business {business}"),
        name => format!("business {business} {}", clean(name)),
    };
    let what = summary(difference);
    out.line(match (what.is_empty(), import) {
        (true, _) => format!("{named}: nothing changes"),
        (false, Import::Really) => format!("{named}: {what}"),
        (false, Import::DryRun) => format!("{named} would change: {what}"),
    })?;
    left_out(out, &difference.troubles);
    Ok(())
}

/// Warns of rows of the source that are wrong.
pub(super) fn left_out(out: &Out, rows: &[LeftOutRow]) {
    if rows.is_empty() {
        return;
    }
    out.warn(format!("{} left out:", counted(rows.len(), "row")));
    for LeftOutRow { row, reason, .. } in rows {
        out.note(format!("  {}: {}", clean(row), clean(reason)));
    }
}

fn lines(difference: &Difference) -> Vec<String> {
    let mut lines: Vec<String> = difference.lines.iter().map(|line| clean(line)).collect();
    if difference.more_lines > 0 {
        lines.push(format!("… and {} more", count(difference.more_lines)));
    }
    lines
}

fn style(line: &str) -> Style {
    match line.chars().next() {
        Some('+') => Style::Good,
        Some('-') => Style::Bad,
        Some('~' | '!') => Style::Warn,
        _ => Style::Dim,
    }
}

/// Whether anything would change.
pub(super) fn is_any(difference: &Difference) -> bool {
    !summary(difference).is_empty()
}

/// `sets +1, processes +4 ~1 -2`; empty when nothing differs.
fn summary(difference: &Difference) -> String {
    let part = |what: &str, counts: ChangeCounts| {
        let signs = [('+', counts.new), ('~', counts.changed), ('-', counts.gone)];
        let signs: Vec<String> = signs
            .iter()
            .filter(|(_, number)| *number > 0)
            .map(|(sign, number)| format!("{sign}{}", count(*number)))
            .collect();
        (!signs.is_empty()).then(|| format!("{what} {}", signs.join(" ")))
    };
    let vanished =
        (difference.vanished > 0).then(|| format!("{} still running", count(difference.vanished)));
    let parts = [
        part("sets", difference.sets),
        part("modules", difference.modules),
        part("hosts", difference.hosts),
        part("service instances", difference.services),
        part("processes", difference.processes),
        part("instances", difference.instances),
        vanished,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_summary_names_changes_only() {
        let difference: Difference = serde_json::from_value(json!({
            "sets": {"new": 1, "changed": 0, "gone": 0},
            "processes": {"new": 1200, "changed": 1, "gone": 2},
            "vanished": 1, "lines": ["+ set zone-1"], "more_lines": 7,
            "troubles": [{"row": "sets[0]", "reason": "no"}],
        }))
        .unwrap();
        assert_eq!(
            summary(&difference),
            "sets +1, processes +1,200 ~1 -2, 1 still running"
        );
        assert_eq!(lines(&difference), ["+ set zone-1", "… and 7 more"]);
        assert_eq!(summary(&Difference::default()), "");
    }
}
