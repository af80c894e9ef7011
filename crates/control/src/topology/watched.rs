//! The files that an instance was given, watched by its agent: their md5 stand in its spec.

use std::collections::BTreeMap;

use model::config_template::{ConfigFileRow, FileState};
use model::topology::{BkProcessId, inst_id};

use super::expected;
use super::render::{self, Variables};
use crate::register::{Content, Draft};

/// The path and md5 of each file. One path counts once, as what was released last is there: a template that is bound no
/// more may have made the same file before.
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
    /// Registers the instances of a process anew where `files` change what is watched.
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
            let alias = &row.program.bk_process_name;
            let variables = Variables {
                inst_id: inst_id(row.process.ordinal, row.largest_proc_num, local),
                local_inst_id: local,
                set_name: &row.set.name,
                module_name: &row.module.name,
                process_name: alias,
                func_name: &row.program.bk_func_name,
            };
            // What cannot be registered is told when the topology is refreshed; here nothing changes for it.
            let Ok(spec) = render::spec(row.program, &variables, watched) else {
                continue;
            };
            let content = Content::new(spec, render::labels(alias));
            let before = instance.row.to_change();
            let definition = self.definition(before.name, &content);
            self.put_instance(before.host, before.name, definition, process);
        }
    }
}
