//! The config file work of a job for one instance: generate, release, compare.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use md5::{Digest, Md5};
use model::config_file::{DEFAULT_BACKUPS, DesiredFile, MAX_BYTES};
use model::config_template::{
    ConfigFileRow, ContentId, FileState, TemplateRow, VersionId, VersionState, check_file_path,
};
use model::job::{JobAction, JobRow, JobTaskRow};
use model::spec::raw::MAX_CONFIG_FILES;
use model::topology::BkProcessId;
use model::{Code, Host};

use super::render::{BAD_TEMPLATE, Failure, NO_ACTIVE_VERSION, Rendering};
use super::result::{ConfigResult, RenderedFile};
use super::unified::unified;
use crate::answers::user_or_app;
use crate::topology::{Variables, instance, line};
use crate::{ControlError, Templates, secrets};

/// A file that a template makes for an instance, not yet rendered.
#[derive(Debug)]
struct PlannedFile {
    template: Arc<TemplateRow>,
    version: VersionId,
    path: String,
    before: Option<Arc<ConfigFileRow>>,
    rendering: Rendering,
}

pub(crate) async fn work(templates: Arc<Templates>, job: JobRow, task: JobTaskRow) -> ConfigResult {
    let mut result = ConfigResult::default();
    let worked = match job.action {
        JobAction::Generate => generate(&templates, &job, &task, &mut result).await,
        JobAction::Release => release(&templates, &job, &task, &mut result).await,
        JobAction::Diff => compare(&templates, &job, &task, &mut result).await,
        JobAction::Start
        | JobAction::Stop
        | JobAction::Restart
        | JobAction::Reload
        | JobAction::ForceStop
        | JobAction::SetAuto
        | JobAction::UnsetAuto
        | JobAction::UpgradeAgent
        | JobAction::Update => Ok(()),
    };
    result.failed = worked.err().map(|failure| (failure.code, failure.reason));
    result
}

async fn generate(
    templates: &Templates,
    job: &JobRow,
    task: &JobTaskRow,
    result: &mut ConfigResult,
) -> Result<(), Failure> {
    for planned in plan(templates, job, task)? {
        let rendered = make(templates, job, planned).await?;
        result.add_line(&format!("{} {}", rendered.state.md5, rendered.state.path));
        result.add_file(task, rendered, false);
    }
    Ok(())
}

async fn release(
    templates: &Templates,
    job: &JobRow,
    task: &JobTaskRow,
    result: &mut ConfigResult,
) -> Result<(), Failure> {
    let host = host_of(templates, task)?;
    let mut all = Vec::new();
    let planned = plan(templates, job, task)?;
    check_number(templates, task, &planned)?;
    // All files are rendered before the first is written: a failing template leaves the host unchanged.
    for planned in planned {
        all.push(make(templates, job, planned).await?);
    }
    for rendered in all {
        let wanted = DesiredFile {
            path: rendered.state.path.clone(),
            owner: rendered.template.owner.clone(),
            group: rendered.template.group.clone(),
            mode: rendered.template.filemode,
            md5: rendered.state.md5.clone(),
            keep_backups: DEFAULT_BACKUPS,
        };
        let bytes = rendered.body.as_bytes().to_vec();
        let written = templates.sessions.write_file(host, wanted, bytes).await;
        let written = written.map_err(|error| of_host(error, &rendered.state.path))?;
        let what = match (&written.backup_path, written.unchanged) {
            (_, true) => "was so already".to_owned(),
            (Some(backup), false) => format!("written; what was there is {backup}"),
            (None, false) => "written".to_owned(),
        };
        result.add_line(&format!("{} {}: {what}", written.md5, rendered.state.path));
        result.add_file(task, rendered, true);
    }
    Ok(())
}

async fn compare(
    templates: &Templates,
    job: &JobRow,
    task: &JobTaskRow,
    result: &mut ConfigResult,
) -> Result<(), Failure> {
    let host = host_of(templates, task)?;
    let mut differing = Vec::new();
    for planned in plan(templates, job, task)? {
        let known = planned
            .before
            .as_ref()
            .and_then(|file| file.released.as_ref().or(file.generated.as_ref()));
        let Some(known) = known else {
            result.add_line(&format!("{}: neither generated nor released", planned.path));
            differing.push(planned.path);
            continue;
        };
        let expected = templates
            .core
            .store
            .content(known.content)
            .await
            .map_err(|error| unavailable(&error))?
            .unwrap_or_default();
        let found = templates
            .sessions
            .read_file(host, &known.path, MAX_BYTES as u64)
            .await;
        match found.map_err(|error| of_host(error, &known.path))? {
            None => {
                result.add_line(&format!("{}: is not there", known.path));
                differing.push(known.path.clone());
            }
            Some(file) if file.content == expected.as_bytes() => {
                result.add_line(&format!("{}: as released", known.path));
            }
            Some(file) => {
                result.add_line(&shown(known.path.clone(), expected, file.content).await);
                differing.push(known.path.clone());
            }
        }
    }
    if !differing.is_empty() {
        result.note = format!("differs: {}", differing.join(", "));
    }
    Ok(())
}

/// The diff of a file, or a remark if it is no text.
async fn shown(path: String, expected: Arc<str>, actual: Vec<u8>) -> String {
    let size = actual.len();
    let text = String::from_utf8(actual).ok();
    let Some(actual) = text.filter(|text| !text.contains('\0')) else {
        return format!("{path}: differs, and is no text: {size} bytes");
    };
    // Similar long texts take long to compare.
    let work = tokio::task::spawn_blocking(move || unified(&path, &expected, &actual));
    work.await.unwrap_or_else(|_| "differs".to_owned())
}

/// Checks the limit on watched files per instance.
fn check_number(
    templates: &Templates,
    task: &JobTaskRow,
    planned: &[PlannedFile],
) -> Result<(), Failure> {
    let fleet = templates.core.fleet();
    let (process, local_inst_id) = instance_ids(task)?;
    let known = fleet.view().config_files(process);
    let known = known.filter(|file| file.local_inst_id == local_inst_id);
    let known = known.filter_map(|file| file.released.as_ref());
    let mut paths: BTreeSet<&str> = known.map(|file| file.path.as_str()).collect();
    paths.extend(planned.iter().map(|file| file.path.as_str()));
    match paths.len() > MAX_CONFIG_FILES {
        false => Ok(()),
        true => Err(Failure {
            code: Code::COMMAND_FAILED,
            reason: format!(
                "this instance would have {} config files, and at most {MAX_CONFIG_FILES} are watched: bind fewer templates",
                paths.len()
            ),
        }),
    }
}

/// The instance of a task. Only jobs of businesses have config files.
fn instance_ids(task: &JobTaskRow) -> Result<(BkProcessId, u32), Failure> {
    task.target.instance().ok_or_else(not_in_topology)
}

fn not_in_topology() -> Failure {
    Failure {
        code: Code::NOT_REGISTERED,
        reason: "the process is no longer in the topology".to_owned(),
    }
}

/// The files that the templates of an instance make, by the current view.
fn plan(
    templates: &Templates,
    job: &JobRow,
    task: &JobTaskRow,
) -> Result<Vec<PlannedFile>, Failure> {
    let (process, local_inst_id) = instance_ids(task)?;
    let fleet = templates.core.fleet();
    let row = fleet.view_row(process).ok_or_else(not_in_topology)?;
    let view = fleet.view();
    let wanted = &job.options.config_template_ids;
    let variables = Variables::of(&row, local_inst_id);
    // Of all bound templates, selected or not: no two of them may make the same file.
    let mut makers: BTreeMap<String, &TemplateRow> = BTreeMap::new();
    let mut planned = Vec::new();
    let bound = view.templates_for(process);
    let is_wanted = |row: &TemplateRow| wanted.is_empty() || wanted.contains(&row.id);
    let (now, later): (Vec<_>, Vec<_>) = bound.into_iter().partition(|row| is_wanted(row));
    for template in later {
        if let Ok(path) = path_of(template, &variables) {
            makers.insert(path, template);
        }
    }
    for template in now {
        let version = view
            .version_in(template.id, VersionState::Active)
            .ok_or_else(|| Failure {
                code: NO_ACTIVE_VERSION,
                reason: format!("template {} has no active version", template.template_name),
            })?;
        let path = path_of(template, &variables)?;
        if let Some(other) = makers.insert(path.clone(), template) {
            return Err(Failure {
                code: BAD_TEMPLATE,
                reason: format!(
                    "templates {} and {} both make {path}",
                    other.template_name, template.template_name
                ),
            });
        }
        planned.push(PlannedFile {
            path,
            version: version.id,
            before: view
                .config_file(process, local_inst_id, template.id)
                .cloned(),
            rendering: Rendering::new(
                &fleet,
                &row,
                local_inst_id,
                template.template_name.clone(),
                version.content.clone(),
            ),
            template: template.clone(),
        });
    }
    match planned.is_empty() {
        false => Ok(planned),
        true => Err(Failure {
            code: NO_ACTIVE_VERSION,
            reason: "no template is bound to this process".to_owned(),
        }),
    }
}

/// The absolute path of the file on the host, checked after its variables were replaced.
fn path_of(template: &TemplateRow, variables: &Variables<'_>) -> Result<String, Failure> {
    let bad = |what: String| Failure {
        code: BAD_TEMPLATE,
        reason: format!("template {}: {what}", template.template_name),
    };
    let part = |field: &str, text: &str| {
        let text = line(field, text, variables);
        text.map(|text| text.into_owned())
            .map_err(|invalid| bad(invalid.to_string()))
    };
    let folder = part("abs_path", &template.abs_path)?;
    let file = part("file_name", &template.file_name)?;
    check_file_path(&folder, &file).map_err(|invalid| bad(invalid.to_string()))?;
    Ok(format!("{}/{file}", folder.trim_end_matches('/')))
}

async fn make(
    templates: &Templates,
    job: &JobRow,
    planned: PlannedFile,
) -> Result<RenderedFile, Failure> {
    let text = planned.rendering.run().await?;
    let text = planned.template.line_separator.apply(&text);
    let md5: String = Md5::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(RenderedFile {
        state: FileState {
            version: planned.version,
            content: ContentId(secrets::sha256(&text)),
            md5,
            path: planned.path,
            at: templates.core.now(),
            by: user_or_app(&job.user, &job.app),
        },
        template: planned.template,
        body: text.into(),
    })
}

fn host_of(templates: &Templates, task: &JobTaskRow) -> Result<Host, Failure> {
    let fleet = templates.core.fleet();
    let (process, local_inst_id) = instance_ids(task)?;
    let row = fleet.view_row(process);
    let instance = row.and_then(|row| instance(&fleet, &row, local_inst_id));
    instance
        .map(|instance| instance.row.host().host)
        .ok_or_else(|| Failure {
            code: Code::NOT_REGISTERED,
            reason: "this instance of the process is not registered".to_owned(),
        })
}

fn of_host(error: ControlError, path: &str) -> Failure {
    let code = match &error {
        ControlError::Away(_) | ControlError::NotFound(_) => Code::NO_CONNECTION,
        ControlError::Invalid(_)
        | ControlError::Declined(_)
        | ControlError::Forbidden(_)
        | ControlError::ForbiddenToUser(_)
        | ControlError::Unauthenticated(_)
        | ControlError::JoinTokenRefused(_)
        | ControlError::NoSuchTask(_)
        | ControlError::Conflict(_)
        | ControlError::HostInUse(_)
        | ControlError::TooFast { .. }
        | ControlError::TooManyTries { .. }
        | ControlError::Busy(_)
        | ControlError::CountChanged { .. }
        | ControlError::AgentCountChanged { .. }
        | ControlError::HostCountChanged { .. }
        | ControlError::BadTemplate(_)
        | ControlError::Unavailable(_) => Code::COMMAND_FAILED,
    };
    let said = error.to_string();
    Failure {
        code,
        reason: match said.contains(path) {
            true => said,
            false => format!("{path}: {said}"),
        },
    }
}

fn unavailable(error: &store::StoreError) -> Failure {
    Failure {
        code: Code::COMMAND_FAILED,
        reason: error.to_string(),
    }
}

/// Whether a config file job has templates for a process.
pub(crate) fn has_templates(
    view: &fleet::view::View,
    job: &model::job::JobOptions,
    id: BkProcessId,
) -> bool {
    let wanted = &job.config_template_ids;
    let mut bound = view.templates_for(id).into_iter();
    bound.any(|template| wanted.is_empty() || wanted.contains(&template.id))
}
