//! Why a target of a task or a job did not succeed, as a code with parameters; and why it cannot be repeated.

use model::access::{AccessArea, Caller, Permission};
use model::job::{JobArea, JobStatus, JobTaskRow};
use model::operation::CommandRun;
use model::status::Exit;
use model::{Code, Reason};

use super::{BlockReason, TargetView};
use crate::{jobs, templates};

/// Of a target of a task; None where it succeeded or goes on.
pub fn target_reason(target: &TargetView) -> Option<Reason> {
    let outcome = target.outcome.as_deref()?;
    let reason = reason_of(outcome.code)?;
    Some(match &outcome.ran {
        Some(ran) => with_exit(reason, ran),
        None => reason,
    })
}

/// Of a task of a job; None where it succeeded or did not end.
pub fn job_task_reason(task: &JobTaskRow) -> Option<Reason> {
    match task.status {
        JobStatus::Failed | JobStatus::Ignored => reason_of(task.code),
        JobStatus::Pending | JobStatus::Running | JobStatus::Succeeded => None,
    }
}

/// Why this caller cannot repeat a target of a task; None if it can.
pub fn target_retry_blocked(caller: &Caller, target: &TargetView) -> Option<BlockReason> {
    if !caller.may(Permission::Operate, &target.process.namespace) {
        return Some(BlockReason::Role);
    }
    match target.outcome.as_deref() {
        None => Some(BlockReason::NotEnded),
        Some(outcome) if outcome.code == Code::OK => Some(BlockReason::NotFailed),
        Some(_) => None,
    }
}

/// Why this caller cannot repeat a task of a job; None if it can.
pub fn job_task_retry_blocked(
    caller: &Caller,
    area: &JobArea,
    task: &JobTaskRow,
) -> Option<BlockReason> {
    let may = match area {
        JobArea::Business(business) => caller.may(Permission::Operate, *business),
        JobArea::Namespaces(namespaces) => {
            let mut namespaces = namespaces.iter();
            namespaces.all(|namespace| caller.may(Permission::Operate, namespace))
        }
        JobArea::Agents(_) => caller.may(Permission::Manage, AccessArea::Everything),
    };
    match task.status {
        _ if !may => Some(BlockReason::Role),
        JobStatus::Failed => None,
        JobStatus::Pending | JobStatus::Running => Some(BlockReason::NotEnded),
        JobStatus::Succeeded | JobStatus::Ignored => Some(BlockReason::NotFailed),
    }
}

fn reason_of(code: Code) -> Option<Reason> {
    let word = match code {
        Code::OK | Code::HANDLING => return None,
        Code::NO_CONNECTION => "agent_away",
        Code::TERMINATED => "timed_out",
        Code::ALREADY_RUNNING => "already_running",
        Code::NOT_RUNNING => "not_running",
        Code::UNKNOWN_OP => "unknown_operation",
        Code::CHECK_FAILED => "check_failed",
        Code::EXISTS => "exists",
        Code::NOT_REGISTERED => "not_registered",
        Code::COMMAND_FAILED => "command_failed",
        Code::INVALID => "invalid_target",
        jobs::BLOCKED => "earlier_failed",
        jobs::CANCELLED => "cancelled",
        jobs::NOT_STEADY => "not_steady",
        jobs::NO_COMMAND => "no_command",
        templates::BAD_TEMPLATE => "bad_template",
        templates::FORBIDDEN => "template_forbidden",
        templates::NO_ACTIVE_VERSION => "no_active_version",
        _ => "failed",
    };
    Some(Reason::new(word))
}

fn with_exit(reason: Reason, ran: &CommandRun) -> Reason {
    match ran.exit {
        Some(Exit::Code(code)) if code != 0 => reason.with("exit_code", code),
        Some(Exit::Signal(signal)) => reason.with("exit_signal", signal),
        Some(_) | None => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_but_success_has_a_reason() {
        for (code, meaning) in Code::MEANINGS {
            let reason = reason_of(code);
            let is_over = code != Code::OK && code != Code::HANDLING;
            assert_eq!(reason.is_some(), is_over, "{meaning}");
            assert_ne!(
                reason.map(|reason| reason.code),
                Some("failed".into()),
                "{meaning}"
            );
        }
    }

    #[test]
    fn the_exit_of_a_command_is_a_parameter() {
        let ran = CommandRun {
            command: "./stop".into(),
            exit: Some(Exit::Signal(9)),
            duration_ms: 1,
            output: String::new(),
        };
        let reason = with_exit(Reason::new("command_failed"), &ran);
        assert_eq!(reason.params["exit_signal"], "9");
    }
}
