//! Answers the agent's question what is held. Never used by the machines.

use std::path::Path;

use model::held::{ForeignProcess, HeldProcess, HeldReport, HeldRun};

use super::{Runner, SupervisedProcess};
use crate::machine::{Cause, Phase, Process};
use crate::os::pidfile::{self, PidFileContent};
use crate::os::procfs::Stat;
use crate::os::{clock, observe, user};

impl Runner {
    pub(super) fn held_report(&self) -> HeldReport {
        let boot_ms = clock::boot_ms();
        let mut processes: Vec<HeldProcess> =
            self.held.values().map(|held| of(held, boot_ms)).collect();
        processes.sort_by(|a, b| a.process.cmp(&b.process));
        let mut foreign: Vec<ForeignProcess> = self
            .held
            .values()
            .filter_map(|held| foreign(held))
            .collect();
        foreign.sort_by(|a, b| a.process.cmp(&b.process));
        HeldReport { processes, foreign }
    }
}

fn of(held: &SupervisedProcess, boot_ms: u64) -> HeldProcess {
    let process = &held.process;
    HeldProcess {
        process: held.registration.name.clone(),
        incarnation: held.registration.incarnation,
        definition_hash: held.registration.definition_hash,
        flag: process.flag,
        managed: process.managed,
        phase: phase(process, boot_ms),
        run: process.alive().map(|alive| HeldRun {
            pid: alive.pid(),
            started_at: alive.started_at,
        }),
        operations: process.operations().map(|ticket| ticket.id).collect(),
    }
}

fn phase(process: &Process, boot_ms: u64) -> String {
    let words = match &process.phase {
        Phase::Unobserved => "not checked yet".to_owned(),
        Phase::Down => "down".to_owned(),
        Phase::Up { .. } => "up".to_owned(),
        Phase::Lost { exit, .. } => format!("exited: {exit}"),
        Phase::Backoff { until_boot_ms, .. } => {
            let secs = until_boot_ms.saturating_sub(boot_ms).div_ceil(1000);
            format!("down, next attempt in {secs} s")
        }
        Phase::Working(work) => match work.cause {
            Cause::Operation(ticket) => format!("{} in progress", ticket.op),
            Cause::Attempt(number) => format!("start attempt {number} in progress"),
            Cause::Schedule => "scheduled run starting".to_owned(),
            Cause::Unhealthy { .. } => "unhealthy, being stopped".to_owned(),
            Cause::Renewal => "being restarted after a dependency".to_owned(),
        },
    };
    match process.forgetting {
        true => format!("{words}, being unregistered"),
        false => words,
    }
}

/// A live process that its pid file names, and that is neither its run nor a descendant of it.
fn foreign(held: &SupervisedProcess) -> Option<ForeignProcess> {
    let identity = &held.registration.spec.identity;
    if identity.pid_path.is_empty() {
        return None;
    }
    let Ok(PidFileContent::Pid(pid)) = pidfile::read(Path::new(&identity.pid_path), &identity.user)
    else {
        return None;
    };
    let stat = Stat::read(pid).filter(Stat::is_live)?;
    let is_ours = |run| stat.run() == run || observe::came_from(pid, run).unwrap_or(true);
    if held.process.watched().into_iter().any(is_ours) {
        return None;
    }
    Some(ForeignProcess {
        process: held.registration.name.clone(),
        pid_path: identity.pid_path.clone(),
        pid,
        program: String::from_utf8_lossy(stat.comm.as_bytes()).into_owned(),
        user: user::owner_of(pid).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use model::Flag;

    use super::*;

    #[test]
    fn the_phase_is_described() {
        let mut process = Process::new(Flag::Running, true);
        assert_eq!(phase(&process, 0), "not checked yet");
        process.phase = Phase::Backoff {
            until_boot_ms: 2500,
            until: model::UnixMillis::NEVER,
            reason: String::new(),
        };
        assert_eq!(phase(&process, 1000), "down, next attempt in 2 s");
        process.phase = Phase::Down;
        process.forgetting = true;
        assert_eq!(phase(&process, 0), "down, being unregistered");
    }
}
