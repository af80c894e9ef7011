//! What newer kernels offer, and what an agent does without it.

use std::fmt;

/// A part of the kernel that an agent uses where it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFeature {
    PidfdOpen,
    PidfdSendSignal,
    Clone3,
    CloseRange,
    ControlGroups,
    CgroupKill,
}

impl KernelFeature {
    pub const ALL: [Self; 6] = [
        Self::PidfdOpen,
        Self::PidfdSendSignal,
        Self::Clone3,
        Self::CloseRange,
        Self::ControlGroups,
        Self::CgroupKill,
    ];

    /// The name in frames, the API, metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PidfdOpen => "pidfd_open",
            Self::PidfdSendSignal => "pidfd_send_signal",
            Self::Clone3 => "clone3",
            Self::CloseRange => "close_range",
            Self::ControlGroups => "cgroups",
            Self::CgroupKill => "cgroup.kill",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// What an agent does without it.
    pub const fn without(self) -> &'static str {
        match self {
            Self::PidfdOpen => {
                "looks once a second for the end of processes that it did not start itself"
            }
            Self::PidfdSendSignal => "sends signals by pid, right after comparing the start time",
            Self::Clone3 => {
                "moves a process into its control group, which takes milliseconds at each start"
            }
            Self::CloseRange => "closes inherited descriptors one by one at each start",
            Self::ControlGroups => {
                "finds the members of a process and their usage through /proc; children that end between two \
                 samples are not counted"
            }
            Self::CgroupKill => "kills the members of a process one after the other",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of features.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelFeatures(u8);

impl KernelFeatures {
    pub const fn contains(self, feature: KernelFeature) -> bool {
        self.0 & feature.bit() != 0
    }

    pub const fn insert(&mut self, feature: KernelFeature) {
        self.0 |= feature.bit();
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = KernelFeature> {
        let all = KernelFeature::ALL.into_iter();
        all.filter(move |feature| self.contains(*feature))
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.iter().map(KernelFeature::as_str)
    }
}

impl FromIterator<KernelFeature> for KernelFeatures {
    fn from_iter<I: IntoIterator<Item = KernelFeature>>(features: I) -> Self {
        let mut set = Self::default();
        for feature in features {
            set.insert(feature);
        }
        set
    }
}

impl fmt::Debug for KernelFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it() {
        for feature in KernelFeature::ALL {
            assert_eq!(KernelFeature::parse(feature.as_str()), Some(feature));
            let one: KernelFeatures = [feature].into_iter().collect();
            assert_eq!(one.iter().collect::<Vec<_>>(), [feature]);
        }
        assert_eq!(KernelFeature::parse("io_uring"), None);
        let all: KernelFeatures = KernelFeature::ALL.into_iter().collect();
        assert_eq!(all.names().count(), 6);
        assert!(KernelFeatures::default().is_empty() && !all.is_empty());
    }
}
