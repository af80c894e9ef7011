//! Sets and removes labels of hosts.
//!
//! Only admins do: a host belongs to no namespace, and its labels decide which processes match the selectors of grants.

use std::collections::{BTreeMap, BTreeSet};

use fleet::{Fleet, HostView};
use model::access::{Audit, Caller};
use model::change::HostRow;
use model::{Code, Host, Invalid, Labels};

use super::Registry;
use crate::answers::resolve;
use crate::draft::Draft;
use crate::{ControlError, TargetHost};

/// How many hosts one request may label.
const MAX_HOSTS: usize = 10_000;

/// New labels of some hosts.
#[derive(Debug, Clone, Default)]
pub struct LabelHosts {
    pub hosts: Vec<TargetHost>,
    /// The value of each key; None removes it.
    pub labels: BTreeMap<String, Option<String>>,
    /// Whether a value that a host has may be replaced by another.
    pub overwrite: bool,
}

/// The labels of one host after the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledHost {
    pub host: Host,
    pub labels: Labels,
    pub changed: bool,
}

impl Registry {
    /// Labels all the hosts or none; one answer for each host, in the order of the request.
    pub async fn label_hosts(
        &self,
        caller: &Caller,
        request: LabelHosts,
    ) -> Result<Vec<LabelledHost>, ControlError> {
        self.access.check_admin(caller)?;
        if request.labels.is_empty() {
            return Err(Invalid::new("labels", "must name at least one label").into());
        }
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let mut draft = Draft::new(world, at);
            let mut labelled = Vec::new();
            for view in select(world.fleet, &request.hosts)? {
                let labels = request.applied(&view)?;
                let changed = labels != *view.labels;
                if changed {
                    draft.changes.hosts.push(HostRow {
                        labels: labels.clone(),
                        ..view.to_change()
                    });
                    let detail = audit_detail(view.labels, &labels);
                    let host = view.host.to_string();
                    draft.audit(Audit::new(&caller, at, "host.labels", host, detail));
                }
                labelled.push(LabelledHost {
                    host: view.host,
                    labels,
                    changed,
                });
            }
            Ok((draft.finish(), labelled))
        })
        .await
    }
}

impl LabelHosts {
    /// The labels of this host with the changes.
    fn applied(&self, view: &HostView<'_>) -> Result<Labels, ControlError> {
        let before = view.labels.iter();
        let mut pairs: BTreeMap<String, String> = before
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        for (key, wanted) in &self.labels {
            let Some(wanted) = wanted else {
                pairs.remove(key);
                continue;
            };
            let replaced = pairs.insert(key.clone(), wanted.clone());
            if let Some(replaced) = replaced.filter(|value| value != wanted && !self.overwrite) {
                return Err(ControlError::Conflict(format!(
                    "host {} has the label {key}={replaced} already: give overwrite to replace it; nothing was changed",
                    view.host
                )));
            }
        }
        Ok(Labels::parse(pairs)?)
    }
}

/// Each host once, in the order of the request.
fn select<'a>(fleet: &'a Fleet, hosts: &[TargetHost]) -> Result<Vec<HostView<'a>>, ControlError> {
    if hosts.is_empty() || hosts.len() > MAX_HOSTS {
        let rule = format!("must be 1 to {MAX_HOSTS} hosts");
        return Err(Invalid::new("hosts", rule).into());
    }
    let mut seen = BTreeSet::new();
    let mut views = Vec::new();
    for asked in hosts {
        let host = resolve(fleet, asked).map_err(|refused| match refused.code {
            Code::INVALID => Invalid::new("hosts", refused.message).into(),
            _ => ControlError::NotFound(format!("{}: nothing was changed", refused.message)),
        })?;
        let view = fleet.find_host(&host).ok_or_else(|| {
            ControlError::NotFound(format!("host {host} is not known: nothing was changed"))
        })?;
        if seen.insert(view.id) {
            views.push(view);
        }
    }
    Ok(views)
}

/// `zone=a, rack-`.
fn audit_detail(before: &Labels, after: &Labels) -> String {
    let set = after
        .iter()
        .filter(|(key, value)| before.get(key) != Some(value))
        .map(|(key, value)| format!("{key}={value}"));
    let removed = before
        .iter()
        .filter(|(key, _)| after.get(key).is_none())
        .map(|(key, _)| format!("{key}-"));
    set.chain(removed).collect::<Vec<_>>().join(", ")
}
