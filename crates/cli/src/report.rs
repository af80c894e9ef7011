//! How a task ended: each host where they are few, the failures where they are many, and one line that sums it up.

use model::{Code, Op};
use serde_json::{Value, json};

mod show;

use crate::client::{Client, TargetRow, TaskView, Wanted};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::show::count;
use crate::tone::Tone;

/// Up to this many targets, each is shown.
const FEW: usize = 20;
/// What counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Already running on start, or not running on stop, is as good as done.
    Usual,
    /// It is a failure.
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
    pub fn judge(self, code: i32) -> Verdict {
        match Code(code) {
            Code::OK => Verdict::Done,
            Code::HANDLING => Verdict::GoingOn,
            Code::ALREADY_RUNNING | Code::NOT_RUNNING if self == Self::Usual => Verdict::AlreadySo,
            _ => Verdict::Failed,
        }
    }
}

#[derive(Debug, Default)]
struct Sums {
    done: u64,
    already_so: u64,
    going_on: u64,
    failed: u64,
    /// How many of the failed are not registered.
    unknown: u64,
}

impl Sums {
    fn of<'a>(strictness: Strictness, codes: impl Iterator<Item = &'a i32>) -> Self {
        let mut sums = Self::default();
        for code in codes {
            match strictness.judge(*code) {
                Verdict::Done => sums.done += 1,
                Verdict::AlreadySo => sums.already_so += 1,
                Verdict::GoingOn => sums.going_on += 1,
                Verdict::Failed => sums.failed += 1,
            }
            sums.unknown += u64::from(Code(*code) == Code::NOT_REGISTERED);
        }
        sums
    }

    fn exit(&self) -> Exit {
        let total = self.done + self.already_so + self.going_on + self.failed;
        match self.failed {
            0 => Exit::Ok,
            _ if self.unknown == total => Exit::NothingThere,
            _ => Exit::SomeFailed,
        }
    }

    /// `9,998 ok (12 already so), 2 failed`.
    fn line(&self) -> String {
        let mut text = format!("{} ok", count(self.done + self.already_so));
        if self.already_so > 0 {
            text.push_str(&format!(" ({} already so)", count(self.already_so)));
        }
        if self.failed > 0 {
            text.push_str(&format!(", {} failed", count(self.failed)));
        }
        if self.going_on > 0 {
            text.push_str(&format!(", {} still going on", count(self.going_on)));
        }
        text
    }
}

/// Shows a task and says how the command ends.
pub fn report(
    client: &Client,
    out: &Out,
    view: &TaskView,
    strictness: Strictness,
) -> Result<Exit, Failure> {
    if out.is_json() {
        return report_json(client, out, view, strictness);
    }
    let is_few = view.counts.total <= FEW as u64;
    let mut rows = client
        .targets::<TargetRow>(&view.id, Wanted::All, Some(FEW))?
        .rows;
    let is_query = rows.iter().any(|row| row.op == Op::Query.as_str());
    let wanted = match is_few || is_query || strictness == Strictness::Strict {
        true => Wanted::All,
        false => Wanted::Failed,
    };
    if !is_few {
        rows = client.targets(&view.id, wanted, None)?.rows;
    }
    let mut sums = Sums::of(strictness, rows.iter().map(|row| &row.code));
    if wanted == Wanted::Failed {
        // Whatever did not fail ended well or still goes on.
        let known = sums.done + sums.already_so + sums.failed;
        sums.done += view.counts.ended.saturating_sub(known);
        sums.going_on = view.counts.total.saturating_sub(view.counts.ended);
    }
    if is_query {
        show::instances(out, &rows)?;
    } else if is_few {
        show::targets(out, &rows, strictness)?;
    }
    show::failures(out, &rows, strictness, &view.id)?;
    let tone = match sums.failed {
        0 => Tone::Good,
        _ => Tone::Bad,
    };
    let line = out.paint(tone, &sums.line());
    match sums.failed {
        0 => out.done(line)?,
        _ => out.line(line)?,
    }
    Ok(sums.exit())
}

fn report_json(
    client: &Client,
    out: &Out,
    view: &TaskView,
    strictness: Strictness,
) -> Result<Exit, Failure> {
    let results = client.targets::<Value>(&view.id, Wanted::All, None)?.rows;
    let codes: Vec<i32> = results
        .iter()
        .map(|row| {
            row["code"]
                .as_i64()
                .and_then(|code| i32::try_from(code).ok())
                .unwrap_or(-1)
        })
        .collect();
    let sums = Sums::of(strictness, codes.iter());
    out.json(&json!({
        "id": view.id,
        "state": view.state,
        "created_at": view.created_at,
        "app": view.app,
        "user": view.user,
        "counts": {
            "total": view.counts.total,
            "ended": view.counts.ended,
            "ok": sums.done,
            "already_so": sums.already_so,
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
        let sums = Sums::of(Strictness::Usual, [0, 0, 828, 836, 115].iter());
        assert_eq!(
            sums.line(),
            "3 ok (1 already so), 1 failed, 1 still going on"
        );
        assert_eq!(sums.exit(), Exit::SomeFailed);
    }

    #[test]
    fn only_a_task_without_any_registered_target_is_about_nothing() {
        let exit = |codes: &[i32]| Sums::of(Strictness::Usual, codes.iter()).exit();
        assert_eq!(exit(&[851, 851]), Exit::NothingThere);
        for other in [0, 828, 115, 117] {
            assert_eq!(exit(&[851, other]), Exit::SomeFailed, "{other}");
        }
        assert_eq!(exit(&[]), Exit::Ok);
    }
}
