//! The tables and excerpts of a report.

use std::collections::BTreeMap;

use api::TargetResult;

use super::{Strictness, Verdict, already};
use crate::colors::Style;
use crate::failure::Failure;
use crate::format::{bytes, clean, count, lasted, millis, yes_no};
use crate::out::Out;
use crate::table::{Cell, TextTable};

/// How many failures are shown in full.
const MAX_FAILURES: usize = 50;
/// How much of a command's output is shown: its first and its last lines.
const FIRST_LINES: usize = 5;
const LAST_LINES: usize = 15;
/// Longer lines of output are cut.
const MAX_LINE: usize = 500;

/// Each target that did not fail.
pub(super) fn targets(
    out: &Out,
    rows: &[TargetResult],
    strictness: Strictness,
) -> Result<(), Failure> {
    if out.is_quiet() {
        return Ok(());
    }
    let mut table = TextTable::new("HOST|PROCESS|OP|RESULT|>TOOK|~MESSAGE");
    for row in rows {
        let (style, word) = match strictness.judge(row.code) {
            Verdict::Done => (Style::Good, "ok".to_owned()),
            Verdict::AlreadySo => (Style::Warn, already(row.code).to_owned()),
            Verdict::GoingOn => (Style::Dim, "in progress".to_owned()),
            Verdict::Failed => continue, // Shown by `failures`.
        };
        table.row([
            Cell::from(host_of(row)),
            row.process.as_str().into(),
            (&*row.op).into(),
            Cell::styled(style, word),
            row.took_ms
                .or(row.duration_ms)
                .map(millis)
                .unwrap_or_default()
                .into(),
            first_line(&row.message).into(),
        ]);
    }
    out.table_if_any(&table)
}

/// What is wrong with targets all the same, though they did not fail.
pub(super) fn warnings(out: &Out, rows: &[TargetResult], strictness: Strictness) {
    let is_failed = |row: &&TargetResult| strictness.judge(row.code) == Verdict::Failed;
    for row in rows.iter().filter(|row| !is_failed(row)) {
        if let Some(warning) = &row.warning {
            out.warn(format!(
                "{} {}: {}",
                host_of(row),
                clean(&row.process),
                clean(warning)
            ));
        }
    }
}

/// What a query saw.
pub(super) fn instances(out: &Out, rows: &[TargetResult]) -> Result<(), Failure> {
    let mut table = TextTable::new(
        "HOST|PROCESS|STATE|>PID|MANAGED|VERSION|>CPU%|>MEM%|>RSS|>THREADS|>UP|~COMMAND LINE",
    );
    for row in rows {
        let Some(api::InspectionView(seen)) = &row.instance else {
            continue;
        };
        let head = [Cell::from(host_of(row)), row.process.as_str().into()];
        let tail: [Cell; 10] = match seen.pid > 0 {
            true => [
                Cell::styled(Style::Good, "running"),
                seen.pid.to_string().into(),
                yes_no(seen.managed).into(),
                seen.version.as_str().into(),
                format!("{:.1}", seen.cpu).into(),
                format!("{:.1}", seen.mem).into(),
                bytes(seen.rss_kib * 1024).into(),
                seen.threads.to_string().into(),
                lasted(std::time::Duration::from_secs(seen.elapsed_secs)).into(),
                seen.cmdline.as_str().into(),
            ],
            false => {
                let mut blank = std::array::from_fn(|_| Cell::from(""));
                blank[0] = Cell::styled(Style::Dim, "stopped");
                blank[2] = yes_no(seen.managed).into();
                blank
            }
        };
        table.row(head.into_iter().chain(tail).collect::<Vec<_>>());
    }
    out.table_if_any(&table)
}

/// Each target that failed, with its command and output.
pub(super) fn failures(
    out: &Out,
    rows: &[TargetResult],
    strictness: Strictness,
    id: &str,
) -> Result<(), Failure> {
    let failed: Vec<&TargetResult> = rows
        .iter()
        .filter(|row| strictness.judge(row.code) == Verdict::Failed)
        .collect();
    for row in failed.iter().take(MAX_FAILURES) {
        out.text(&failure_text(out, row))?;
    }
    if failed.len() <= MAX_FAILURES {
        return Ok(());
    }
    let more = count(failed.len() - MAX_FAILURES);
    out.line(format!(
        "… and {more} more: muster task {id} -o json shows all"
    ))?;
    let mut codes: BTreeMap<i32, u64> = BTreeMap::new();
    for row in &failed {
        *codes.entry(row.code).or_default() += 1;
    }
    let codes: Vec<String> = codes
        .iter()
        .map(|(code, n)| format!("{} with {code}", count(*n)))
        .collect();
    out.line(format!("failed: {}", codes.join(", ")))
}

fn failure_text(out: &Out, row: &TargetResult) -> String {
    let head = format!("{}  {}", host_of(row), clean(&row.process));
    let mut text = format!(
        "{}  {} failed ({}): {}\n",
        out.paint(Style::Bad, &head),
        row.op,
        row.code,
        first_line(&row.message)
    );
    if let Some(command) = row.command.as_deref().filter(|command| !command.is_empty()) {
        text.push_str(&format!("    command  {}\n", clean(command)));
        let end = match (row.exit_code, row.exit_signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => "did not end by itself".to_owned(),
        };
        let took = row
            .duration_ms
            .map(|ms| format!(" after {}", millis(ms)))
            .unwrap_or_default();
        text.push_str(&format!("    end      {end}{took}\n"));
    }
    if let Some(warning) = &row.warning {
        text.push_str(&format!("    warning  {}\n", clean(warning)));
    }
    for (index, line) in excerpt(row.output.as_deref().unwrap_or_default())
        .iter()
        .enumerate()
    {
        let label = if index == 0 { "output" } else { "" };
        text.push_str(&format!("    {label:<7}  {line}\n"));
    }
    text
}

/// The first and the last lines, and how many are missing between them.
fn excerpt(output: &str) -> Vec<String> {
    let lines: Vec<String> = output
        .lines()
        .map(|line| clean(line).chars().take(MAX_LINE).collect())
        .collect();
    if lines.len() <= FIRST_LINES + LAST_LINES + 1 {
        return lines;
    }
    let left_out = lines.len() - FIRST_LINES - LAST_LINES;
    let mut shown = lines[..FIRST_LINES].to_vec();
    shown.push(format!("… {left_out} lines left out …"));
    shown.extend_from_slice(&lines[lines.len() - LAST_LINES..]);
    shown
}

fn host_of(row: &TargetResult) -> String {
    match row.host.as_str() {
        "" => "?".to_owned(),
        host => clean(host),
    }
}

fn first_line(message: &str) -> String {
    clean(
        message
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let output: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        let shown = excerpt(&output);
        assert_eq!(shown.len(), FIRST_LINES + LAST_LINES + 1);
        assert_eq!(shown[0], "line 1");
        assert_eq!(shown[5], "… 80 lines left out …");
        assert_eq!(shown.last().unwrap(), "line 100");
        assert_eq!(excerpt("a\x1b[2J\n"), ["a?[2J"]);
    }
}
