//! Why an operation may not or cannot be taken, for lists that offer it and for dry runs.
//!
//! The reasons are hints for people: requests are checked again when they are made.

use crate::access::may_with;
use fleet::Row;
use fleet::view::{Instance, ViewRow};
use model::access::{Caller, Permission};
use model::job::JobAction;
use model::spec::Commands;
use model::{Op, ProcessState, State};

/// The first reason that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockReason {
    /// The caller lacks the role.
    Role,
    /// It is in the view, but not registered.
    NotRegistered,
    AgentAway,
    /// There is no command to start it with.
    NoCommand,
    /// It has no run that could be reloaded.
    NotRunning,
    AlreadyRunning,
    AlreadyStopped,
    AlreadyManaged,
    AlreadyUnmanaged,
    /// No config template is bound to it.
    NoTemplate,
    /// A result can be repeated once it has ended.
    NotEnded,
    /// Only failures are repeated.
    NotFailed,
}

impl BlockReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::NotRegistered => "not_registered",
            Self::AgentAway => "agent_away",
            Self::NoCommand => "no_command",
            Self::NotRunning => "not_running",
            Self::AlreadyRunning => "already_running",
            Self::AlreadyStopped => "already_stopped",
            Self::AlreadyManaged => "already_managed",
            Self::AlreadyUnmanaged => "already_unmanaged",
            Self::NoTemplate => "no_template",
            Self::NotEnded => "not_ended",
            Self::NotFailed => "not_failed",
        }
    }
}

/// Why this caller may not or cannot take an operation on a process; None if it can.
pub fn blocked(caller: &Caller, row: &Row<'_>, op: Op) -> Option<BlockReason> {
    if !may_with(caller, Permission::Operate, row) {
        return Some(BlockReason::Role);
    }
    if !row.host().link.is_up() {
        return Some(BlockReason::AgentAway);
    }
    if !has_command(&row.definition().spec.control, op) {
        return Some(BlockReason::NoCommand);
    }
    already(row, op)
}

/// What is so already, or cannot be because of the state.
fn already(row: &Row<'_>, op: Op) -> Option<BlockReason> {
    let runs = row.state() == State::Running;
    // In backoff or between two runs of a schedule, stopping ends the attempts.
    let rests = matches!(
        row.process_state(),
        ProcessState::Stopped | ProcessState::Completed | ProcessState::Failed
    );
    match op {
        Op::Start if runs => Some(BlockReason::AlreadyRunning),
        Op::Stop | Op::Kill if !runs && rests => Some(BlockReason::AlreadyStopped),
        Op::Reload if !runs && rests => Some(BlockReason::NotRunning),
        Op::Manage if row.managed() => Some(BlockReason::AlreadyManaged),
        Op::Unmanage if !row.managed() => Some(BlockReason::AlreadyUnmanaged),
        Op::Start
        | Op::Stop
        | Op::Kill
        | Op::Reload
        | Op::Manage
        | Op::Unmanage
        | Op::Restart
        | Op::Query => None,
    }
}

/// Whether the agent can execute the operation. It sends signals where commands to stop, kill or reload are missing.
fn has_command(commands: &Commands, op: Op) -> bool {
    let is_given = |command: &str| !command.trim().is_empty();
    match op {
        Op::Start | Op::Manage => is_given(&commands.start_cmd),
        Op::Restart => is_given(&commands.restart_cmd) || is_given(&commands.start_cmd),
        Op::Stop | Op::Kill | Op::Reload | Op::Query | Op::Unmanage => true,
    }
}

/// What the agent executes for an operation; None if nothing.
pub(crate) fn command_of(commands: &Commands, op: Op) -> Option<String> {
    let or = |command: &str, signal: &str| match command.trim() {
        "" => signal.to_owned(),
        command => command.to_owned(),
    };
    let stop = || or(&commands.stop_cmd, "SIGTERM");
    match op {
        Op::Start | Op::Manage => Some(commands.start_cmd.trim().to_owned()),
        Op::Stop => Some(stop()),
        Op::Kill => Some(or(&commands.kill_cmd, "SIGKILL")),
        Op::Reload => Some(or(&commands.reload_cmd, "SIGHUP")),
        Op::Restart => Some(match commands.restart_cmd.trim() {
            "" => format!("{}; {}", stop(), commands.start_cmd.trim()),
            command => command.to_owned(),
        }),
        Op::Query | Op::Unmanage => None,
    }
    .filter(|command| !command.is_empty())
}

/// Why this caller may not or cannot take an action of a job on a process of the view; None if it can. What is so already is
/// so for all instances.
pub fn blocked_in_view(
    caller: &Caller,
    row: &ViewRow<'_>,
    instances: &[Instance<'_>],
    action: JobAction,
) -> Option<BlockReason> {
    if !caller.may(Permission::Operate, row.business.id) {
        return Some(BlockReason::Role);
    }
    let Some(op) = action.op() else {
        return files_blocked(row, action);
    };
    if !row.is_connected() {
        return Some(BlockReason::AgentAway);
    }
    let program = row.program;
    let needs_start = match action {
        JobAction::Start => true,
        JobAction::Restart => program.restart_cmd.trim().is_empty(),
        JobAction::SetAuto
        | JobAction::Stop
        | JobAction::Reload
        | JobAction::ForceStop
        | JobAction::UnsetAuto
        | JobAction::Generate
        | JobAction::Release
        | JobAction::Diff
        | JobAction::UpgradeAgent
        | JobAction::Update => false,
    };
    if needs_start && program.start_cmd.trim().is_empty() {
        return Some(BlockReason::NoCommand);
    }
    let mut reasons = instances.iter().map(|one| already(&one.row, op));
    let first = reasons.next()??;
    reasons.all(|other| other == Some(first)).then_some(first)
}

/// Files are generated without the agent, and written and compared by it.
fn files_blocked(row: &ViewRow<'_>, action: JobAction) -> Option<BlockReason> {
    if row.config_templates().is_empty() {
        return Some(BlockReason::NoTemplate);
    }
    let needs_agent = action != JobAction::Generate;
    (needs_agent && !row.is_connected()).then_some(BlockReason::AgentAway)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_stand_for_missing_commands() {
        let none = Commands::default();
        assert_eq!(command_of(&none, Op::Stop).unwrap(), "SIGTERM");
        assert_eq!(command_of(&none, Op::Kill).unwrap(), "SIGKILL");
        assert_eq!(command_of(&none, Op::Reload).unwrap(), "SIGHUP");
        assert_eq!(command_of(&none, Op::Start), None);
        assert_eq!(command_of(&none, Op::Query), None);
        let some = Commands {
            start_cmd: "./up".into(),
            ..Commands::default()
        };
        assert_eq!(command_of(&some, Op::Restart).unwrap(), "SIGTERM; ./up");
        assert!(has_command(&some, Op::Restart) && !has_command(&none, Op::Restart));
        assert!(has_command(&none, Op::Reload), "by SIGHUP");
    }
}
