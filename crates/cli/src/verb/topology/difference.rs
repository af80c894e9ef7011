//! What an import changes, for people.

use serde_json::Value;

use crate::client::{Difference, Import, Tally};
use crate::failure::{Failure, Kind};
use crate::out::Out;
use crate::show::{clean, count, counted};
use crate::tone::Tone;

pub(super) fn read(answer: &Value) -> Result<Difference, Failure> {
    serde_json::from_value(answer.clone()).map_err(|e| {
        let what = format!("the server's list of changes is not as expected: {e}");
        Failure::new(Kind::Failed, what)
    })
}

pub(super) fn show(
    out: &Out,
    business: u32,
    name: &str,
    difference: &Difference,
    import: Import,
) -> Result<(), Failure> {
    for line in lines(difference) {
        out.line(out.paint(tone(&line), &line))?;
    }
    let named = match name.is_empty() {
        true => format!("business {business}"),
        false => format!("business {business} {}", clean(name)),
    };
    let what = summary(difference);
    out.line(match (what.is_empty(), import) {
        (true, _) => format!("{named}: nothing changes"),
        (false, Import::Really) => format!("{named}: {what}"),
        (false, Import::DryRun) => format!("{named} would change: {what}"),
    })?;
    if !difference.troubles.is_empty() {
        let rows = counted(difference.troubles.len() as u64, "row");
        out.warn(format!("{rows} left out:"));
        for trouble in &difference.troubles {
            out.note(format!(
                "  {}: {}",
                clean(&trouble.row),
                clean(&trouble.reason)
            ));
        }
    }
    Ok(())
}

fn lines(difference: &Difference) -> Vec<String> {
    let mut lines: Vec<String> = difference.lines.iter().map(|line| clean(line)).collect();
    if difference.more_lines > 0 {
        lines.push(format!("… and {} more", count(difference.more_lines)));
    }
    lines
}

fn tone(line: &str) -> Tone {
    match line.chars().next() {
        Some('+') => Tone::Good,
        Some('-') => Tone::Bad,
        Some('~' | '!') => Tone::Warn,
        _ => Tone::Dim,
    }
}

/// `sets +1, processes +4 ~1 -2`; empty when nothing differs.
fn summary(difference: &Difference) -> String {
    let part = |what: &str, tally: Tally| {
        let signs = [('+', tally.new), ('~', tally.changed), ('-', tally.gone)];
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
    fn only_what_differs_is_summed_up() {
        let difference = read(&json!({
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
