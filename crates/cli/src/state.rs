//! States and ends of processes as tables, `status` and `watch` show them.

use std::borrow::Cow;

use api::{LastExitView, ProcessView};
use model::UnixMillis;

use crate::colors::Style;
use crate::format::{age, bytes, clean};

/// What follows the state of a process that runs with an older spec.
pub const RESTART_MARK: &str = " *";

/// `running`, `backoff (in 12s)`, `scheduled (in 3h)`, `unknown (was running)`.
pub fn state_text<'a>(row: &'a ProcessView, now: UnixMillis) -> Cow<'a, str> {
    with_details(&row.state, row.was.as_deref(), row.next_at, now)
}

pub fn with_details<'a>(
    state: &'a str,
    was: Option<&str>,
    next_at: Option<UnixMillis>,
    now: UnixMillis,
) -> Cow<'a, str> {
    match (was, next_at) {
        (Some(was), _) => format!("{} (was {})", clean(state), clean(was)).into(),
        (None, Some(next_at)) if next_at > now => {
            format!("{} (in {})", clean(state), age(now, next_at)).into()
        }
        (None, Some(_)) => format!("{} (now)", clean(state)).into(),
        (None, None) => state.into(),
    }
}

/// The pid, unless the agent is away. A server of an earlier version writes −1 for none.
pub fn live_pid(row: &ProcessView) -> Option<i32> {
    row.pid.filter(|pid| *pid > 0 && row.state != "unknown")
}

pub fn state_style(state: &str) -> Style {
    match state {
        "running" | "ready" | "completed" => Style::Good,
        "failed" | "unhealthy" => Style::Bad,
        "stopped" | "scheduled" => Style::Dim,
        _ => Style::Warn,
    }
}

/// `exit 1`, `SIGKILL (oom, 100 MiB of 100 MiB)`, or `code unknown` where the agent could not see it.
pub fn last_exit_text(last: LastExitView) -> String {
    let text = match (last.code, last.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => signal_name(signal),
        (None, None) if last.host_restarted => "host restarted".to_owned(),
        (None, None) => "code unknown".to_owned(),
    };
    match last.oom {
        true => match (last.memory_used, last.memory_limit) {
            (Some(used), Some(limit)) => {
                format!("{text} (oom, {} of {})", bytes(used), bytes(limit))
            }
            (Some(used), None) => format!("{text} (oom, {})", bytes(used)),
            (None, Some(limit)) => format!("{text} (oom, limit {})", bytes(limit)),
            (None, None) => format!("{text} (oom)"),
        },
        false => text,
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_says_since_what_and_until_when() {
        let now = UnixMillis::from_secs(1000);
        let text = |was: Option<&str>, next: Option<i64>| {
            let next = next.map(UnixMillis::from_secs);
            with_details("state", was, next, now).into_owned()
        };
        assert_eq!(text(None, None), "state");
        assert_eq!(text(Some("running"), None), "state (was running)");
        assert_eq!(text(None, Some(1012)), "state (in 12s)");
        assert_eq!(text(None, Some(1000 + 3 * 3600)), "state (in 3h0m)");
        assert_eq!(text(None, Some(999)), "state (now)");
    }

    #[test]
    fn an_end_is_shown_in_short() {
        let end = |code, signal, oom| {
            last_exit_text(LastExitView {
                code,
                signal,
                oom,
                ..LastExitView::default()
            })
        };
        assert_eq!(end(Some(1), None, false), "exit 1");
        assert_eq!(end(None, Some(9), true), "SIGKILL (oom)");
        let killed = LastExitView {
            signal: Some(9),
            oom: true,
            memory_used: Some(100 << 20),
            memory_limit: Some(100 << 20),
            ..LastExitView::default()
        };
        assert_eq!(
            last_exit_text(killed),
            "SIGKILL (oom, 100.0 MiB of 100.0 MiB)"
        );
        assert_eq!(end(None, Some(40), false), "signal 40");
        assert_eq!(end(None, None, false), "code unknown");
        let rebooted = LastExitView {
            host_restarted: true,
            ..LastExitView::default()
        };
        assert_eq!(last_exit_text(rebooted), "host restarted");
    }
}
