//! Shows the results of a task: each host where they are few, failures where they are many, and a summary line.

use api::{TargetResult, TaskDetail};
use model::{Code, Op};
use serde_json::{Value, json};

mod show;

use crate::client::{Client, task_path};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::count;
use crate::out::Out;

/// Up to this many targets, each is shown.
const FEW: usize = 20;

/// What counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Already running on start, or not running on stop, is as good as done.
    Usual,
    /// Both are failures.
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Done,
    AlreadySo,
    GoingOn,
    Failed,
}

impl Strictness {
    pub fn of(is_strict: bool) -> Self {
        match is_strict {
            true => Self::Strict,
            false => Self::Usual,
        }
    }

    pub fn judge(self, code: i32) -> Verdict {
        match Code(code) {
            Code::OK => Verdict::Done,
            Code::HANDLING => Verdict::GoingOn,
            Code::ALREADY_RUNNING | Code::NOT_RUNNING if self == Self::Usual => Verdict::AlreadySo,
            _ => Verdict::Failed,
        }
    }
}

/// The state in which an operation found its process, so that there was nothing to do.
fn already(code: i32) -> &'static str {
    match Code(code) {
        Code::NOT_RUNNING => "already stopped",
        _ => "already running",
    }
}

#[derive(Debug, Default)]
struct Sums {
    done: usize,
    already_running: usize,
    already_stopped: usize,
    going_on: usize,
    failed: usize,
    /// How many of the failed are not registered.
    unknown: usize,
}

impl Sums {
    fn of(strictness: Strictness, codes: impl IntoIterator<Item = i32>) -> Self {
        let mut sums = Self::default();
        for code in codes {
            match strictness.judge(code) {
                Verdict::Done => sums.done += 1,
                Verdict::AlreadySo if Code(code) == Code::NOT_RUNNING => sums.already_stopped += 1,
                Verdict::AlreadySo => sums.already_running += 1,
                Verdict::GoingOn => sums.going_on += 1,
                Verdict::Failed => sums.failed += 1,
            }
            sums.unknown += usize::from(Code(code) == Code::NOT_REGISTERED);
        }
        sums
    }

    fn exit(&self) -> Exit {
        let total = self.done + self.already_so() + self.going_on + self.failed;
        match self.failed {
            0 => Exit::Ok,
            _ if self.unknown == total => Exit::NotFound,
            _ => Exit::SomeFailed,
        }
    }

    fn already_so(&self) -> usize {
        self.already_running + self.already_stopped
    }

    /// `9,998 ok (12 already running), 2 failed`.
    fn line(&self) -> String {
        let mut text = format!("{} ok", count(self.done + self.already_so()));
        let already: Vec<String> = [
            (self.already_running, Code::ALREADY_RUNNING),
            (self.already_stopped, Code::NOT_RUNNING),
        ]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, code)| format!("{} {}", count(n), already(code.0)))
        .collect();
        if !already.is_empty() {
            text.push_str(&format!(" ({})", already.join(", ")));
        }
        if self.failed > 0 {
            text.push_str(&format!(", {} failed", count(self.failed)));
        }
        if self.going_on > 0 {
            text.push_str(&format!(", {} still in progress", count(self.going_on)));
        }
        text
    }
}

/// Shows the results of a task, and returns how the command ends.
pub fn report(
    client: &Client,
    out: &Out,
    task: &TaskDetail,
    strictness: Strictness,
) -> Result<Exit, Failure> {
    let all = task_path(&task.id);
    if out.is_document() {
        let results = client.pages::<Value>(&all, "results", None)?.rows;
        return report_json(out, task, strictness, &results);
    }
    let is_few = task.counts.total <= FEW;
    let mut rows: Vec<TargetResult> = client.pages(&all, "results", Some(FEW))?.rows;
    let is_query = rows.iter().any(|row| row.op == Op::Query.as_str());
    let is_whole = is_few || is_query || strictness == Strictness::Strict;
    if !is_few {
        let path = match is_whole {
            true => all,
            false => all.query("failed", true),
        };
        rows = client.pages(&path, "results", None)?.rows;
    }
    let mut sums = Sums::of(strictness, rows.iter().map(|row| row.code));
    if !is_whole {
        // Targets that did not fail succeeded or still go on.
        let known = sums.done + sums.already_so() + sums.failed;
        sums.done += task.counts.ended.saturating_sub(known);
        sums.going_on = task.counts.total.saturating_sub(task.counts.ended);
    }
    if is_query {
        show::instances(out, &rows)?;
    } else if is_few {
        show::targets(out, &rows, strictness)?;
    }
    show::warnings(out, &rows, strictness);
    show::failures(out, &rows, strictness, &task.id)?;
    match sums.failed {
        0 => out.success(out.paint(Style::Good, &sums.line()))?,
        _ => out.line(out.paint(Style::Bad, &sums.line()))?,
    }
    Ok(sums.exit())
}

fn report_json(
    out: &Out,
    task: &TaskDetail,
    strictness: Strictness,
    results: &[Value],
) -> Result<Exit, Failure> {
    let code = |row: &Value| {
        row["code"]
            .as_i64()
            .and_then(|code| i32::try_from(code).ok())
    };
    let sums = Sums::of(
        strictness,
        results.iter().map(|row| code(row).unwrap_or(-1)),
    );
    out.document(&json!({
        "id": task.id,
        "state": task.state,
        "created_at": task.created_at,
        "app": task.app,
        "user": task.user,
        "counts": {
            "total": task.counts.total,
            "ended": task.counts.ended,
            "ok": sums.done,
            "already_so": sums.already_so(),
            "failed": sums.failed,
        },
        "results": results,
    }))?;
    Ok(sums.exit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn already_so_is_fine_unless_strict() {
        assert_eq!(Strictness::Usual.judge(828), Verdict::AlreadySo);
        assert_eq!(Strictness::Strict.judge(829), Verdict::Failed);
        assert_eq!(Strictness::Usual.judge(117), Verdict::Failed);
        let sums = Sums::of(Strictness::Usual, [0, 0, 828, 836, 115]);
        assert_eq!(
            sums.line(),
            "3 ok (1 already running), 1 failed, 1 still in progress"
        );
        assert_eq!(sums.exit(), Exit::SomeFailed);
        let sums = Sums::of(Strictness::Usual, [828, 829, 829]);
        assert_eq!(sums.line(), "3 ok (1 already running, 2 already stopped)");
    }

    #[test]
    fn a_task_without_any_registered_target_is_not_found() {
        let exit = |codes: &[i32]| Sums::of(Strictness::Usual, codes.iter().copied()).exit();
        assert_eq!(exit(&[851, 851]), Exit::NotFound);
        for other in [0, 828, 115, 117] {
            assert_eq!(exit(&[851, other]), Exit::SomeFailed, "{other}");
        }
        assert_eq!(exit(&[]), Exit::Ok);
    }
}
