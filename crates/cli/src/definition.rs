//! The definition that `register` and `update` send: a file, flags on top of it, and defaults for the rest.

use std::collections::BTreeMap;
use std::path::Path;

use api::{HostRef, RegisterBody, SpecBody};
use model::selector::LabelSelector;
use model::spec::raw::{RawIdentity, RawLimits, RawPolicy, SpecRules};
use model::spec::{RawSpec, Spec};
use model::{FullName, Labels};

use crate::failure::Failure;

mod file;
mod flags;
mod write;

pub use file::{did_you_mean, from_table, hosts_of_value, read, read_one};
pub use flags::SpecArgs;
pub use write::{Exported, from_text, to_json, to_table, to_text};

/// A process as described so far, in part or in whole.
#[derive(Debug, Clone, Default)]
pub struct Definition {
    pub name: Option<FullName>,
    pub hosts: Vec<HostRef>,
    /// Hosts that are not named; only in files of `muster apply`.
    pub selects: Option<HostSelection>,
    pub labels: BTreeMap<String, String>,
    pub spec: RawSpec,
}

/// Hosts by what they are, instead of by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostSelection {
    /// Every host that the server knows.
    All,
    /// Those with these labels of their own.
    Labels(LabelSelector),
}

/// Defaults from where and by whom the command is run.
#[derive(Debug, Clone)]
pub struct CallerDefaults {
    pub directory: Option<String>,
    pub user: Option<String>,
}

impl Definition {
    /// The registered definition, to be changed.
    pub fn of(spec: Spec, labels: &Labels) -> Self {
        Self {
            labels: to_map(labels),
            spec: SpecBody::Complete(Box::new(spec)).into_raw(),
            ..Self::default()
        }
    }

    /// Sets directory and user of the caller where none are given. Not for files: those describe other machines.
    pub fn fill_in(&mut self, caller: CallerDefaults) {
        let identity = self.spec.identity.get_or_insert_default();
        identity.setup_path = given(identity.setup_path.take()).or(caller.directory);
        identity.user = given(identity.user.take()).or(caller.user);
    }

    /// Fills in what follows from the rest, and checks everything.
    pub fn complete(&self, name: &FullName) -> Result<(Spec, Labels), Failure> {
        let labels = Labels::parse(self.labels.clone())?;
        let mut spec = self.spec.clone();
        let control = spec.control.get_or_insert_default().clone();
        let start = control.start_cmd.as_deref();
        derive_names(spec.identity.get_or_insert_default(), name, start);
        let limits = spec.resource.get_or_insert_default();
        *limits = RawLimits {
            cpu: limits.cpu.or(Some(0.0)),
            mem: limits.mem.or(Some(0.0)),
            ..limits.clone()
        };
        if spec.alive_monitor_policy.is_none() {
            let policy = spec.monitor_policy.get_or_insert_default();
            *policy = RawPolicy {
                auto_type: policy.auto_type.or(Some(1)),
                ..policy.clone()
            };
        }
        let spec = spec.complete(SpecRules::Registration).map_err(explain)?;
        Ok((spec, labels))
    }
}

/// The body that registers a definition.
pub fn body(hosts: Vec<HostRef>, labels: &Labels, spec: Spec) -> RegisterBody {
    RegisterBody {
        hosts: Some(hosts),
        labels: to_map(labels),
        spec: Some(SpecBody::Complete(Box::new(spec))),
    }
}

fn to_map(labels: &Labels) -> BTreeMap<String, String> {
    let pairs = labels.iter();
    pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

/// The program's name from the start command; a pid file of its own for each process, so that two of them in one
/// directory are not taken for each other.
fn derive_names(identity: &mut RawIdentity, name: &FullName, start: Option<&str>) {
    identity.proc_name = given(identity.proc_name.take()).or_else(|| start.and_then(program_of));
    identity.pid_path = given(identity.pid_path.take()).or_else(|| {
        let file = format!("{}.pid", name.name);
        let path = Path::new(identity.setup_path.as_ref()?).join(file);
        path.to_str().map(str::to_owned)
    });
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// `./bin/server --port 80` → `server`. Assignments and `exec` in front of it are passed over.
fn program_of(command: &str) -> Option<String> {
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let word = command
        .split_whitespace()
        .find(|word| !is_assignment(word) && !matches!(*word, "exec" | "nohup"))?;
    let name = word.trim_matches(['"', '\'']).rsplit('/').next()?;
    let is_plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'));
    (is_plain && !name.is_empty()).then(|| name.to_owned())
}

/// Says which flag would have given a field that is missing.
fn explain(invalid: model::Invalid) -> Failure {
    let flag = match invalid.field.as_str() {
        "identity.proc_name" => "--proc-name NAME, or --start COMMAND that begins with it",
        "identity.setup_path" => "--setup-path DIR",
        "identity.pid_path" => "--pid-path FILE",
        "identity.user" => "--user NAME",
        _ => "",
    };
    let failure = Failure::usage(format!("spec.{invalid}"));
    match flag.is_empty() {
        true => failure,
        false => failure.advise(format!("give it with {flag}, or in the file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_first_word_that_is_one() {
        for (command, program) in [
            ("./bin/server --port 80", Some("server")),
            ("sleep 1000", Some("sleep")),
            (
                "A=1 B='x' exec /usr/sbin/nginx -g 'daemon off;'",
                Some("nginx"),
            ),
            ("\"/opt/my-app\" run", Some("my-app")),
            ("$(which x) run", None),
            ("", None),
        ] {
            assert_eq!(program_of(command).as_deref(), program, "{command}");
        }
    }

    #[test]
    fn missing_fields_follow_from_the_others() {
        let mut definition = Definition::default();
        definition.spec.control.get_or_insert_default().start_cmd = Some("sleep 1000".into());
        definition.fill_in(CallerDefaults {
            directory: Some("/srv/x".into()),
            user: Some("me".into()),
        });
        let (spec, _) = definition
            .complete(&"demo/napper".parse().unwrap())
            .unwrap();
        assert_eq!(spec.identity.proc_name, "sleep");
        assert_eq!(spec.identity.pid_path, "/srv/x/napper.pid");
        assert_eq!(spec.identity.user, "me");
        assert_eq!(spec.monitor_policy, model::spec::Policy::default());
    }

    #[test]
    fn a_missing_field_names_the_flag_that_gives_it() {
        let failure = Definition::default()
            .complete(&"a/b".parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            failure.contains("spec.identity.proc_name: is required"),
            "{failure}"
        );
        assert!(failure.contains("--proc-name"), "{failure}");
    }
}
