//! Writes refused requests into the audit trail, a few at a time, so that a flood of them costs little.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use model::access::{Audit, Caller};
use model::change::Changes;

use super::Access;
use crate::core::Core;

/// How many different refusals are written at a time; further ones are only counted.
const MAX_WAITING: usize = 20;
/// How often refusals are written.
const EVERY: Duration = Duration::from_secs(5);
/// The longest name or reason that is kept, in characters: the caller may have sent anything.
const MAX_TEXT: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Each with how often it occurred.
    lines: VecDeque<(Audit, u32)>,
    n_more: u32,
    is_written: bool,
}

impl Waiting {
    fn add(&mut self, line: Audit) {
        let same = |other: &Audit| {
            let of = |line: &Audit| {
                [
                    line.app.clone(),
                    line.user.clone(),
                    line.from.clone(),
                    line.action.clone(),
                    line.object.clone(),
                ]
            };
            of(other) == of(&line)
        };
        if let Some((_, n)) = self.lines.iter_mut().find(|(other, _)| same(other)) {
            *n = n.saturating_add(1);
        } else if self.lines.len() < MAX_WAITING {
            self.lines.push_back((line, 1));
        } else {
            self.n_more = self.n_more.saturating_add(1);
        }
    }

    fn take(&mut self, caller: &Caller, at: model::UnixMillis) -> Vec<Audit> {
        let mut lines: Vec<Audit> = self.lines.drain(..).map(counted).collect();
        let n_more = std::mem::take(&mut self.n_more);
        if n_more > 0 {
            let detail = format!("{n_more} more refusals were not written down");
            lines.push(Audit::new(caller, at, "refused", "many", detail));
        }
        lines
    }
}

fn counted((line, n): (Audit, u32)) -> Audit {
    match n {
        1 => line,
        n => Audit {
            detail: format!("{} ({n} times)", line.detail),
            ..line
        },
    }
}

impl Refusals {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock()
    }

    /// Adds a line; true when no writer is running yet.
    fn add(&self, line: Audit) -> bool {
        let mut waiting = self.waiting();
        waiting.add(line);
        !std::mem::replace(&mut waiting.is_written, true)
    }
}

impl Access {
    /// Keeps a refusal for the audit trail. Soft: one that is not written when the server ends is lost.
    pub(crate) fn note_refusal(&self, caller: Caller, action: &str, object: &str, detail: String) {
        let caller = Caller {
            app: short(&caller.app),
            user: short(&caller.user),
            ..caller
        };
        let at = self.core.now();
        self.add_refusal(Audit::new(
            &caller,
            at,
            action,
            short(object),
            short(&detail),
        ));
    }

    pub(super) fn add_refusal(&self, line: Audit) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if self.refusals.add(line) {
            runtime.spawn(write(self.core.clone(), self.refusals.clone()));
        }
    }
}

/// Writes the first line at once, further ones together.
async fn write(core: Arc<Core>, refusals: Arc<Refusals>) {
    loop {
        let at = core.now();
        let lines = {
            let mut waiting = refusals.waiting();
            let lines = waiting.take(&Caller::system(), at);
            waiting.is_written = !lines.is_empty();
            lines
        };
        if lines.is_empty() {
            return;
        }
        let written = core.commit(move |_| {
            let changes = Changes {
                audit: lines.clone(),
                ..Default::default()
            };
            Ok((changes, ()))
        });
        if let Err(error) = written.await {
            tracing::warn!(%error, "refusals were not written into the audit trail");
        }
        tokio::time::sleep(EVERY).await;
    }
}

pub(super) fn short(text: &str) -> String {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(MAX_TEXT).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::UnixMillis;

    fn line(object: &str) -> Audit {
        let caller = Caller::system();
        Audit::new(&caller, UnixMillis(1), "refused", object, "no".to_owned())
    }

    #[test]
    fn a_flood_of_refusals_is_a_few_lines() {
        let mut waiting = Waiting::default();
        for n in 0..10_000 {
            waiting.add(line("same"));
            waiting.add(line(&format!("{n}")));
        }
        let lines = waiting.take(&Caller::system(), UnixMillis(2));
        assert_eq!(lines.len(), MAX_WAITING + 1);
        assert_eq!(lines[0].detail, "no (10000 times)");
        assert_eq!(
            lines[MAX_WAITING].detail,
            "9981 more refusals were not written down"
        );
        assert!(waiting.take(&Caller::system(), UnixMillis(3)).is_empty());
    }

    #[test]
    fn text_of_callers_is_cut_and_cannot_forge_a_line() {
        let text = short(&format!("a\nb\u{1b}{}", "x".repeat(1000)));
        assert_eq!(text.chars().count(), MAX_TEXT);
        assert!(text.starts_with("a\u{fffd}b\u{fffd}x"));
    }
}
