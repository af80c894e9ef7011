//! Whether a host has an agent that a join token must not replace.
//!
//! An agent may be disconnected for a moment: its network fails, it restarts, its server restarts. So a host stays in use for
//! [`IN_USE_MS`] after the last contact. With a `--replace` token, or by revoking the host, an operator states that the agent
//! is gone for good.

use fleet::{HostView, Link};
use model::{Host, UnixMillis};

/// How long a host stays in use after the last contact of its agent.
const IN_USE_MS: i64 = 10 * 60 * 1000;

/// The last contact with the agent of a host that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contact {
    Connected,
    Lately {
        ago_ms: i64,
        free_in_ms: i64,
    },
    /// Before this server started. While no server ran, no agent could connect.
    BeforeStart {
        free_in_ms: i64,
    },
}

/// None when a join token may take the host: no agent has connected since the enrolment, or not for a long time.
pub(super) fn contact(
    view: &HostView<'_>,
    started_at: UnixMillis,
    now: UnixMillis,
) -> Option<Contact> {
    if view.enrolled_at == UnixMillis::NEVER {
        return None;
    }
    let last = match view.link {
        Link::Up { .. } => return Some(Contact::Connected),
        Link::Down { since } => since.max(view.heard_at),
        Link::Never => return None,
    };
    // The agent of this enrolment never connected: the response to its enrolment was lost, and it retries.
    if last < view.enrolled_at {
        return None;
    }
    let free_in_ms = last.max(started_at).plus_millis(IN_USE_MS).0 - now.0;
    match last >= started_at {
        _ if free_in_ms <= 0 => None,
        true => Some(Contact::Lately {
            ago_ms: now.0 - last.0,
            free_in_ms,
        }),
        false => Some(Contact::BeforeStart { free_in_ms }),
    }
}

impl Contact {
    /// The message for the agent that tries to join, with what an operator can do.
    pub(super) fn refusal(self, host: Host) -> String {
        let is_in_use = match self {
            Self::Connected => format!("host {host} has an agent that is connected"),
            Self::Lately { ago_ms, .. } => {
                let secs = (ago_ms / 1000).max(0);
                format!("host {host} has an agent that was connected {secs} s ago")
            }
            Self::BeforeStart { .. } => format!(
                "host {host} has an agent that was connected before this server started, and may come back"
            ),
        };
        let or_wait = match self {
            Self::Connected => String::new(),
            Self::Lately { free_in_ms, .. } | Self::BeforeStart { free_in_ms } => format!(
                "; or wait {} min",
                free_in_ms.max(0).unsigned_abs().div_ceil(60_000)
            ),
        };
        format!(
            "{is_in_use}, and this join token does not replace it. If that agent is gone for good: \
             muster agent revoke {host}, or join with a token of muster token create --host {host} --replace{or_wait}"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use model::Labels;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    fn before(secs: i64) -> UnixMillis {
        NOW.plus_millis(-secs * 1000)
    }

    static NO_LABELS: LazyLock<Labels> = LazyLock::new(Labels::default);

    fn view(link: Link, heard: i64, enrolled: i64) -> HostView<'static> {
        HostView {
            supplier: 0,
            labels: &NO_LABELS,
            id: model::change::HostId(1),
            host: "10.0.0.1".parse().unwrap(),
            agent_id: None,
            enrolled_at: before(enrolled),
            link,
            heard_at: before(heard),
            info: None,
            n_processes: 0,
        }
    }

    fn down(secs: i64) -> Link {
        Link::Down {
            since: before(secs),
        }
    }

    #[test]
    fn a_host_is_in_use_for_ten_minutes_after_its_last_contact() {
        let long_ago = before(86_400);
        let contact = |view: HostView<'_>| contact(&view, long_ago, NOW);
        let up = Link::Up {
            since: before(7200),
        };
        assert_eq!(contact(view(up, 5000, 9000)), Some(Contact::Connected));
        let lately = Contact::Lately {
            ago_ms: 599_000,
            free_in_ms: 1000,
        };
        assert_eq!(contact(view(down(599), 700, 9000)), Some(lately));
        assert_eq!(contact(view(down(700), 599, 9000)), Some(lately));
        assert_eq!(contact(view(down(600), 700, 9000)), None);
    }

    #[test]
    fn the_time_before_the_server_started_does_not_count() {
        let contact = |started: i64| contact(&view(down(5000), 5000, 9000), before(started), NOW);
        let unsure = Contact::BeforeStart {
            free_in_ms: 540_000,
        };
        assert_eq!(contact(60), Some(unsure));
        assert_eq!(contact(600), None);
    }

    #[test]
    fn a_host_without_a_contact_since_its_enrolment_is_free() {
        assert_eq!(contact(&view(Link::Never, 9000, 5), before(60), NOW), None);
        assert_eq!(contact(&view(down(10), 10, 5), before(60), NOW), None);
        let mut revoked = view(down(10), 10, 50);
        revoked.enrolled_at = UnixMillis::NEVER;
        assert_eq!(contact(&revoked, before(60), NOW), None);
    }

    #[test]
    fn a_refusal_says_what_an_operator_can_do() {
        let host: Host = "10.0.0.1".parse().unwrap();
        let refusal = Contact::Lately {
            ago_ms: 65_000,
            free_in_ms: 535_000,
        }
        .refusal(host);
        for part in [
            "was connected 65 s ago",
            "muster agent revoke 0:10.0.0.1",
            "muster token create --host 0:10.0.0.1 --replace",
            "wait 9 min",
        ] {
            assert!(refusal.contains(part), "{refusal}");
        }
    }
}
