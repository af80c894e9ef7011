//! How the outcome of an operation ends the task of a job.

use model::job::{JobAction, JobOptions, JobStatus, JobTaskRow, truncate_output};
use model::{Code, Outcome, UnixMillis};

use super::gate::NOT_STEADY;

/// The task did not start, because an earlier one failed.
pub(crate) const BLOCKED: Code = Code(4_103_003);
/// The process has no command for this action.
pub(crate) const NO_COMMAND: Code = Code(4_104_002);
/// The job was cancelled.
pub(crate) const CANCELLED: Code = Code(4_103_004);

/// The task after its operation has ended. `now` is the server's clock, from which pauses are counted.
pub(super) fn settled(
    task: &JobTaskRow,
    action: JobAction,
    options: &JobOptions,
    outcome: &Outcome,
    now: UnixMillis,
) -> JobTaskRow {
    let status = status_of(action, options, outcome.code);
    let ran = outcome.ran.as_ref();
    JobTaskRow {
        status,
        code: outcome.code,
        reason: match status {
            JobStatus::Succeeded => String::new(),
            JobStatus::Pending | JobStatus::Running | JobStatus::Failed | JobStatus::Ignored => {
                outcome.message.clone()
            }
        },
        output: ran.map_or_else(
            || task.output.clone(),
            |ran| {
                let mut output = format!("{}{}", task.output, ran.output);
                truncate_output(&mut output);
                output
            },
        ),
        command: ran.map_or_else(|| task.command.clone(), |ran| ran.command.clone()),
        ended_at: now,
        ..task.clone()
    }
}

fn status_of(action: JobAction, options: &JobOptions, code: Code) -> JobStatus {
    let is_down_already =
        code == Code::NOT_RUNNING && matches!(action, JobAction::Stop | JobAction::ForceStop);
    if code == Code::OK {
        JobStatus::Succeeded
    } else if is_down_already || options.ignore_error_codes.contains(&i64::from(code.0)) {
        JobStatus::Ignored
    } else {
        JobStatus::Failed
    }
}

/// What an operator can do about a failure, for display.
pub fn solutions(code: Code) -> &'static [&'static str] {
    match code {
        Code::NO_CONNECTION => &["start the agent of this host, then retry the task"],
        Code::TERMINATED => {
            &["the agent was lost before it answered: see whether it is back, then retry the task"]
        }
        Code::NOT_REGISTERED => &["refresh the topology of the business, then retry the task"],
        NO_COMMAND => &["give the process this command in its topology, then retry the task"],
        BLOCKED => &["mend the task that failed first, then retry"],
        NOT_STEADY => &[
            "muster why and muster logs --previous tell why it ended; mend it, then retry the task",
        ],
        Code::ALREADY_RUNNING => {
            &["ignore code 828 if a running process is fine (ignore_error_codes)"]
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_a_stopped_process_is_ignored() {
        let none = JobOptions::default();
        for action in [JobAction::Stop, JobAction::ForceStop] {
            assert_eq!(
                status_of(action, &none, Code::NOT_RUNNING),
                JobStatus::Ignored
            );
        }
        assert_eq!(
            status_of(JobAction::Start, &none, Code::ALREADY_RUNNING),
            JobStatus::Failed,
            "the caller chooses"
        );
        let chosen = JobOptions {
            ignore_error_codes: vec![828],
            ..JobOptions::default()
        };
        assert_eq!(
            status_of(JobAction::Start, &chosen, Code::ALREADY_RUNNING),
            JobStatus::Ignored
        );
        assert_eq!(
            status_of(JobAction::Reload, &none, Code::OK),
            JobStatus::Succeeded
        );
    }
}
