//! Renders the paths and commands of a program for one instance.

use std::borrow::Cow;

use fleet::view::ViewRow;
use model::spec::raw::{RawConfigFile, SpecRules};
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
        .map(|text| program.text(*text))
        .chain([program.spec.as_str()])
        .all(|text| form(text) == Form::Plain)
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
    let mut raw = further(program, variables)?;
    let identity = raw.identity.get_or_insert_default();
    identity.proc_name = Some(name.to_owned());
    identity.setup_path = work_path;
    identity.pid_path = pid_file;
    identity.user = Some(match program.user.trim() {
        "" => "root".to_owned(),
        user => user.to_owned(),
    });
    let control = raw.control.get_or_insert_default();
    control.start_cmd = rendered(ProgramText::Start)?;
    control.stop_cmd = rendered(ProgramText::Stop)?;
    control.restart_cmd = rendered(ProgramText::Restart)?;
    control.reload_cmd = rendered(ProgramText::Reload)?;
    control.kill_cmd = rendered(ProgramText::FaceStop)?;
    let policy = raw.monitor_policy.get_or_insert_default();
    policy.start_check_secs = program.bk_start_check_secs.map(i64::from);
    policy.op_timeout = program.timeout.map(i64::from);
    let watched = watched.into_iter().map(|(path, md5)| {
        Some(RawConfigFile {
            path: Some(path),
            md5: Some(md5),
        })
    });
    let files = raw.configmap.get_or_insert_default();
    files.extend(watched);
    raw.complete(SpecRules::Inline).map_err(with_source_field)
}

/// The rest of the spec, every text of it rendered.
fn further(program: &Program, variables: &Variables<'_>) -> Result<RawSpec, Invalid> {
    if program.spec.is_empty() {
        return Ok(RawSpec::default());
    }
    let unreadable = |error: serde_json::Error| Invalid::new("spec", error.to_string());
    let mut spec: Value = serde_json::from_str(&program.spec).map_err(unreadable)?;
    render_texts(&mut spec, "spec", variables)?;
    serde_json::from_value(spec).map_err(unreadable)
}

fn render_texts(value: &mut Value, field: &str, variables: &Variables<'_>) -> Result<(), Invalid> {
    match value {
        Value::String(text) => {
            let rendered = line(field, text, variables)?.into_owned();
            *text = rendered;
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                render_texts(item, &format!("{field}[{index}]"), variables)?;
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                render_texts(value, &format!("{field}.{name}"), variables)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
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
        "control.start_cmd" => "start_cmd",
        "control.stop_cmd" => "stop_cmd",
        "control.restart_cmd" => "restart_cmd",
        "control.reload_cmd" => "reload_cmd",
        other => return Invalid::new(format!("spec.{other}"), invalid.rule),
    };
    Invalid::new(field, invalid.rule)
}

/// The labels that all instances of a program share.
pub(super) fn labels(program: &Program) -> Labels {
    let given = program.labels.iter();
    let given = given.fold(Labels::default(), |labels, (key, value)| {
        labels.with(key, value)
    });
    given.with("bk_process_name", &program.bk_process_name)
}
