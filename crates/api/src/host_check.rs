//! Whether a host is fit for an agent.

use model::host_check::{CheckResult, HostCheck, HostCheckReport};

use crate::HostText;

responses! {
    /// The report of a host's agent about its host.
    pub struct HostCheckAnswer {
        /// `cloud:ip`
        #[schema(value_type = String)]
        pub host: HostText,
        /// The worst result: `ok`, `degraded` or `no`.
        pub result: String,
        pub checks: Vec<HostCheckView>,
        /// What was not checked, and why.
        pub left_out: Vec<String>,
    }

    pub struct HostCheckView {
        /// What was checked: `kernel`, `data`, `connect 10.0.0.1:7101`.
        pub name: String,
        /// `ok`, `degraded`: the agent works, with less; or `no`: it cannot work like this.
        pub result: String,
        /// What was found.
        pub message: String,
        /// What it means or what to do about it; empty if all is well.
        pub hint: String,
    }
}

impl HostCheckAnswer {
    pub fn new(host: HostText, report: HostCheckReport) -> Self {
        Self {
            host,
            result: report.result().as_str().to_owned(),
            checks: report.checks.into_iter().map(Into::into).collect(),
            left_out: report.left_out,
        }
    }

    /// The report; a result of a newer server that is not known here counts as degraded.
    pub fn into_report(self) -> HostCheckReport {
        let checks = self.checks.into_iter().map(|check| HostCheck {
            name: check.name,
            result: match check.result.as_str() {
                "ok" => CheckResult::Ok,
                "no" => CheckResult::No,
                _ => CheckResult::Degraded,
            },
            message: check.message,
            hint: check.hint,
        });
        HostCheckReport {
            checks: checks.collect(),
            left_out: self.left_out,
        }
    }
}

impl From<HostCheck> for HostCheckView {
    fn from(check: HostCheck) -> Self {
        Self {
            name: check.name,
            result: check.result.as_str().to_owned(),
            message: check.message,
            hint: check.hint,
        }
    }
}
