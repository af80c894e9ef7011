//! Reads what the server has now, for plans and exports. Changes nothing.

use std::cell::OnceCell;

use api::{HostRef, HostRow, ProcessDetail, ProcessView};
use model::{FullName, Namespace};

use super::DeclaredHosts;
use crate::client::{Client, Path, processes_named};
use crate::definition::HostSelection;
use crate::failure::{Failure, Kind};
use crate::processes::host_text;

/// The members of a row of processes that a plan needs.
const FIELDS: &str = "namespace,name,host,agent_id,business,definition,state,was";

/// The server, whose list of hosts is read at most once.
#[derive(Debug)]
pub struct Current<'c> {
    pub client: &'c Client,
    hosts: OnceCell<Vec<HostRow<'static>>>,
}

impl<'c> Current<'c> {
    pub fn new(client: &'c Client) -> Self {
        Self {
            client,
            hosts: OnceCell::new(),
        }
    }

    fn hosts(&self) -> Result<&[HostRow<'static>], Failure> {
        if self.hosts.get().is_none() {
            let rows = self.client.hosts(None, None)?.rows;
            self.hosts.set(rows).ok();
        }
        Ok(self.hosts.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// Every process of a namespace, one row for each host.
    pub fn processes(
        &self,
        namespace: Option<&Namespace>,
    ) -> Result<Vec<ProcessView<'static>>, Failure> {
        let path = Path::new("processes")
            .maybe("namespace", namespace)
            .query("fields", FIELDS);
        Ok(self.client.pages(&path, "processes", None)?.rows)
    }

    /// The definitions of a process, and which host has which; both empty where it is registered nowhere.
    pub fn process(
        &self,
        name: &FullName,
    ) -> Result<(ProcessDetail<'static>, Vec<ProcessView<'static>>), Failure> {
        let detail: ProcessDetail = match self.client.process(name) {
            Ok(detail) => detail,
            Err(failure) if failure.kind == Kind::NotFound => return Ok(Default::default()),
            Err(failure) => return Err(failure),
        };
        let path = processes_named(name).query("fields", FIELDS);
        Ok((detail, self.client.pages(&path, "processes", None)?.rows))
    }

    /// The hosts that are meant, as `CLOUD:IP`, sorted; `namespace` are those with processes of the namespace.
    pub fn resolve(
        &self,
        hosts: &DeclaredHosts,
        namespace: &[String],
    ) -> Result<Vec<String>, String> {
        let known = || self.hosts().map_err(|e| e.to_string());
        let mut resolved: Vec<String> = match hosts {
            DeclaredHosts::OfNamespace => namespace.to_vec(),
            DeclaredHosts::Selected(HostSelection::All) => {
                known()?.iter().map(|row| row.host.to_string()).collect()
            }
            DeclaredHosts::Selected(HostSelection::Labels(tests)) => known()?
                .iter()
                .filter(|row| tests.matches(|key| row.labels.get(key)))
                .map(|row| row.host.to_string())
                .collect(),
            DeclaredHosts::Listed(hosts) => {
                let each = hosts.iter().map(|host| match host {
                    HostRef::Text(host) => Ok(host.clone()),
                    HostRef::Parts(parts) => {
                        let agent = parts.agent_id.to_text();
                        let mut rows = known()?.iter();
                        rows.find(|row| row.agent_id.as_deref() == Some(&*agent))
                            .map(|row| row.host.to_string())
                            .ok_or_else(|| format!("no host has the {}", host_text(host)))
                    }
                });
                each.collect::<Result<_, String>>()?
            }
        };
        resolved.sort();
        resolved.dedup();
        match (resolved.is_empty(), hosts) {
            (false, _) => Ok(resolved),
            (true, DeclaredHosts::OfNamespace) => {
                Err("no host has processes of this namespace: name hosts".to_owned())
            }
            (true, _) => {
                Err("selects no host; muster hosts shows them and their labels".to_owned())
            }
        }
    }
}
