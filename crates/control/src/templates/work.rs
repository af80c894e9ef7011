//! What a job does to the config files of one instance: generate, release, compare.

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

use super::context;
use super::done::{ConfigDone, Made};
use super::render::{BAD_TEMPLATE, Failure, NO_ACTIVE_VERSION, Rendering};
use super::unified::unified;
use crate::topology::{Variables, instance, line};
use crate::{Control, ControlError, secrets};

/// A file that a template makes for an instance, before it is rendered.
#[derive(Debug)]
struct Planned {
    template: Arc<TemplateRow>,
    version: VersionId,
    path: String,
    before: Option<Arc<ConfigFileRow>>,
    rendering: Rendering,
}

pub(crate) async fn work(control: Control, job: JobRow, task: JobTaskRow) -> ConfigDone {
    let mut done = ConfigDone::default();
    let worked = match job.action {
        JobAction::Generate => generate(&control, &job, &task, &mut done).await,
        JobAction::Release => release(&control, &job, &task, &mut done).await,
        JobAction::Diff => compare(&control, &job, &task, &mut done).await,
        JobAction::Start
        | JobAction::Stop
        | JobAction::Restart
        | JobAction::Reload
        | JobAction::ForceStop
        | JobAction::SetAuto
        | JobAction::UnsetAuto => Ok(()),
    };
    done.failed = worked.err().map(|failure| (failure.code, failure.reason));
    done
}

async fn generate(
    control: &Control,
    job: &JobRow,
    task: &JobTaskRow,
    done: &mut ConfigDone,
) -> Result<(), Failure> {
    for planned in plan(control, job, task)? {
        let made = make(control, job, planned).await?;
        done.say(&format!("{} {}", made.state.md5, made.state.path));
        done.keep(task, made, false);
    }
    Ok(())
}

async fn release(
    control: &Control,
    job: &JobRow,
    task: &JobTaskRow,
    done: &mut ConfigDone,
) -> Result<(), Failure> {
    let host = host_of(control, task)?;
    let mut all = Vec::new();
    let planned = plan(control, job, task)?;
    check_number(control, task, &planned)?;
    // All are rendered before the first is written: a template that fails leaves the host as it was.
    for planned in planned {
        all.push(make(control, job, planned).await?);
    }
    for made in all {
        let wanted = DesiredFile {
            path: made.state.path.clone(),
            owner: made.template.owner.clone(),
            group: made.template.group.clone(),
            mode: made.template.filemode,
            md5: made.state.md5.clone(),
            keep_backups: DEFAULT_BACKUPS,
        };
        let bytes = made.body.as_bytes().to_vec();
        let written = control.write_file(host, wanted, bytes).await;
        let written = written.map_err(|error| of_host(error, &made.state.path))?;
        let what = match (&written.backup_path, written.unchanged) {
            (_, true) => "was so already".to_owned(),
            (Some(backup), false) => format!("written; what was there is {backup}"),
            (None, false) => "written".to_owned(),
        };
        done.say(&format!("{} {}: {what}", written.md5, made.state.path));
        done.keep(task, made, true);
    }
    Ok(())
}

async fn compare(
    control: &Control,
    job: &JobRow,
    task: &JobTaskRow,
    done: &mut ConfigDone,
) -> Result<(), Failure> {
    let host = host_of(control, task)?;
    let mut differing = Vec::new();
    for planned in plan(control, job, task)? {
        let known = planned
            .before
            .as_ref()
            .and_then(|file| file.released.as_ref().or(file.generated.as_ref()));
        let Some(known) = known else {
            done.say(&format!("{}: neither generated nor released", planned.path));
            differing.push(planned.path);
            continue;
        };
        let expected = control
            .0
            .store
            .content(known.content)
            .await
            .map_err(|error| unavailable(&error))?
            .unwrap_or_default();
        let found = control.read_file(host, &known.path, MAX_BYTES as u64).await;
        match found.map_err(|error| of_host(error, &known.path))? {
            None => {
                done.say(&format!("{}: is not there", known.path));
                differing.push(known.path.clone());
            }
            Some(file) if file.content == expected.as_bytes() => {
                done.say(&format!("{}: as released", known.path));
            }
            Some(file) => {
                done.say(&shown(known.path.clone(), expected, file.content).await);
                differing.push(known.path.clone());
            }
        }
    }
    if !differing.is_empty() {
        done.note = format!("differs: {}", differing.join(", "));
    }
    Ok(())
}

/// How a file differs, in words where its content is none.
async fn shown(path: String, expected: Arc<str>, actual: Vec<u8>) -> String {
    let size = actual.len();
    let text = String::from_utf8(actual).ok();
    let Some(actual) = text.filter(|text| !text.contains('\0')) else {
        return format!("{path}: differs, and is no text: {size} bytes");
    };
    // Long lines that are alike take their time.
    let work = tokio::task::spawn_blocking(move || unified(&path, &expected, &actual));
    work.await.unwrap_or_else(|_| "differs".to_owned())
}

/// An agent watches so many files of one instance, and no more.
fn check_number(control: &Control, task: &JobTaskRow, planned: &[Planned]) -> Result<(), Failure> {
    let fleet = control.fleet();
    let known = fleet.view().config_files(task.process);
    let known = known.filter(|file| file.local_inst_id == task.local_inst_id);
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

/// What the templates of an instance make, as the view is now.
fn plan(control: &Control, job: &JobRow, task: &JobTaskRow) -> Result<Vec<Planned>, Failure> {
    let gone = || Failure {
        code: Code::NOT_REGISTERED,
        reason: "the process is no longer in the topology".to_owned(),
    };
    let fleet = control.fleet();
    let row = fleet.view_row(task.process).ok_or_else(gone)?;
    let view = fleet.view();
    let wanted = &job.options.config_template_ids;
    let variables = context::variables(&row, task.local_inst_id);
    // Of all that are bound, wanted now or not: two of them must not make one file.
    let mut makers: BTreeMap<String, &TemplateRow> = BTreeMap::new();
    let mut planned = Vec::new();
    let bound = view.templates_for(task.process);
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
        planned.push(Planned {
            path,
            version: version.id,
            before: view
                .config_file(task.process, task.local_inst_id, template.id)
                .cloned(),
            rendering: Rendering::new(
                &fleet,
                &row,
                task.local_inst_id,
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

/// The whole path of the file on the host. What the names of an instance make of it must still be one.
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

async fn make(control: &Control, job: &JobRow, planned: Planned) -> Result<Made, Failure> {
    let text = planned.rendering.run().await?;
    let text = planned.template.line_separator.apply(&text);
    let md5: String = Md5::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(Made {
        state: FileState {
            version: planned.version,
            content: ContentId(secrets::sha256(&text)),
            md5,
            path: planned.path,
            at: control.now(),
            by: match job.user.is_empty() {
                true => job.app.clone(),
                false => job.user.clone(),
            },
        },
        template: planned.template,
        body: text.into(),
    })
}

fn host_of(control: &Control, task: &JobTaskRow) -> Result<Host, Failure> {
    let fleet = control.fleet();
    let row = fleet.view_row(task.process);
    let instance = row.and_then(|row| instance(&fleet, &row, task.local_inst_id));
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
        | ControlError::Unauthenticated { .. }
        | ControlError::NoSuchTask(_)
        | ControlError::Conflict(_)
        | ControlError::HostInUse(_)
        | ControlError::TooFast { .. }
        | ControlError::TooManyTries { .. }
        | ControlError::Busy(_)
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

/// Whether a job of config files has anything to do for a process.
pub(crate) fn has_templates(
    view: &fleet::view::View,
    job: &model::job::JobOptions,
    id: BkProcessId,
) -> bool {
    let wanted = &job.config_template_ids;
    let mut bound = view.templates_for(id).into_iter();
    bound.any(|template| wanted.is_empty() || wanted.contains(&template.id))
}
