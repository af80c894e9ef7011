//! Reads the audit trail. Admins only: it names every user.

use model::UnixMillis;
use model::access::{Audit, Caller};
use store::AuditPage;

use super::Access;
use crate::ControlError;

/// How many lines are read at a time when some of them may not match.
const READ_AT_A_TIME: u32 = 1000;
/// How many lines one answer may read; the caller continues from `next`.
const MAX_LOOKED_AT: usize = 100_000;

/// Which lines to list. A field that is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub app: Option<String>,
    pub user: Option<String>,
    pub action: Option<String>,
    /// The address of the caller.
    pub from: Option<String>,
    /// Part of the object.
    pub object: Option<String>,
    /// Only lines of this time and later.
    pub since: Option<UnixMillis>,
    /// Only earlier lines.
    pub until: Option<UnixMillis>,
}

impl AuditFilter {
    /// The filters that the store does not apply: `since` has no index there, and substring search differs between engines.
    fn matches(&self, line: &Audit) -> bool {
        let object = self.object.as_ref();
        object.is_none_or(|part| line.object.contains(part.as_str()))
            && self.since.is_none_or(|since| line.at >= since)
    }

    /// Whether the store applies all filters.
    fn is_of_store(&self) -> bool {
        self.object.is_none() && self.since.is_none()
    }
}

/// A page of lines, newest first.
#[derive(Debug, Clone, Default)]
pub struct AuditLines {
    pub lines: Vec<(u64, Audit)>,
    /// Where to continue; None at the end.
    pub next: Option<u64>,
}

impl Access {
    /// Up to `limit` lines older than `before`. A page may be short although more follow: see `next`.
    pub async fn audit(
        &self,
        caller: &Caller,
        filter: &AuditFilter,
        limit: u32,
        before: Option<u64>,
    ) -> Result<AuditLines, ControlError> {
        self.check_admin(caller)?;
        let (mut found, mut before, mut n_looked_at) = (AuditLines::default(), before, 0);
        loop {
            let page = AuditPage {
                limit: match filter.is_of_store() {
                    true => limit,
                    false => READ_AT_A_TIME,
                },
                before,
                app: filter.app.clone(),
                user: filter.user.clone(),
                action: filter.action.clone(),
                from: filter.from.clone(),
                until: filter.until,
            };
            let read = self.core.store.audit(&page).await?;
            let is_last = read.len() < page.limit as usize;
            n_looked_at += read.len();
            for (id, line) in read {
                // Lines are ordered by time, up to clock corrections, which are less than an hour.
                if is_long_before(&line, filter.since) {
                    return Ok(found);
                }
                before = Some(id);
                if filter.matches(&line) {
                    found.lines.push((id, line));
                }
                if found.lines.len() == limit as usize {
                    found.next = Some(id);
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
            if n_looked_at >= MAX_LOOKED_AT {
                found.next = before;
                return Ok(found);
            }
        }
    }
}

fn is_long_before(line: &Audit, since: Option<UnixMillis>) -> bool {
    const HOUR_MS: i64 = 3_600_000;
    since.is_some_and(|since| line.at.0 < since.0.saturating_sub(HOUR_MS))
}
