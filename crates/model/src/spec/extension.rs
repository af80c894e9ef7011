//! The sections of a spec that agents learned after their first version. An agent says which it knows; the server sends no
//! process to an agent that would ignore one that its spec has.

use std::fmt;

use super::Spec;
use crate::Op;

/// A section of a spec that an older agent ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecExtension {
    Restart,
    Stop,
    Schedule,
    Probes,
    After,
}

impl SpecExtension {
    pub const ALL: [Self; 5] = [
        Self::Restart,
        Self::Stop,
        Self::Schedule,
        Self::Probes,
        Self::After,
    ];

    /// The name in frames, and of the section.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Stop => "stop",
            Self::Schedule => "schedule",
            Self::Probes => "probes",
            Self::After => "after",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    fn is_used_by(self, spec: &Spec) -> bool {
        match self {
            Self::Restart => !spec.restart.is_default(),
            Self::Stop => !spec.stop.is_default(),
            Self::Schedule => !spec.schedule.is_default(),
            Self::Probes => !spec.probes.is_default(),
            Self::After => !spec.after.is_empty(),
        }
    }

    /// Whether an operation relies on it.
    fn concerns(self, op: Op) -> bool {
        match self {
            Self::Restart | Self::Schedule | Self::Probes | Self::After => {
                matches!(op, Op::Start | Op::Restart | Op::Manage)
            }
            Self::Stop => matches!(op, Op::Stop | Op::Restart),
        }
    }
}

/// A set of sections.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SpecExtensions(u8);

impl SpecExtensions {
    /// What this build knows.
    pub fn all() -> Self {
        SpecExtension::ALL.into_iter().collect()
    }

    /// Those of these names that this build knows.
    pub fn of_names(names: &[String]) -> Self {
        names
            .iter()
            .filter_map(|name| SpecExtension::parse(name))
            .collect()
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        SpecExtension::ALL
            .into_iter()
            .filter(move |one| self.contains(*one))
            .map(SpecExtension::as_str)
    }

    pub const fn contains(self, one: SpecExtension) -> bool {
        self.0 & (1 << one as u8) != 0
    }

    /// The first section of the spec that is not in this set; of those that an operation relies on, if it is for one.
    pub fn lacks(self, spec: &Spec, op: Option<Op>) -> Option<SpecExtension> {
        SpecExtension::ALL.into_iter().find(|one| {
            one.is_used_by(spec) && op.is_none_or(|op| one.concerns(op)) && !self.contains(*one)
        })
    }
}

impl FromIterator<SpecExtension> for SpecExtensions {
    fn from_iter<T: IntoIterator<Item = SpecExtension>>(sections: T) -> Self {
        let bits = sections.into_iter().map(|one| 1 << one as u8);
        Self(bits.fold(0, |all, bit: u8| all | bit))
    }
}

impl fmt::Debug for SpecExtensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_back_from_its_names() {
        let all = SpecExtensions::all();
        let mut names: Vec<String> = all.names().map(str::to_owned).collect();
        names.push("of a later version".to_owned());
        assert_eq!(SpecExtensions::of_names(&names), all);
        assert_eq!(
            SpecExtensions::of_names(&[]),
            SpecExtensions::default(),
            "agents of the first version send none"
        );
    }
}
