//! The released config files of an instance, which its agent watches: their md5 is in its spec.

use std::collections::BTreeMap;

use model::config_template::{ConfigFileRow, FileState};
use model::topology::BkProcessId;

use super::expected;
use super::render::{self, Variables};
use crate::draft::{Content, Draft};

/// The path and md5 of each file. Of several releases to one path, for example by a template that is no longer bound, the last
/// counts.
pub(super) fn watched<'f>(files: impl Iterator<Item = &'f ConfigFileRow>) -> Vec<(String, String)> {
    let mut newest: BTreeMap<&str, &FileState> = BTreeMap::new();
    for released in files.filter_map(|file| file.released.as_ref()) {
        let known = newest.entry(&released.path).or_insert(released);
        if known.at <= released.at {
            *known = released;
        }
    }
    let files = newest.into_values();
    files
        .map(|file| (file.path.clone(), file.md5.clone()))
        .collect()
}

impl Draft<'_> {
    /// Updates the specs of a process's instances where `files` change what is watched.
    pub(crate) fn watch_files(&mut self, process: BkProcessId, files: &[ConfigFileRow]) {
        let fleet = self.fleet;
        let Some(row) = fleet.view_row(process) else {
            return;
        };
        for instance in expected::instances(fleet, &row) {
            let local = instance.local_inst_id;
            let ours =
                |file: &&ConfigFileRow| file.process == process && file.local_inst_id == local;
            let changed: Vec<&ConfigFileRow> = files.iter().filter(ours).collect();
            if changed.is_empty() {
                continue;
            }
            let known = fleet.view().config_files(process).map(|file| &**file);
            let stays = known
                .filter(ours)
                .filter(|file| !changed.iter().any(|row| row.template == file.template));
            let watched = watched(stays.chain(changed.iter().copied()));
            let variables = Variables::of(&row, local);
            // An invalid spec is reported by the next refresh; here its registration stays.
            let Ok(spec) = render::spec(row.program, &variables, watched) else {
                continue;
            };
            let content = Content::new(spec, render::labels(row.program));
            let before = instance.row.to_change();
            let definition = self.definition(before.name, &content);
            self.put_instance(before.host, before.name, definition, process);
        }
    }
}
