//! Failures of a task or a job in groups: `--failures`, and the flags by which a retry chooses among them.

use api::{FailureGroupView, FailureGroups};

use crate::client::{Client, Path};
use crate::failure::{Exit, Failure};
use crate::format::{count, counted};
use crate::out::Out;
use crate::table::{Cell, TextTable};

/// Which failures a retry repeats.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Which failures")]
pub struct FailureArgs {
    /// Only with these result codes, separated by commas
    #[arg(
        long,
        value_name = "CODE",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    code: Vec<i32>,
    /// Only with a reason like this one, as --failures shows it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Only on these hosts, separated by commas
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    host: Vec<String>,
}

impl FailureArgs {
    pub fn codes(&self) -> Option<Vec<i32>> {
        (!self.code.is_empty()).then(|| self.code.clone())
    }

    pub fn reason(&self) -> Option<String> {
        self.reason.clone()
    }

    pub fn hosts(&self) -> Option<Vec<String>> {
        (!self.host.is_empty()).then(|| self.host.clone())
    }
}

/// Shows the groups of failures of a task or a job, whose path this is. Ends with 1 if there are any.
pub fn show(client: &Client, out: &Out, path: Path) -> Result<Exit, Failure> {
    let list: FailureGroups = client.get(&path.join("failures"))?;
    match out.is_document() {
        true => out.document(&list)?,
        false => {
            out.table_or(&table(&list.groups), "no failures")?;
            let failed: usize = list.groups.iter().map(|group| group.count).sum();
            if failed > 0 {
                let (failed, groups) = (count(failed), counted(list.groups.len(), "group"));
                out.note(format!("{failed} failed, in {groups}"));
            }
        }
    }
    Ok(Exit::some_failed(!list.groups.is_empty()))
}

fn table(groups: &[FailureGroupView]) -> TextTable {
    let mut table = TextTable::new(">COUNT|>CODE|~REASON|HOSTS");
    for group in groups {
        let more = group.count.saturating_sub(group.hosts.len());
        let hosts = match more {
            0 => group.hosts.join(", "),
            _ => format!("{}, …", group.hosts.join(", ")),
        };
        table.row([
            Cell::from(count(group.count)),
            group.code.to_string().into(),
            group.reason.as_str().into(),
            hosts.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_a_line() {
        let group = FailureGroupView {
            code: 117,
            reason: "agent on … is not connected".into(),
            count: 1200,
            hosts: vec!["0:10.0.0.1".into(), "0:10.0.0.2".into()],
        };
        let text = table(&[group]).render(None, false);
        assert!(
            text.ends_with("1,200   117  agent on … is not connected  0:10.0.0.1, 0:10.0.0.2, …\n"),
            "{text}"
        );
    }
}
