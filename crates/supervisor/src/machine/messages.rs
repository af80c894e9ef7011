//! Messages of statuses and operations.

use model::operation::Op;
use model::status::{Exit, OomMemory};
use model::{Code, Flag};

use super::{Context, Failure, OperationEnd, Role, Ticket, Work};

/// The longest part of a command's output that goes into a status message.
const MAX_QUOTE: usize = 200;

/// `3 s`, and below one second `0.2 s`.
pub(super) fn seconds(ms: u64) -> String {
    match ms {
        0..1000 => format!("0.{} s", ms / 100),
        _ => format!("{} s", ms / 1000),
    }
}

/// `exited with code 1 after 3 s`, with the line of its output that names the error.
pub(super) fn exited(
    exit: Exit,
    oom: Option<OomMemory>,
    lasted_ms: u64,
    last_line: &str,
) -> String {
    let lasted = seconds(lasted_ms);
    let text = match oom {
        Some(memory) => format!("{} after {lasted}", out_of_memory(memory)),
        None => format!("{exit} after {lasted}"),
    };
    match quote(last_line).as_str() {
        "" => text,
        line => format!("{text}; last output: {line}"),
    }
}

/// `killed by the kernel's memory killer (out of memory: 99.8 MiB used, limit 100.0 MiB)`.
fn out_of_memory(memory: OomMemory) -> String {
    let used = match memory.used {
        0 => String::new(),
        used => format!(": {} used", mebibytes(used)),
    };
    let limit = match memory.limit {
        0 => String::new(),
        limit if used.is_empty() => format!(": limit {}", mebibytes(limit)),
        limit => format!(", limit {}", mebibytes(limit)),
    };
    format!("killed by the kernel's memory killer (out of memory{used}{limit})")
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// `stop_cmd exited with code 1: the last line of its output`.
pub(super) fn command_exited(role: Role, exit: Exit, last_line: &str) -> String {
    let text = format!("{} {exit}", role.field());
    match quote(last_line).as_str() {
        "" => text,
        line => format!("{text}: {line}"),
    }
}

/// Cuts a text to what fits into a status.
pub(super) fn quote(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_QUOTE) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// The status while an attempt is under way: first the attempt, then its reason.
pub(super) fn under_way(attempt: &str, before: &str) -> String {
    format!("{attempt} is under way; before: {before}")
}

pub(super) fn check_failed(message: String) -> Failure {
    Failure {
        code: Code::CHECK_FAILED,
        message,
        prefers_output: false,
    }
}

/// A failure before or around the command; clients read it as the command's failure.
pub(super) fn command_failed(message: impl Into<String>) -> Failure {
    Failure {
        code: Code::COMMAND_FAILED,
        message: message.into(),
        prefers_output: false,
    }
}

/// The command itself failed: its output is the message, and this text only if it printed nothing.
pub(super) fn command_refused(role: Role, exit: Exit) -> Failure {
    Failure {
        code: Code::COMMAND_FAILED,
        message: format!("{} {exit} and printed nothing", role.field()),
        prefers_output: true,
    }
}

pub(super) fn timed_out(role: Role, cx: &Context<'_>) -> Failure {
    command_failed(format!(
        "{} was not done after {} (op_timeout) and was killed with everything under it",
        role.field(),
        seconds(cx.timeout_ms()),
    ))
}

pub(super) fn not_up(cx: &Context<'_>, because: &str) -> Failure {
    check_failed(format!(
        "start process ({}) failed, for post-check status not alive, {because}",
        cx.name
    ))
}

pub(super) fn not_down(cx: &Context<'_>, because: &str) -> Failure {
    check_failed(format!(
        "stop process ({}) failed, for post-check status still alive, {because}",
        cx.name
    ))
}

pub(super) fn not_reloaded(cx: &Context<'_>, because: &str) -> Failure {
    check_failed(format!(
        "reload process ({}) failed, for post-check status not alive, {because}",
        cx.name
    ))
}

pub(super) fn ending(ticket: Ticket, code: Code, message: impl Into<String>) -> OperationEnd {
    OperationEnd {
        id: ticket.id,
        code,
        message: message.into(),
        flag: None,
        managed: None,
        ran: None,
        prefers_output: false,
        warning: String::new(),
        instance: None,
    }
}

pub(super) fn success(ticket: Ticket) -> OperationEnd {
    ending(ticket, Code::OK, "success")
}

/// The desired state after an operation failed. A failed start is still desired. A failed stop changes nothing: if the
/// process dies later, it is restarted.
pub(super) fn desired_after_failure(op: Op) -> (Option<Flag>, Option<bool>) {
    match op {
        Op::Start | Op::Restart => (Some(Flag::Running), None),
        Op::Stop | Op::Kill | Op::Query | Op::Manage | Op::Unmanage | Op::Reload => (None, None),
    }
}

pub(super) fn failed(ticket: Ticket, failure: Failure, work: &Work) -> OperationEnd {
    let (flag, managed) = desired_after_failure(ticket.op);
    OperationEnd {
        flag,
        managed,
        ran: work.ran.clone(),
        prefers_output: failure.prefers_output,
        ..ending(ticket, failure.code, failure.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_for_memory_has_the_figures_that_are_known() {
        let said =
            |used, limit| exited(Exit::Signal(9), Some(OomMemory { used, limit }), 40_000, "");
        let killed = "killed by the kernel's memory killer (out of memory";
        assert_eq!(said(0, 0), format!("{killed}) after 40 s"));
        assert_eq!(
            said(104_647_885, 100 << 20),
            format!("{killed}: 99.8 MiB used, limit 100.0 MiB) after 40 s")
        );
        assert_eq!(
            said(0, 100 << 20),
            format!("{killed}: limit 100.0 MiB) after 40 s")
        );
        assert_eq!(
            said(1 << 20, 0),
            format!("{killed}: 1.0 MiB used) after 40 s")
        );
    }
}
