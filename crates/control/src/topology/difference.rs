//! What a plan changes, in numbers and in lines for people.

use model::topology::{Program, SourceFault, SourceRow};
use serde::Serialize;

/// How many lines are kept; the numbers count all.
const MAX_LINES: usize = 1000;
/// How many troubles are told; they are kept with the business.
const MAX_TROUBLES: usize = 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub sets: Tally,
    pub modules: Tally,
    pub hosts: Tally,
    pub services: Tally,
    pub processes: Tally,
    /// Registered processes.
    pub instances: Tally,
    /// Gone from the source, and still running: shown until they are stopped.
    pub vanished: u32,
    /// `+` new, `~` changed, `-` gone, `!` still running.
    pub lines: Vec<String>,
    /// Lines that were too many.
    pub more_lines: u32,
    /// Rows that were left out, and why.
    pub troubles: Vec<SourceFault>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub new: u32,
    pub changed: u32,
    pub gone: u32,
}

impl Tally {
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Difference {
    /// Nothing differs.
    pub fn is_empty(&self) -> bool {
        [
            self.sets,
            self.modules,
            self.hosts,
            self.services,
            self.processes,
            self.instances,
        ]
        .into_iter()
        .all(Tally::is_empty)
            && self.vanished == 0
    }

    pub(super) fn line(&mut self, line: impl FnOnce() -> String) {
        match self.lines.len() < MAX_LINES {
            true => self.lines.push(line()),
            false => self.more_lines += 1,
        }
    }

    /// The first ones, and how many more there are.
    pub(super) fn bound_troubles(&mut self) {
        let n_more = self.troubles.len().saturating_sub(MAX_TROUBLES);
        if n_more > 0 {
            self.troubles.truncate(MAX_TROUBLES);
            self.troubles.push(SourceFault {
                row: SourceRow("others".to_owned()),
                reason: format!("{n_more} more rows are wrong"),
            });
        }
    }

    /// One line for the audit trail.
    pub(super) fn summary(&self) -> String {
        let part = |what: &str, tally: Tally| {
            (!tally.is_empty())
                .then(|| format!("{what} +{} ~{} -{}", tally.new, tally.changed, tally.gone))
        };
        let parts = [
            part("sets", self.sets),
            part("modules", self.modules),
            part("hosts", self.hosts),
            part("services", self.services),
            part("processes", self.processes),
            part("instances", self.instances),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Which fields differ, for a line.
pub(super) fn changed(before: &Program, now: &Program) -> String {
    let (before, now) = (fields(before), fields(now));
    let names: Vec<&str> = before
        .iter()
        .zip(&now)
        .filter(|(before, now)| before != now)
        .map(|((name, _), _)| *name)
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(": {}", names.join(", ")),
    }
}

fn fields(program: &Program) -> [(&'static str, String); 14] {
    [
        ("bk_process_name", program.bk_process_name.clone()),
        ("bk_func_name", program.bk_func_name.clone()),
        ("proc_num", program.proc_num.to_string()),
        ("priority", format!("{:?}", program.priority)),
        ("user", program.user.clone()),
        ("work_path", program.work_path.clone()),
        ("pid_file", program.pid_file.clone()),
        ("start_cmd", program.start_cmd.clone()),
        ("stop_cmd", program.stop_cmd.clone()),
        ("restart_cmd", program.restart_cmd.clone()),
        ("reload_cmd", program.reload_cmd.clone()),
        ("face_stop_cmd", program.face_stop_cmd.clone()),
        ("timeout", format!("{:?}", program.timeout)),
        (
            "bk_start_check_secs",
            format!("{:?}", program.bk_start_check_secs),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_troubles_the_first_are_told() {
        let trouble = |n: usize| SourceFault {
            row: SourceRow(n.to_string()),
            reason: "is wrong".to_owned(),
        };
        let mut difference = Difference {
            troubles: (0..MAX_TROUBLES + 7).map(trouble).collect(),
            ..Difference::default()
        };
        difference.bound_troubles();
        assert_eq!(difference.troubles.len(), MAX_TROUBLES + 1);
        assert_eq!(
            difference.troubles[MAX_TROUBLES].reason,
            "7 more rows are wrong"
        );
    }
}
