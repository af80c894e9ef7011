//! The result of a worker for the config files of one instance, and how it is stored.

use std::sync::Arc;

use model::Code;
use model::config_template::{ConfigFileRow, ContentRow, FileState, TemplateRow};
use model::job::{JobTaskRow, truncate_output};
use model::topology::BkProcessId;

use crate::draft::Draft;

/// Committed with the task.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigResult {
    pub(crate) files: Vec<ConfigFileRow>,
    pub(crate) contents: Vec<ContentRow>,
    pub(crate) output: String,
    /// A remark about a success.
    pub(crate) note: String,
    pub(crate) failed: Option<(Code, String)>,
}

/// A rendered file with its content.
#[derive(Debug)]
pub(super) struct RenderedFile {
    pub(super) template: Arc<TemplateRow>,
    pub(super) state: FileState,
    pub(super) body: Arc<str>,
}

impl ConfigResult {
    /// Of a worker that panicked.
    pub(crate) fn panicked() -> Self {
        let reason = "this server failed at it: its log says where".to_owned();
        Self {
            failed: Some((Code::COMMAND_FAILED, reason)),
            ..Self::default()
        }
    }

    /// Of the upgrade of an agent.
    pub(crate) fn of_upgrade(upgraded: Result<String, (Code, String)>) -> Self {
        match upgraded {
            Ok(note) => Self {
                note,
                ..Self::default()
            },
            Err(failed) => Self {
                failed: Some(failed),
                ..Self::default()
            },
        }
    }

    pub(super) fn add_line(&mut self, line: &str) {
        self.output.push_str(line);
        self.output.push('\n');
        truncate_output(&mut self.output);
    }

    pub(super) fn add_file(&mut self, task: &JobTaskRow, rendered: RenderedFile, released: bool) {
        let Some((process, local_inst_id)) = task.target.instance() else {
            return;
        };
        self.files.push(ConfigFileRow {
            process,
            local_inst_id,
            template: rendered.template.id,
            released: released.then(|| rendered.state.clone()),
            generated: Some(rendered.state.clone()),
        });
        self.contents.push(ContentRow {
            id: rendered.state.content,
            body: rendered.body,
        });
    }
}

impl Draft<'_> {
    /// Stores the files of an instance on top of the current rows: another job may have released files meanwhile, and deleted
    /// templates or processes do not come back.
    pub(crate) fn store_files(&mut self, process: BkProcessId, result: &ConfigResult) {
        let view = self.fleet.view();
        if view.process(process).is_none() {
            return;
        }
        let kept = result.files.iter();
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
        templates.contents.extend(result.contents.iter().cloned());
    }
}
