//! Whether a host is fit for an agent: the report of `muster-agent check`, which the server can ask for, too.

use serde::{Deserialize, Serialize};

/// How one check ended, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Ok,
    /// The agent works, with less.
    Degraded,
    /// The agent cannot work like this.
    No,
}

impl CheckResult {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::No => "no",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCheck {
    /// What was checked: `kernel`, `data`, `connect r1:7101`.
    pub name: String,
    pub result: CheckResult,
    /// What was found.
    pub message: String,
    /// What it means or what to do about it; empty if all is well.
    #[serde(default)]
    pub hint: String,
}

impl HostCheck {
    pub fn ok(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(name, CheckResult::Ok, message, "")
    }

    pub fn degraded(
        name: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(name, CheckResult::Degraded, message, hint)
    }

    pub fn no(
        name: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(name, CheckResult::No, message, hint)
    }

    fn new(
        name: impl Into<String>,
        result: CheckResult,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            result,
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// All checks of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCheckReport {
    pub checks: Vec<HostCheck>,
    /// What was not checked, and why, each as a sentence.
    #[serde(default)]
    pub left_out: Vec<String>,
}

impl HostCheckReport {
    /// The worst result.
    pub fn result(&self) -> CheckResult {
        let results = self.checks.iter().map(|check| check.result);
        results.max().unwrap_or(CheckResult::Ok)
    }

    /// One aligned line for each check, hints below.
    pub fn to_text(&self) -> String {
        let names = self.checks.iter().map(|check| check.name.chars().count());
        let width = names.max().unwrap_or(0);
        let mut text = String::new();
        for check in &self.checks {
            let (result, name) = (check.result.as_str(), &check.name);
            text.push_str(&format!("{result:<8}  {name:<width$}  {}\n", check.message));
            if !check.hint.is_empty() {
                text.push_str(&format!("{:<8}  {:<width$}    {}\n", "", "", check.hint));
            }
        }
        for left_out in &self.left_out {
            text.push_str(&format!("not checked: {left_out}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_aligned_and_hints_are_indented() {
        let report = HostCheckReport {
            checks: vec![
                HostCheck::ok("kernel", "Linux 6.1"),
                HostCheck::no("connect r1:7101", "refused", "start the server"),
            ],
            left_out: vec!["clock: no server answered".into()],
        };
        let expected = "\
ok        kernel           Linux 6.1
no        connect r1:7101  refused
                             start the server
not checked: clock: no server answered
";
        assert_eq!(report.to_text(), expected);
        assert_eq!(report.result(), CheckResult::No);
        assert_eq!(HostCheckReport::default().result(), CheckResult::Ok);
    }
}
