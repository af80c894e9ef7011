//! Length limits of texts from hosts, in printable characters.
//!
//! A compromised host chooses the texts of its statuses, results and events. `bound` cuts and escapes them
//! ([`crate::text`]). It runs where a frame or a message of another replica is decoded. A genuine agent never reaches the
//! limits.

use crate::config_file::{FileMetadata, WrittenFile};
use crate::event::Event;
use crate::held::{ForeignProcess, HeldProcess, HeldReport};
use crate::host_check::{HostCheck, HostCheckReport};
use crate::operation::{CommandRun, MAX_OUTPUT, OutcomeSubject, ProcessInspection};
use crate::spec::raw::{MAX_COMMAND_LEN, MAX_PATH_LEN};
use crate::text::{sanitize_line, sanitize_lines, sanitize_output_end};
use crate::{Outcome, Status};

/// A sentence for people: the reason of a state, an event or a refusal.
pub const MAX_MESSAGE: usize = 2048;
/// The version of a program, agent or server.
pub const MAX_VERSION: usize = 256;
/// The name of a host.
pub const MAX_HOSTNAME: usize = 255;
/// The kernel of a host.
pub const MAX_KERNEL: usize = 255;
/// A state letter, a checksum, the name of a program, user or group.
pub const MAX_SHORT_TEXT: usize = 256;
/// How many processes, and how many foreign processes, one agent may report.
pub const MAX_HELD: usize = 65_536;
/// How many operations it may report for one process.
pub const MAX_HELD_OPERATIONS: usize = 1024;

/// How many checks of a host one agent may report; each server has some.
pub const MAX_CHECKS: usize = 1024;

impl Status {
    #[must_use]
    pub fn bound(mut self) -> Self {
        sanitize_line(&mut self.version, MAX_VERSION);
        sanitize_lines(&mut self.message, MAX_MESSAGE);
        let probes = [&mut self.probes.ready, &mut self.probes.live];
        for result in [&mut self.health].into_iter().chain(probes).flatten() {
            sanitize_lines(&mut result.message, MAX_MESSAGE);
        }
        self
    }
}

impl Event {
    #[must_use]
    pub fn bound(mut self) -> Self {
        sanitize_lines(&mut self.reason, MAX_MESSAGE);
        self
    }
}

impl Outcome {
    #[must_use]
    pub fn bound(mut self) -> Self {
        sanitize_lines(&mut self.message, MAX_MESSAGE);
        if let Some(headline) = &mut self.headline {
            sanitize_line(headline, MAX_MESSAGE);
        }
        if let Some(warning) = &mut self.warning {
            sanitize_line(warning, MAX_MESSAGE);
        }
        if let Some(CommandRun {
            command, output, ..
        }) = &mut self.ran
        {
            sanitize_lines(command, MAX_COMMAND_LEN);
            sanitize_output_end(output, MAX_OUTPUT);
        }
        if let Some(instance) = &mut self.instance {
            let ProcessInspection {
                cmdline,
                version,
                health,
                stat,
                ..
            } = &mut **instance;
            sanitize_lines(cmdline, MAX_COMMAND_LEN);
            sanitize_line(version, MAX_VERSION);
            sanitize_lines(health, MAX_MESSAGE);
            sanitize_line(stat, MAX_SHORT_TEXT);
        }
        if let Some(subject) = &mut self.subject {
            let OutcomeSubject {
                proc_name,
                setup_path,
                ..
            } = &mut **subject;
            sanitize_line(proc_name, MAX_PATH_LEN);
            sanitize_line(setup_path, MAX_PATH_LEN);
        }
        self
    }
}

impl HeldReport {
    #[must_use]
    pub fn bound(mut self) -> Self {
        self.processes.truncate(MAX_HELD);
        self.foreign.truncate(MAX_HELD);
        for HeldProcess {
            phase, operations, ..
        } in &mut self.processes
        {
            sanitize_line(phase, MAX_MESSAGE);
            operations.truncate(MAX_HELD_OPERATIONS);
        }
        for ForeignProcess {
            pid_path,
            program,
            user,
            ..
        } in &mut self.foreign
        {
            sanitize_line(pid_path, MAX_PATH_LEN);
            sanitize_line(program, MAX_SHORT_TEXT);
            sanitize_line(user, MAX_SHORT_TEXT);
        }
        self
    }
}

impl HostCheckReport {
    #[must_use]
    pub fn bound(mut self) -> Self {
        self.checks.truncate(MAX_CHECKS);
        self.left_out.truncate(MAX_CHECKS);
        for HostCheck {
            name,
            message,
            hint,
            result: _,
        } in &mut self.checks
        {
            sanitize_line(name, MAX_SHORT_TEXT);
            sanitize_line(message, MAX_MESSAGE);
            sanitize_line(hint, MAX_MESSAGE);
        }
        for left_out in &mut self.left_out {
            sanitize_line(left_out, MAX_MESSAGE);
        }
        self
    }
}

impl WrittenFile {
    #[must_use]
    pub fn bound(mut self) -> Self {
        sanitize_line(&mut self.path, MAX_PATH_LEN);
        sanitize_line(&mut self.md5, MAX_SHORT_TEXT);
        for text in [&mut self.previous_md5, &mut self.backup_path] {
            text.iter_mut()
                .for_each(|text| sanitize_line(text, MAX_PATH_LEN));
        }
        self
    }
}

impl FileMetadata {
    #[must_use]
    pub fn bound(mut self) -> Self {
        for text in [&mut self.md5, &mut self.owner, &mut self.group] {
            sanitize_line(text, MAX_SHORT_TEXT);
        }
        self
    }
}
