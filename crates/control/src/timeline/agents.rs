//! Records when agents come and go.
//!
//! An absence shorter than [`SHORT_MS`] is not recorded: an agent that is upgraded, or that moves to another replica, was not
//! away. Nor is the absence of a server: agents that come back to a restarted server were there all the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet::Link;
use locks::{Mutex, MutexGuard};
use model::UnixMillis;
use model::change::HostId;
use model::timeline::{TimelineBody, TimelineKind, TimelineRow};
use tokio::sync::watch;

use crate::core::Core;
use crate::stopped;

/// Absences up to this are not recorded.
const SHORT_MS: i64 = 10_000;
/// How long after its start a server takes agents that connect for agents that were connected all the time.
const RECONNECT_MS: i64 = 60_000;
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// How many rows wait while the store is away; later ones are dropped.
const MAX_WAITING: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct AgentLog(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    /// Agents that went a moment ago.
    gone: BTreeMap<HostId, UnixMillis>,
    rows: Vec<TimelineRow>,
}

impl AgentLog {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.lock()
    }

    /// An agent that this replica held has gone.
    pub(crate) fn went(&self, host: HostId, at: UnixMillis) {
        self.pending().gone.insert(host, at);
    }

    /// An agent has connected here. `before` is its link until now.
    pub(crate) fn came(&self, host: HostId, before: Link, at: UnixMillis, started_at: UnixMillis) {
        let mut pending = self.pending();
        if pending.gone.remove(&host).is_some() {
            return;
        }
        let since = match before {
            Link::Up { .. } => return,
            Link::Never => None,
            Link::Down { since } => Some(since),
        };
        let knew_it_gone = since.is_none_or(|since| since >= started_at);
        if !knew_it_gone && at.0 - started_at.0 < RECONNECT_MS {
            return;
        }
        let away = since.map(|since| (at.0 - since.0).max(0) / 1000);
        let params = away.map(|secs| ("away_secs".to_owned(), secs.to_string()));
        pending.add(host, at, "agent_connected", params.into_iter().collect());
    }

    /// What has to be written now.
    fn take(&self, now: UnixMillis) -> Vec<TimelineRow> {
        let mut pending = self.pending();
        let is_over = |at: &UnixMillis| now.0 - at.0 >= SHORT_MS;
        let away: Vec<(HostId, UnixMillis)> = (pending.gone.iter())
            .filter(|(_, at)| is_over(at))
            .map(|(host, at)| (*host, *at))
            .collect();
        for (host, at) in away {
            pending.gone.remove(&host);
            pending.add(host, at, "agent_away", BTreeMap::new());
        }
        std::mem::take(&mut pending.rows)
    }

    /// The store did not take them.
    fn put_back(&self, mut rows: Vec<TimelineRow>) {
        let mut pending = self.pending();
        rows.append(&mut pending.rows);
        rows.truncate(MAX_WAITING);
        pending.rows = rows;
    }
}

impl Pending {
    fn add(&mut self, host: HostId, at: UnixMillis, code: &str, params: BTreeMap<String, String>) {
        if self.rows.len() >= MAX_WAITING {
            return;
        }
        self.rows.push(TimelineRow {
            at,
            kind: TimelineKind::Agent,
            process: None,
            hosts: vec![host],
            body: TimelineBody {
                code: code.to_owned(),
                params,
                ..TimelineBody::default()
            },
        });
    }
}

/// Each replica records the agents that it holds.
pub(crate) async fn run(core: Arc<Core>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(WRITE_EVERY) => {}
            () = stopped(&mut stop) => return,
        }
        let rows = core.agent_log.take(core.now());
        if rows.is_empty() {
            continue;
        }
        if let Err(error) = core.store.add_timeline(&rows).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "agents that came or went were not recorded; trying again"
            );
            core.agent_log.put_back(rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostId = HostId(3);
    const STARTED: UnixMillis = UnixMillis(1_000_000);

    fn after(secs: i64) -> UnixMillis {
        STARTED.plus_millis(secs * 1000)
    }

    fn codes(log: &AgentLog, now: UnixMillis) -> Vec<(String, UnixMillis)> {
        let rows = log.take(now).into_iter();
        rows.map(|row| (row.body.code, row.at)).collect()
    }

    #[test]
    fn a_short_absence_is_not_recorded() {
        let log = AgentLog::default();
        log.went(HOST, after(100));
        assert_eq!(codes(&log, after(105)), []);
        log.came(HOST, Link::Down { since: after(100) }, after(106), STARTED);
        assert_eq!(codes(&log, after(200)), []);
    }

    #[test]
    fn an_absence_is_recorded_with_its_begin_and_its_end() {
        let log = AgentLog::default();
        log.went(HOST, after(100));
        assert_eq!(
            codes(&log, after(110)),
            [("agent_away".to_owned(), after(100))]
        );
        log.came(HOST, Link::Down { since: after(100) }, after(160), STARTED);
        let row = log.take(after(160)).pop().unwrap();
        assert_eq!(row.body.code, "agent_connected");
        assert_eq!(row.body.params["away_secs"], "60");
    }

    #[test]
    fn agents_that_come_back_to_a_restarted_server_were_not_away() {
        let log = AgentLog::default();
        let before = Link::Down { since: after(-5) };
        log.came(HOST, before, after(20), STARTED);
        assert_eq!(codes(&log, after(20)), []);
        log.came(HOST, before, after(90), STARTED);
        assert_eq!(codes(&log, after(90)).len(), 1, "this one came late");
        log.came(HostId(4), Link::Never, after(1), STARTED);
        assert_eq!(codes(&log, after(90)).len(), 1, "this one is new");
    }

    #[test]
    fn what_the_store_did_not_take_is_kept_up_to_a_limit() {
        let log = AgentLog::default();
        log.came(HOST, Link::Never, after(1), STARTED);
        let rows = log.take(after(2));
        log.put_back(vec![rows[0].clone(); MAX_WAITING + 5]);
        assert_eq!(log.take(after(3)).len(), MAX_WAITING);
    }
}
