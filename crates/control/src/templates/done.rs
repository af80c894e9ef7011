//! What workers did to the config files of one instance, and how it is kept.

use std::sync::Arc;

use model::Code;
use model::config_template::{ConfigFileRow, ContentRow, FileState, TemplateRow};
use model::job::{JobTaskRow, truncate_output};
use model::topology::BkProcessId;

use crate::register::Draft;

/// What came of it, to be committed with the task.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigDone {
    pub(crate) files: Vec<ConfigFileRow>,
    pub(crate) contents: Vec<ContentRow>,
    pub(crate) output: String,
    /// Something to know although it went well.
    pub(crate) note: String,
    pub(crate) failed: Option<(Code, String)>,
}

/// A file with its content.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) template: Arc<TemplateRow>,
    pub(super) state: FileState,
    pub(super) body: Arc<str>,
}

impl ConfigDone {
    /// Of a worker that did not come back.
    pub(crate) fn broken() -> Self {
        let reason = "this server failed at it: its log says where".to_owned();
        Self {
            failed: Some((Code::COMMAND_FAILED, reason)),
            ..Self::default()
        }
    }

    pub(super) fn say(&mut self, line: &str) {
        self.output.push_str(line);
        self.output.push('\n');
        truncate_output(&mut self.output);
    }

    pub(super) fn keep(&mut self, task: &JobTaskRow, made: Made, released: bool) {
        self.files.push(ConfigFileRow {
            process: task.process,
            local_inst_id: task.local_inst_id,
            template: made.template.id,
            released: released.then(|| made.state.clone()),
            generated: Some(made.state.clone()),
        });
        self.contents.push(ContentRow {
            id: made.state.content,
            body: made.body,
        });
    }
}

impl Draft<'_> {
    /// What was done for an instance, on top of what is known by now: another job may have released meanwhile, and what
    /// is gone is not brought back.
    pub(crate) fn keep_files(&mut self, process: BkProcessId, done: &ConfigDone) {
        let view = self.fleet.view();
        if view.process(process).is_none() {
            return;
        }
        let kept = done.files.iter();
        let kept = kept.filter(|file| view.template(file.template).is_some());
        let files: Vec<ConfigFileRow> = kept
            .map(|file| {
                let known = view.config_file(process, file.local_inst_id, file.template);
                let before = || known.and_then(|known| known.released.clone());
                ConfigFileRow {
                    released: file.released.clone().or_else(before),
                    ..file.clone()
                }
            })
            .collect();
        self.watch_files(process, &files);
        let templates = &mut self.changes.templates;
        templates.files.extend(files);
        templates.contents.extend(done.contents.iter().cloned());
    }
}
