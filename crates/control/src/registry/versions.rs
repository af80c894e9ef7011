//! The versions of a process, and which of them its hosts have.
//!
//! They are read from the store when a caller asks for them; memory has only the definitions that are registered now. A host has
//! the newest version whose definition is the registered one.

use std::collections::{HashMap, HashSet};

use model::FullName;
use model::access::{Caller, Permission};
use model::change::NameId;
use store::StoredVersion;

use super::{Mode, Registration, Registry};
use crate::access::may_with;
use crate::{ControlError, HostAnswer, HostSelector, TargetHost};

/// A version of a process, and how many hosts have it.
#[derive(Debug, Clone)]
pub struct ProcessVersion {
    pub version: StoredVersion,
    pub n_hosts: u32,
}

/// The number of the newest version with each definition, by the hash of the definition.
pub type VersionNumbers = HashMap<u64, u32>;

impl Registry {
    /// Newest first. Also of a process that is no longer registered.
    pub async fn versions(
        &self,
        caller: &Caller,
        name: &FullName,
    ) -> Result<Vec<ProcessVersion>, ControlError> {
        self.access
            .check(caller, Permission::View, &name.namespace)?;
        let id = self.core.fleet().name_id(name);
        let id = id.ok_or_else(|| no_versions(name))?;
        let versions = self.core.store.versions(id).await?;
        let mut n_hosts = self.hosts_by_definition(id);
        let versions: Vec<ProcessVersion> = versions
            .into_iter()
            .map(|version| ProcessVersion {
                // The first with a definition is the newest with it.
                n_hosts: n_hosts.remove(&version.hash).unwrap_or(0),
                version,
            })
            .collect();
        match versions.is_empty() {
            true => Err(no_versions(name)),
            false => Ok(versions),
        }
    }

    /// One version, by its number.
    pub async fn version(
        &self,
        caller: &Caller,
        name: &FullName,
        number: u32,
    ) -> Result<StoredVersion, ControlError> {
        let versions = self.versions(caller, name).await?;
        let found = versions.into_iter().map(|listed| listed.version);
        let mut found = found.filter(|version| version.number == number);
        found.next().ok_or_else(|| {
            ControlError::NotFound(format!(
                "{name} has no version {number}, or it is no longer kept"
            ))
        })
    }

    /// Gives hosts the definition of a version again: these, or all that have the process. One answer per key.
    pub async fn rollback(
        &self,
        caller: &Caller,
        name: &FullName,
        number: u32,
        hosts: Option<Vec<TargetHost>>,
    ) -> Result<Vec<HostAnswer>, ControlError> {
        self.access
            .check(caller, Permission::Operate, &name.namespace)?;
        let version = self.version(caller, name, number).await?;
        let hosts = match hosts {
            Some(hosts) => hosts,
            None => {
                let hosts = self.hosts_of(name)?.into_iter();
                let asked = hosts.map(|host| TargetHost {
                    key_prefix: host.to_string().into(),
                    place: HostSelector::Host(host),
                });
                asked.collect()
            }
        };
        let request = Registration {
            name: name.clone(),
            labels: (*version.row.labels).clone(),
            spec: (*version.row.spec).clone(),
            hosts,
            suppliers: HashMap::new(),
            mode: Mode::Update,
            restores: Some(number),
        };
        self.register(caller, request).await
    }

    /// The versions of the definitions that the caller sees registered.
    pub async fn version_numbers(
        &self,
        caller: &Caller,
        name: &FullName,
    ) -> Result<VersionNumbers, ControlError> {
        let (id, seen) = {
            let fleet = self.core.fleet();
            let Some(id) = fleet.name_id(name) else {
                return Ok(VersionNumbers::new());
            };
            let rows = fleet.processes_named(id);
            let rows = rows.filter(|row| may_with(caller, Permission::View, row));
            let mut seen: Vec<u64> = rows.map(|row| row.definition().hash).collect();
            seen.sort_unstable();
            seen.dedup();
            (id, seen)
        };
        if seen.is_empty() {
            return Ok(VersionNumbers::new());
        }
        let mut numbers = VersionNumbers::new();
        for (number, hash) in self.core.store.version_hashes(id).await? {
            if seen.binary_search(&hash).is_ok() {
                numbers.entry(hash).or_insert(number);
            }
        }
        Ok(numbers)
    }

    /// The same for rows that the caller sees, by the names and the definitions that they have: one query for all of them.
    pub async fn version_numbers_of(
        &self,
        rows: &HashSet<(NameId, u64)>,
    ) -> Result<HashMap<(NameId, u64), u32>, ControlError> {
        let mut names: Vec<NameId> = rows.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        let mut numbers = HashMap::new();
        if names.is_empty() {
            return Ok(numbers);
        }
        for (name, number, hash) in self.core.store.version_hashes_of(&names).await? {
            if rows.contains(&(name, hash)) {
                // The first with a definition is the newest with it.
                numbers.entry((name, hash)).or_insert(number);
            }
        }
        Ok(numbers)
    }

    fn hosts_by_definition(&self, name: NameId) -> HashMap<u64, u32> {
        let mut n_hosts = HashMap::new();
        for row in self.core.fleet().processes_named(name) {
            *n_hosts.entry(row.definition().hash).or_default() += 1;
        }
        n_hosts
    }
}

fn no_versions(name: &FullName) -> ControlError {
    ControlError::NotFound(format!(
        "no version of {name} is kept: it was never registered, or only as an instance of a business"
    ))
}
