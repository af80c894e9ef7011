//! How many agents of each kind are connected, for `/metrics`.

use std::collections::BTreeMap;

use fleet::AgentInfo;
use model::kernel::KernelFeature;

/// More versions are counted together: agents choose these texts.
const MAX_VERSIONS: usize = 32;
const OTHER: &str = "other";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentCounts {
    pub n_up: usize,
    pub by_version: BTreeMap<String, usize>,
    /// In the order of [`KernelFeature::ALL`].
    pub missing: [usize; KernelFeature::ALL.len()],
}

impl AgentCounts {
    pub(crate) fn count(&mut self, info: Option<&AgentInfo>) {
        self.n_up += 1;
        let Some(info) = info else {
            return;
        };
        for (n, feature) in self.missing.iter_mut().zip(KernelFeature::ALL) {
            *n += usize::from(info.missing.contains(feature));
        }
        if let Some(n) = self.by_version.get_mut(&info.version) {
            *n += 1;
            return;
        }
        let name = match self.by_version.len() < MAX_VERSIONS {
            true => info.version.clone(),
            false => OTHER.to_owned(),
        };
        *self.by_version.entry(name).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_bounded_and_features_counted() {
        let mut counts = AgentCounts::default();
        counts.count(None);
        for n in 0..40 {
            counts.count(Some(&AgentInfo {
                version: format!("0.{n}.0"),
                missing: [KernelFeature::Clone3].into_iter().collect(),
                ..AgentInfo::default()
            }));
        }
        assert_eq!(counts.n_up, 41);
        assert_eq!(counts.by_version.len(), MAX_VERSIONS + 1);
        assert_eq!(counts.by_version[OTHER], 8);
        assert_eq!(counts.missing, [0, 0, 40, 0, 0, 0]);
    }
}
