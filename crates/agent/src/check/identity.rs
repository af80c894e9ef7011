//! The agent's own certificate, read beside a running agent.

use std::path::Path;

use model::host_check::HostCheck;
use model::{Host, UnixMillis};

use super::{CheckSubject, day};
use crate::error::chain;
use crate::identity::{self, Identity, IdentityError};

const NAME: &str = "identity";
/// A renewal is weeks late by then.
const LATE_MS: i64 = 7 * 24 * 3600 * 1000;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// What the data folder holds.
#[derive(Debug)]
pub(super) enum FoundIdentity {
    Enrolled(Box<Identity>),
    None,
    /// It cannot be read, or is damaged.
    Unusable(IdentityError),
    /// Its disk does not answer; the check of the folder says so.
    Hangs,
}

pub(super) fn find(data: &Path) -> FoundIdentity {
    match identity::load_from(data) {
        Ok(Some(identity)) => FoundIdentity::Enrolled(Box::new(identity)),
        Ok(None) => FoundIdentity::None,
        Err(error) => FoundIdentity::Unusable(error),
    }
}

impl FoundIdentity {
    pub(super) fn enrolled(&self) -> Option<&Identity> {
        match self {
            Self::Enrolled(identity) => Some(identity),
            Self::None | Self::Unusable(_) | Self::Hangs => None,
        }
    }

    pub(super) fn check(&self, subject: &CheckSubject, now: UnixMillis) -> Option<HostCheck> {
        match self {
            Self::Enrolled(identity) => Some(life(identity, now)),
            Self::None if subject.servers.is_empty() => None,
            Self::None => Some(match &subject.join {
                Some(_) => HostCheck::ok(NAME, "not enrolled yet; there is a join token"),
                None => HostCheck::no(
                    NAME,
                    "not enrolled, and no join token",
                    "make one with muster token create, and give it as MUSTER_JOIN_TOKEN",
                ),
            }),
            Self::Unusable(error) => Some(HostCheck::no(
                NAME,
                chain(error),
                "run this check as the user of the agent; if the file is damaged, remove it and enrol again",
            )),
            Self::Hangs => None,
        }
    }

    pub(super) fn left_out(&self, subject: &CheckSubject) -> Option<String> {
        (matches!(self, Self::None) && subject.servers.is_empty())
            .then(|| "the agent's certificate: this host has not joined yet".to_owned())
    }
}

fn life(identity: &Identity, now: UnixMillis) -> HostCheck {
    let Some((_, until)) = identity.life() else {
        return HostCheck::no(
            NAME,
            "the certificate in identity.toml cannot be read",
            "remove identity.toml from the data folder and enrol again with a join token",
        );
    };
    judge(identity.host, until, now)
}

fn judge(host: Host, until: UnixMillis, now: UnixMillis) -> HostCheck {
    let left_ms = until.0.saturating_sub(now.0);
    let days = left_ms / DAY_MS;
    let found = format!("{host}, certificate until {} ({days} days)", day(until));
    match left_ms {
        ..0 => HostCheck::no(
            NAME,
            format!("{host}, certificate expired on {}", day(until)),
            "start the agent with a new join token (muster token create); if the date is wrong, set the clock",
        ),
        0..LATE_MS => HostCheck::degraded(
            NAME,
            found,
            "it was not renewed in time: let the agent reach a server before it expires",
        ),
        LATE_MS.. => HostCheck::ok(NAME, found),
    }
}

#[cfg(test)]
mod tests {
    use model::host_check::CheckResult;

    use super::*;

    #[test]
    fn a_certificate_is_judged_by_the_days_that_are_left() {
        let now = UnixMillis::from_secs(1_800_000_000);
        let of = |left_ms| judge("0:10.0.0.7".parse().unwrap(), now.plus_millis(left_ms), now);
        let fine = of(30 * DAY_MS);
        assert_eq!(fine.result, CheckResult::Ok);
        assert_eq!(
            fine.message,
            "0:10.0.0.7, certificate until 2027-02-14 (30 days)"
        );
        let late = of(3 * DAY_MS);
        assert_eq!(late.result, CheckResult::Degraded);
        assert!(late.hint.contains("renewed"), "{late:?}");
        let expired = of(-1);
        assert_eq!(expired.result, CheckResult::No);
        assert!(expired.hint.contains("join token"), "{expired:?}");
    }
}
