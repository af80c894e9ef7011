//! Agents that should be at another replica: one that drains lets all of its agents go, and one that holds clearly more
//! than its share lets some go, slowly. They are asked to, and leave only once another replica has welcomed them.

use std::time::Duration;

use model::access::{Audit, Caller};
use model::change::Changes;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::{Control, ControlError, stopped};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOKS_PER_SECOND: u32 = 10;
/// In how many looks a replica that drains has asked all of its agents: the others have to shake hands with each.
const LOOKS_TO_DRAIN: usize = 100;
/// However few agents there are, so many are asked at a time.
const AT_LEAST: usize = 5;
/// An agent that could not leave a replica that drains is asked again.
const DRAIN_AGAIN: Duration = Duration::from_secs(10);
/// Most agents that are asked in a second to go where there are fewer, and which part of all of them.
const MOVES_PER_SECOND: usize = 50;
const MOVED_PART: usize = 50;
/// An agent that stays for want of another address is left alone for a while.
const MOVE_AGAIN: Duration = Duration::from_secs(300);
/// How long an agent that was asked may take before it counts as one that stays.
const LEAVES_WITHIN: Duration = Duration::from_secs(10);

const DRAINING: &str = "the server is draining";
const TOO_MANY: &str = "the server has more than its share of agents";

/// How many agents a replica with `mine` should give away, when `others` hold so many each. Only one that has clearly too
/// many begins to give any, and then down to the average, so that none is sent to and fro.
pub fn share(mine: usize, others: &[usize]) -> usize {
    let n_replicas = others.len() + 1;
    let total = mine + others.iter().sum::<usize>();
    let is_clearly_more = mine * n_replicas * 10 > total * 12 + 100 * n_replicas;
    match is_clearly_more {
        true => excess(mine, others),
        false => 0,
    }
}

/// How many more than the average.
fn excess(mine: usize, others: &[usize]) -> usize {
    let total = mine + others.iter().sum::<usize>();
    mine.saturating_sub(total.div_ceil(others.len() + 1))
}

/// Looks after both until told to stop.
pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    if control.is_alone() {
        return;
    }
    let mut looks = 0_u32;
    let mut is_giving = false;
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = stopped(&mut stop) => return,
        }
        looks = looks.wrapping_add(1);
        match control.is_draining() {
            true => control.drain_some(),
            false if looks.is_multiple_of(LOOKS_PER_SECOND) => {
                is_giving = control.balance(is_giving);
            }
            false => {}
        }
    }
}

impl Control {
    /// Asks so many agents to go to another replica; how many were asked that had not been asked lately.
    pub fn move_agents(&self, n: usize, reason: &str) -> usize {
        self.0.sessions.ask_to_move(n, reason, MOVE_AGAIN)
    }

    /// Asks all agents to go to other replicas, and takes no more. Refused where there is none that takes them.
    pub async fn start_draining(&self, caller: &Caller) -> Result<(), ControlError> {
        self.check_admin(caller)?;
        if !self.has_company() {
            return Err(ControlError::Conflict(
                "there is no other replica that could take the agents".to_owned(),
            ));
        }
        self.note_draining(caller, "replica.drain").await?;
        self.set_draining(true);
        Ok(())
    }

    /// Takes agents again.
    pub async fn stop_draining(&self, caller: &Caller) -> Result<(), ControlError> {
        self.check_admin(caller)?;
        self.note_draining(caller, "replica.undrain").await?;
        self.set_draining(false);
        Ok(())
    }

    async fn note_draining(
        &self,
        caller: &Caller,
        action: &'static str,
    ) -> Result<(), ControlError> {
        let replica = self.0.bus.replica().to_string();
        let audit = Audit::new(caller, self.now(), action, replica, String::new());
        self.commit(move |_| {
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
        self.0.sessions.len()
    }

    /// Whether there is another replica that takes agents.
    pub fn has_company(&self) -> bool {
        !self.others().is_empty()
    }

    /// Resolves when no agent is connected here any more, or nobody is left who would take them.
    pub async fn drained(&self) {
        let mut look = interval(LOOK_EVERY);
        while self.n_agents() > 0 && self.has_company() {
            look.tick().await;
        }
    }

    /// How many agents each of the others holds that takes any.
    fn others(&self) -> Vec<usize> {
        let replicas = self.replicas().into_iter();
        replicas
            .filter(|replica| !replica.is_this && !replica.is_draining)
            .map(|replica| replica.n_agents)
            .collect()
    }

    fn drain_some(&self) {
        let n = (self.n_agents() / LOOKS_TO_DRAIN).max(AT_LEAST);
        self.0.sessions.ask_to_move(n, DRAINING, DRAIN_AGAIN);
    }

    /// Gives some agents away if there are too many; whether it has more to give.
    fn balance(&self, is_giving: bool) -> bool {
        let others = self.others();
        if others.is_empty() {
            return false;
        }
        let now = Instant::now();
        let asked_since = now.checked_sub(LEAVES_WITHIN).unwrap_or(now);
        let leaving = self.0.sessions.n_asked_since(asked_since);
        let mine = self.n_agents().saturating_sub(leaving);
        let n = match is_giving {
            true => excess(mine, &others),
            false => share(mine, &others),
        };
        if n > 0 {
            let at_most = (mine / MOVED_PART).clamp(1, MOVES_PER_SECOND);
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
    fn a_replica_that_is_back_gets_its_share() {
        assert_eq!(share(5000, &[5000, 0]), 1666);
        assert_eq!(share(0, &[5000, 5000]), 0);
    }

    #[test]
    fn small_differences_move_nobody() {
        assert_eq!(share(100, &[100, 100]), 0);
        assert_eq!(share(110, &[100, 95]), 0);
        assert_eq!(share(12, &[0]), 0);
        assert_eq!(share(0, &[]), 0);
        assert_eq!(share(1000, &[]), 0);
    }

    #[test]
    fn nobody_is_sent_to_and_fro() {
        // Whatever each gives away, to whomever, nobody has to give again.
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
                        share(counts[n], &others)
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
