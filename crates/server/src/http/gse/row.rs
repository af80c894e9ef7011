//! A status row of the family, serialised straight from the fleet.

use std::borrow::Cow;

use fleet::Row;
use model::{FullName, Labels};
use serde::Serialize;

use super::hosts::HostEcho;

#[derive(Debug, Serialize)]
pub(crate) struct StatusRow<'a> {
    meta: Meta<'a>,
    host: HostEcho<'a>,
    bk_agent_id: Cow<'a, str>,
    flag: u8,
    status: u8,
    isauto: bool,
    message: Cow<'a, str>,
    pid: i32,
    version: Cow<'a, str>,
    register_time: i64,
    last_start_time: i64,
    report_time: i64,
    cpu_usage: f64,
    mem_usage: f64,
    fd: u32,
    disk: u64,
    net: u64,
}

#[derive(Debug, Serialize)]
struct Meta<'a> {
    namespace: &'a str,
    name: &'a str,
    labels: Cow<'a, Labels>,
}

impl<'a> StatusRow<'a> {
    pub(crate) fn of(row: &Row<'a>, host: HostEcho<'a>, bk_agent_id: Cow<'a, str>) -> Self {
        Self {
            meta: Meta {
                namespace: row.name().namespace.as_str(),
                name: row.name().name.as_str(),
                labels: row.labels(),
            },
            host,
            bk_agent_id,
            flag: row.flag().into(),
            status: row.state().number(),
            isauto: row.managed(),
            message: row.message(),
            pid: row.pid(),
            version: row.version(),
            register_time: row.registered_at().secs(),
            last_start_time: row.started_at().secs(),
            report_time: row.reported_at().secs(),
            cpu_usage: percent(row.cpu()),
            mem_usage: percent(row.mem()),
            fd: row.fd(),
            disk: row.disk(),
            net: row.net(),
        }
    }

    /// Cuts the agent's texts to `max` characters.
    pub(crate) fn shortened(mut self, max: usize) -> Self {
        if self.message.len() > max {
            let mut message = self.message.into_owned();
            model::text::sanitize_lines(&mut message, max);
            self.message = message.into();
        }
        let kept = self.version.floor_char_boundary(max);
        if kept < self.version.len() {
            self.version.to_mut().truncate(kept);
        }
        self
    }

    /// The row of a process that is not registered; the message says why.
    pub(crate) fn absent(
        name: &'a FullName,
        host: HostEcho<'a>,
        bk_agent_id: Cow<'a, str>,
        message: Cow<'a, str>,
    ) -> Self {
        Self {
            meta: Meta {
                namespace: name.namespace.as_str(),
                name: name.name.as_str(),
                labels: Cow::Owned(Labels::default()),
            },
            host,
            bk_agent_id,
            flag: 0,
            status: 0,
            isauto: false,
            message,
            pid: -1,
            version: Cow::Borrowed(""),
            register_time: 0,
            last_start_time: 0,
            report_time: 0,
            cpu_usage: 0.0,
            mem_usage: 0.0,
            fd: 0,
            disk: 0,
            net: 0,
        }
    }
}

/// Rounds to two decimals, the accuracy of a sample; NaN and infinity become 0.
pub(crate) fn percent(value: f32) -> f64 {
    match value.is_finite() {
        true => (f64::from(value) * 100.0).round() / 100.0,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_two_decimals() {
        assert_eq!(serde_json::to_string(&percent(0.1)).unwrap(), "0.1");
        assert_eq!(serde_json::to_string(&percent(0.0)).unwrap(), "0.0");
        assert_eq!(
            serde_json::to_string(&percent(33.333_332)).unwrap(),
            "33.33"
        );
        assert_eq!(percent(f32::NAN), 0.0);
    }
}
