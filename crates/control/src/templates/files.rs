//! The files of one template on all hosts: what was generated and released, and whether what is on the host differs.

use std::sync::Arc;

use fleet::view::{View, ViewRow};
use model::access::{Caller, Permission};
use model::config_template::{ConfigFileRow, FileState, TemplateId, VersionId, VersionState};
use model::topology::{BkProcessId, BusinessId};
use model::{Host, Reason};

use super::Templates;
use super::edit::find;
use super::versions::bound_instances;
use crate::ControlError;

/// How an agent says that a file differs; a path and how follow.
const DRIFT: &str = "config drift: ";

/// Which files of a template.
#[derive(Debug, Clone, Default)]
pub struct FileFilter {
    /// Whether what is on the host differs from what was released. Files of which that is not known match neither.
    pub drift: Option<bool>,
    pub state: Option<FileStage>,
    /// Words; each must be part of the path, the expression or the host.
    pub words: Vec<String>,
}

/// How far a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStage {
    /// Nothing was generated for the instance.
    None,
    /// It was generated, and never released.
    Generated,
    /// What was generated last is not what was released.
    Changed,
    Released,
}

impl FileStage {
    pub const ALL: [Self; 4] = [Self::None, Self::Generated, Self::Changed, Self::Released];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Generated => "generated",
            Self::Changed => "changed",
            Self::Released => "released",
        }
    }

    fn of(row: Option<&ConfigFileRow>) -> Self {
        let row = row.map(|row| (&row.generated, &row.released));
        match row {
            None | Some((None, None)) => Self::None,
            Some((Some(_), None)) => Self::Generated,
            Some((Some(generated), Some(released))) => {
                let is_same = generated.md5 == released.md5 && generated.path == released.path;
                if is_same {
                    Self::Released
                } else {
                    Self::Changed
                }
            }
            Some((None, Some(_))) => Self::Released,
        }
    }
}

/// Some of the files of a template.
#[derive(Debug, Default)]
pub struct TemplateFiles {
    /// How many match.
    pub count: usize,
    /// The version that is generated from.
    pub active: Option<VersionId>,
    pub files: Vec<TemplateFile>,
}

/// A file of a template for one instance.
#[derive(Debug, Clone)]
pub struct TemplateFile {
    pub process: BkProcessId,
    pub local_inst_id: u32,
    pub expression: String,
    pub host: Host,
    pub is_connected: bool,
    pub state: FileStage,
    pub row: Option<Arc<ConfigFileRow>>,
    pub drift: Drift,
}

/// Whether what is on the host differs from what was released, as its agent last said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drift {
    /// Nothing was released, the agent does not watch the file, or the agent is away.
    Unknown(Reason),
    None,
    /// A sentence for people, and the same for programs.
    Differs {
        text: String,
        reason: Reason,
    },
}

impl Drift {
    pub fn differs(&self) -> Option<bool> {
        match self {
            Self::Unknown(_) => None,
            Self::None => Some(false),
            Self::Differs { .. } => Some(true),
        }
    }
}

impl Templates {
    /// The files of a template, by process and instance: of every instance that it is bound to, and of those that it was bound
    /// to when their file was released.
    pub fn files(
        &self,
        caller: &Caller,
        business: BusinessId,
        template: TemplateId,
        filter: &FileFilter,
        (start, limit): (usize, usize),
    ) -> Result<TemplateFiles, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        let fleet = self.core.fleet();
        let view = fleet.view();
        find(view, business, template)?;
        let mut instances = bound_instances(&fleet, business, template);
        let processes = view.processes_of(business).into_iter().flatten();
        for file in processes.flat_map(|id| view.config_files(BkProcessId(id))) {
            if file.template == template {
                instances.push((file.process, file.local_inst_id));
            }
        }
        instances.sort_unstable();
        instances.dedup();
        let active = view.version_in(template, VersionState::Active);
        let mut found = TemplateFiles {
            active: active.map(|version| version.id),
            ..TemplateFiles::default()
        };
        for (process, local_inst_id) in instances {
            let Some(row) = fleet.view_row(process) else {
                continue;
            };
            let file = file(view, &row, local_inst_id, template);
            if filter.matches(&file) {
                if (start..start.saturating_add(limit)).contains(&found.count) {
                    found.files.push(file);
                }
                found.count += 1;
            }
        }
        Ok(found)
    }
}

impl FileFilter {
    fn matches(&self, file: &TemplateFile) -> bool {
        let path = file.row.as_ref().and_then(|row| path(row));
        let texts = [
            path.unwrap_or_default().to_lowercase(),
            file.expression.to_lowercase(),
            file.host.to_string(),
        ];
        self.drift
            .is_none_or(|drift| file.drift.differs() == Some(drift))
            && self.state.is_none_or(|state| file.state == state)
            && (self.words.iter()).all(|word| texts.iter().any(|text| text.contains(word)))
    }
}

/// Of what was released, else of what was generated.
fn path(row: &ConfigFileRow) -> Option<&str> {
    let state = row.released.as_ref().or(row.generated.as_ref());
    state.map(|state| state.path.as_str())
}

fn file(view: &View, row: &ViewRow<'_>, local_inst_id: u32, template: TemplateId) -> TemplateFile {
    let file = view.config_file(row.id(), local_inst_id, template);
    let instances = row.instances();
    let instance = instances
        .iter()
        .find(|one| one.local_inst_id == local_inst_id);
    let released = file.and_then(|file| file.released.as_ref());
    TemplateFile {
        process: row.id(),
        local_inst_id,
        expression: row.expression(),
        host: instance.map_or(row.machine.host, |instance| instance.row.host().host),
        is_connected: row.is_connected(),
        state: FileStage::of(file.map(|file| &**file)),
        drift: match (released, instance) {
            (None, _) => Drift::Unknown(Reason::new("not_released")),
            (Some(_), None) => Drift::Unknown(Reason::new("not_registered")),
            (Some(released), Some(instance)) => {
                let row = &instance.row;
                let watched = &row.definition().spec.configmap;
                let is_watched = watched.iter().any(|file| {
                    file.path == released.path && file.md5.eq_ignore_ascii_case(&released.md5)
                });
                drift(
                    &row.message(),
                    released,
                    is_watched,
                    row.host().link.is_up(),
                )
            }
        },
        row: file.cloned(),
    }
}

/// What the message of an instance says of a released file. While the agent is away, the message has its last words.
fn drift(message: &str, released: &FileState, is_watched: bool, is_up: bool) -> Drift {
    let path = &released.path;
    let begin = format!("{DRIFT}{path} ");
    let said = message.find(&begin).map(|at| &message[at..]);
    let said = said.map(|said| {
        let end = said[DRIFT.len()..].find(&format!("; {DRIFT}"));
        end.map_or(said, |end| &said[..DRIFT.len() + end])
    });
    match said {
        Some(said) => {
            let how = &said[begin.len()..];
            let reason = match how.strip_prefix("has md5 ") {
                Some(rest) => {
                    let md5 = rest.split(' ').next().unwrap_or_default();
                    Reason::new("differs").with("md5", md5)
                }
                None => Reason::new("unreadable").with("detail", how),
            };
            Drift::Differs {
                text: said.to_owned(),
                reason: reason.with("path", path),
            }
        }
        None if !is_up => Drift::Unknown(Reason::new("agent_away")),
        None if !is_watched => Drift::Unknown(Reason::new("not_watched")),
        None => Drift::None,
    }
}

#[cfg(test)]
mod tests {
    use model::UnixMillis;
    use model::config_template::ContentId;

    use super::*;

    fn released(path: &str) -> FileState {
        FileState {
            version: VersionId(1),
            content: ContentId([0; 32]),
            md5: "aa".into(),
            path: path.into(),
            at: UnixMillis(1),
            by: "alice".into(),
        }
    }

    #[test]
    fn each_file_has_its_own_part_of_the_message() {
        let message = "exited; config drift: /a has md5 bb and not aa; config drift: /b cannot be read: no such file";
        let of = |path| drift(message, &released(path), true, true);
        let Drift::Differs { text, reason } = of("/a") else {
            panic!("/a differs");
        };
        assert_eq!(text, "config drift: /a has md5 bb and not aa");
        assert_eq!((&*reason.code, &*reason.params["md5"]), ("differs", "bb"));
        let Drift::Differs { reason, .. } = of("/b") else {
            panic!("/b cannot be read");
        };
        assert_eq!(reason.code, "unreadable");
        assert_eq!(reason.params["detail"], "cannot be read: no such file");
        assert_eq!(of("/c"), Drift::None);
    }

    #[test]
    fn a_file_that_is_not_watched_is_not_known() {
        let unknown = |watched, up| drift("", &released("/a"), watched, up);
        assert_eq!(
            unknown(true, false),
            Drift::Unknown(Reason::new("agent_away"))
        );
        assert_eq!(
            unknown(false, true),
            Drift::Unknown(Reason::new("not_watched"))
        );
        let last = drift(
            "agent offline since 1; before that: config drift: /a has md5 bb and not aa",
            &released("/a"),
            true,
            false,
        );
        assert_eq!(
            last.differs(),
            Some(true),
            "the last words of the agent count"
        );
    }
}
