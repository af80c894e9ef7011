//! Which protocol versions this build speaks, and how two builds agree.
//!
//! | version | since | what changed |
//! |---|---|---|
//! | 1 | 0.1.0 | first |
//!
//! A field or a frame that old peers may skip needs no new version. Version 1 has gained these:
//! [`crate::Ask`] and [`crate::Output`], [`crate::Command::sent_ms`], [`crate::Hello`] the fields from `session` on, [`crate::Move`],
//! [`crate::Bye::rejoin`], [`crate::Hello::extensions`], [`crate::Hello::waits_for_grants`], [`crate::Welcome::grants_reports`],
//! [`crate::Ack::may_report`], of [`crate::ProcessStatus`] the fields from `process_state` on, and the memory in
//! [`crate::up::LastExitFrame`].

/// The oldest supported version.
pub const OLDEST: u32 = 1;
/// The preferred version.
pub const NEWEST: u32 = 1;

/// The newest version that both sides support.
pub fn agree(their_oldest: u32, their_newest: u32) -> Option<u32> {
    let common = NEWEST.min(their_newest);
    (common >= OLDEST && common >= their_oldest).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_used() {
        assert_eq!(agree(OLDEST, NEWEST), Some(NEWEST));
        assert_eq!(agree(0, NEWEST + 7), Some(NEWEST));
        assert_eq!(agree(NEWEST + 1, NEWEST + 2), None);
        assert_eq!(agree(0, 0), None);
    }
}
