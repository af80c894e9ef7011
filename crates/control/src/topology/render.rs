//! Renders the paths and commands of a program for one instance.

use std::borrow::Cow;

use fleet::view::ViewRow;
use model::spec::raw::{RawCommands, RawConfigFile, RawIdentity, RawPolicy, SpecRules};
use model::spec::{RawSpec, Spec};
use model::topology::{Program, ProgramText, inst_id};
use model::{Invalid, Labels};
use serde_json::{Map, Value};
use template::{Context, Limits, NoIncludes, Template};

/// The variables that texts of a program may use.
#[derive(Debug, Clone)]
pub(crate) struct Variables<'a> {
    pub(crate) inst_id: u64,
    pub(crate) local_inst_id: u32,
    pub(crate) set_name: &'a str,
    pub(crate) module_name: &'a str,
    pub(crate) process_name: &'a str,
    pub(crate) func_name: &'a str,
}

impl<'a> Variables<'a> {
    pub(crate) fn of(row: &'a ViewRow<'_>, local_inst_id: u32) -> Self {
        Self {
            inst_id: inst_id(row.process.ordinal, row.largest_proc_num, local_inst_id),
            local_inst_id,
            set_name: &row.set.name,
            module_name: &row.module.name,
            process_name: &row.program.bk_process_name,
            func_name: &row.program.bk_func_name,
        }
    }

    /// Finds a variable by its new or its old name.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        Some(match name {
            "inst_id" | "InstID" => self.inst_id.into(),
            "inst_id_0" | "InstID0" => self.inst_id.saturating_sub(1).into(),
            "local_inst_id" | "LocalInstID" => self.local_inst_id.into(),
            "local_inst_id0" | "LocalInstID0" => self.local_inst_id.saturating_sub(1).into(),
            "bk_set_name" | "SetName" => self.set_name.into(),
            "bk_module_name" | "ModuleName" => self.module_name.into(),
            "bk_process_name" => self.process_name.into(),
            "FuncID" => self.func_name.into(),
            _ => return None,
        })
    }

    pub(crate) fn all(&self) -> Map<String, Value> {
        NAMES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), self.get(name)?)))
            .collect()
    }
}

const NAMES: [&str; 14] = [
    "inst_id",
    "inst_id_0",
    "local_inst_id",
    "local_inst_id0",
    "bk_set_name",
    "bk_module_name",
    "bk_process_name",
    "InstID",
    "InstID0",
    "LocalInstID",
    "LocalInstID0",
    "SetName",
    "ModuleName",
    "FuncID",
];

/// Whether all texts are the same for every instance.
pub(super) fn is_plain(program: &Program) -> bool {
    ProgramText::ALL
        .iter()
        .all(|text| form(program.text(*text)) == Form::Plain)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Without variables.
    Plain,
    /// Only `${name}`: replaced without the template engine.
    Names,
    Template,
}

fn form(text: &str) -> Form {
    let special = text.contains("<%")
        || text.contains('\\')
        || text
            .lines()
            .any(|line| matches!(line.trim_start().bytes().next(), Some(b'%' | b'#')));
    match (special, text.contains("${")) {
        (true, _) => Form::Template,
        (false, false) => Form::Plain,
        (false, true) => match names(text).all(|name| is_name(name.unwrap_or("-"))) {
            true => Form::Names,
            false => Form::Template,
        },
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The content of each `${…}`; None if it is not closed.
fn names(text: &str) -> impl Iterator<Item = Option<&str>> {
    text.split("${")
        .skip(1)
        .map(|rest| rest.split_once('}').map(|(name, _)| name.trim()))
}

pub(crate) fn line<'t>(
    field: &str,
    text: &'t str,
    variables: &Variables<'_>,
) -> Result<Cow<'t, str>, Invalid> {
    let refused = |why: String| Invalid::new(field, why);
    match form(text) {
        Form::Plain => Ok(Cow::Borrowed(text)),
        Form::Names => {
            let mut parts = text.split("${");
            let mut whole = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let (name, rest) = part.split_once('}').unwrap_or((part, ""));
                let value = variables
                    .get(name.trim())
                    .ok_or_else(|| refused(format!("unknown variable {:?}", name.trim())))?;
                match value {
                    Value::String(text) => whole.push_str(&text),
                    other => whole.push_str(&other.to_string()),
                }
                whole.push_str(rest);
            }
            Ok(Cow::Owned(whole))
        }
        Form::Template => {
            let template =
                Template::parse(field, text).map_err(|error| refused(error.to_string()))?;
            let context = Context::from(variables.all());
            let rendered = template.render(&context, &Limits::default(), &NoIncludes);
            rendered
                .map(|text| Cow::Owned(text.trim_end_matches('\n').to_owned()))
                .map_err(|error| refused(error.to_string()))
        }
    }
}

/// The spec that an instance is registered with.
pub(super) fn spec(
    program: &Program,
    variables: &Variables<'_>,
    watched: Vec<(String, String)>,
) -> Result<Spec, Invalid> {
    let rendered = |of: ProgramText| -> Result<Option<String>, Invalid> {
        let text = line(of.field(), program.text(of), variables)?;
        Ok((!text.trim().is_empty()).then(|| text.into_owned()))
    };
    let work_path = rendered(ProgramText::WorkPath)?;
    let pid_file = rendered(ProgramText::PidFile)?.map(|file| within(work_path.as_deref(), file));
    let name = match program.bk_func_name.trim() {
        "" => &program.bk_process_name,
        name => name,
    };
    let raw = RawSpec {
        identity: Some(RawIdentity {
            proc_name: Some(name.to_owned()),
            setup_path: work_path,
            pid_path: pid_file,
            user: Some(match program.user.trim() {
                "" => "root".to_owned(),
                user => user.to_owned(),
            }),
            ..RawIdentity::default()
        }),
        control: Some(RawCommands {
            start_cmd: rendered(ProgramText::Start)?,
            stop_cmd: rendered(ProgramText::Stop)?,
            restart_cmd: rendered(ProgramText::Restart)?,
            reload_cmd: rendered(ProgramText::Reload)?,
            kill_cmd: rendered(ProgramText::FaceStop)?,
            ..RawCommands::default()
        }),
        monitor_policy: Some(RawPolicy {
            start_check_secs: program.bk_start_check_secs.map(i64::from),
            op_timeout: program.timeout.map(i64::from),
            ..RawPolicy::default()
        }),
        configmap: Some(
            watched
                .into_iter()
                .map(|(path, md5)| {
                    Some(RawConfigFile {
                        path: Some(path),
                        md5: Some(md5),
                    })
                })
                .collect(),
        ),
        ..RawSpec::default()
    };
    raw.complete(SpecRules::Inline).map_err(with_source_field)
}

/// A relative file is within the work path.
fn within(work_path: Option<&str>, file: String) -> String {
    match (file.starts_with('/'), work_path) {
        (true, _) | (false, None) => file,
        (false, Some(folder)) => format!("{}/{file}", folder.trim_end_matches('/')),
    }
}

/// Names the field as the CMDB does.
fn with_source_field(invalid: Invalid) -> Invalid {
    let field = match invalid.field.as_str() {
        "identity.proc_name" => "bk_func_name",
        "identity.setup_path" => "work_path",
        "identity.pid_path" => "pid_file",
        "identity.user" => "user",
        "control.kill_cmd" => "face_stop_cmd",
        "monitor_policy.op_timeout" => "timeout",
        "monitor_policy.start_check_secs" => "bk_start_check_secs",
        other => other.strip_prefix("control.").unwrap_or(other),
    };
    Invalid::new(field, invalid.rule)
}

/// The labels that all instances of an alias share.
pub(super) fn labels(alias: &str) -> Labels {
    Labels::default().with("bk_process_name", alias)
}
