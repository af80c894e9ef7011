//! Moves agents to other replicas: all of them when this replica drains, and some, slowly, when it holds clearly more than its
//! share. An agent that is asked to move disconnects only after another replica has accepted it.

use std::sync::Arc;
use std::time::Duration;

use model::access::{Audit, Caller};
use model::change::Changes;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Sessions;
use crate::{ControlError, stopped};

const TICK: Duration = Duration::from_millis(100);
const TICKS_PER_SECOND: u32 = 10;
/// Draining asks all agents within so many ticks: the other replicas need time for the TLS handshakes.
const TICKS_TO_DRAIN: usize = 100;
/// The fewest agents that draining asks per tick.
const AT_LEAST: usize = 5;
/// How often an agent that has not left a draining replica is asked again.
const DRAIN_AGAIN: Duration = Duration::from_secs(10);
/// The most agents that balancing asks per second, as a number and as a fraction of all.
const MOVES_PER_SECOND: usize = 50;
const MOVED_FRACTION: usize = 50;
/// How long balancing leaves an agent alone that did not move, for example because it knows no other address.
const MOVE_AGAIN: Duration = Duration::from_secs(300);
/// How long an asked agent counts as leaving.
const LEAVING_FOR: Duration = Duration::from_secs(10);

const DRAINING: &str = "the server is draining";
const TOO_MANY: &str = "the server has more than its share of agents";

/// How many agents a replica with `mine` should move away when the others hold `others` each. It starts only with clearly too
/// many, and then goes down to the average, so that agents do not move back and forth.
fn n_to_move(mine: usize, others: &[usize]) -> usize {
    let n_replicas = others.len() + 1;
    let total = mine + others.iter().sum::<usize>();
    let is_clearly_more = mine * n_replicas * 10 > total * 12 + 100 * n_replicas;
    match is_clearly_more {
        true => excess(mine, others),
        false => 0,
    }
}

/// How many agents are above the average.
fn excess(mine: usize, others: &[usize]) -> usize {
    let total = mine + others.iter().sum::<usize>();
    mine.saturating_sub(total.div_ceil(others.len() + 1))
}

/// Drains and balances until the stop signal.
pub(crate) async fn run(sessions: Arc<Sessions>, mut stop: watch::Receiver<bool>) {
    if sessions.core.is_alone {
        return;
    }
    let mut ticks = 0_u32;
    let mut is_moving = false;
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = stopped(&mut stop) => return,
        }
        ticks = ticks.wrapping_add(1);
        match sessions.replicas.is_draining() {
            true => sessions.drain_some(),
            false if ticks.is_multiple_of(TICKS_PER_SECOND) => {
                is_moving = sessions.balance(is_moving);
            }
            false => {}
        }
    }
}

impl Sessions {
    /// Asks up to `n` agents to move to another replica; returns how many were asked.
    pub fn move_agents(&self, n: usize, reason: &str) -> usize {
        self.core.outboxes.ask_to_move(n, reason, MOVE_AGAIN)
    }

    /// Asks all agents to move to other replicas, and accepts no more. Refused if no other replica accepts agents.
    pub async fn start_draining(&self, caller: &Caller) -> Result<(), ControlError> {
        self.access.check_admin(caller)?;
        if !self.has_other_replica() {
            return Err(ControlError::Conflict(
                "there is no other replica that could take the agents".to_owned(),
            ));
        }
        self.note_draining(caller, "replica.drain").await?;
        self.replicas.set_draining(true);
        Ok(())
    }

    /// Accepts agents again.
    pub async fn stop_draining(&self, caller: &Caller) -> Result<(), ControlError> {
        self.access.check_admin(caller)?;
        self.note_draining(caller, "replica.undrain").await?;
        self.replicas.set_draining(false);
        Ok(())
    }

    async fn note_draining(
        &self,
        caller: &Caller,
        action: &'static str,
    ) -> Result<(), ControlError> {
        let replica = self.core.bus.replica().to_string();
        let audit = Audit::new(caller, self.core.now(), action, replica, String::new());
        let core = &self.core;
        core.commit(move |_| {
            let changes = Changes {
                audit: vec![audit.clone()],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }

    /// How many agents are connected here.
    pub fn n_agents(&self) -> usize {
        self.core.outboxes.len()
    }

    /// Whether another replica accepts agents.
    pub fn has_other_replica(&self) -> bool {
        !self.others().is_empty()
    }

    /// Resolves when every agent has arrived elsewhere or is late, or no other replica accepts agents.
    pub async fn wait_until_drained(&self) {
        let mut tick = interval(TICK);
        let is_here = || self.n_agents() > 0 || self.replicas.holds_any();
        while is_here() && self.has_other_replica() {
            tick.tick().await;
        }
    }

    /// The number of agents of each other replica that accepts agents.
    fn others(&self) -> Vec<usize> {
        let replicas = self.replicas.list().into_iter();
        replicas
            .filter(|replica| !replica.is_this && !replica.is_draining)
            .map(|replica| replica.n_agents)
            .collect()
    }

    fn drain_some(&self) {
        let n = (self.n_agents() / TICKS_TO_DRAIN).max(AT_LEAST);
        self.core.outboxes.ask_to_move(n, DRAINING, DRAIN_AGAIN);
    }

    /// Asks some agents to move if there are too many; returns whether to continue.
    fn balance(&self, is_moving: bool) -> bool {
        let others = self.others();
        if others.is_empty() {
            return false;
        }
        let now = Instant::now();
        let asked_since = now.checked_sub(LEAVING_FOR).unwrap_or(now);
        let leaving = self.core.outboxes.n_asked_since(asked_since);
        let mine = self.n_agents().saturating_sub(leaving);
        let n = match is_moving {
            true => excess(mine, &others),
            false => n_to_move(mine, &others),
        };
        if n > 0 {
            let at_most = (mine / MOVED_FRACTION).clamp(1, MOVES_PER_SECOND);
            let asked = self.move_agents(n.min(at_most), TOO_MANY);
            if asked > 0 {
                tracing::info!(asked, mine, ?others, "agents are asked to move");
            }
        }
        n > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returning_replica_gets_its_share() {
        assert_eq!(n_to_move(5000, &[5000, 0]), 1666);
        assert_eq!(n_to_move(0, &[5000, 5000]), 0);
    }

    #[test]
    fn small_differences_move_no_agent() {
        assert_eq!(n_to_move(100, &[100, 100]), 0);
        assert_eq!(n_to_move(110, &[100, 95]), 0);
        assert_eq!(n_to_move(12, &[0]), 0);
        assert_eq!(n_to_move(0, &[]), 0);
        assert_eq!(n_to_move(1000, &[]), 0);
    }

    #[test]
    fn agents_do_not_move_back_and_forth() {
        // After every replica has moved its share, no replica has to move agents again.
        for start in [
            [9000, 500, 500],
            [10_000, 0, 0],
            [4000, 4000, 2000],
            [50, 0, 0],
        ] {
            let mut counts = start;
            for round in 0.. {
                let given: Vec<usize> = (0..3)
                    .map(|n| {
                        let others: Vec<usize> = (0..3)
                            .filter(|other| *other != n)
                            .map(|other| counts[other])
                            .collect();
                        n_to_move(counts[n], &others)
                    })
                    .collect();
                if given.iter().all(|given| *given == 0) {
                    break;
                }
                assert!(round < 5, "{start:?} {counts:?}");
                for (n, given) in given.into_iter().enumerate() {
                    counts[n] -= given;
                    counts[(n + 1) % 3] += given / 2;
                    counts[(n + 2) % 3] += given - given / 2;
                }
            }
            assert_eq!(counts.iter().sum::<usize>(), start.iter().sum::<usize>());
        }
    }
}
