//! `spec.after`: which other processes must be ready, up or done before this one is started. An extension of the GSE
//! documents.
//!
//! The rules by which a dependency counts as met are here, because the agent applies them to the processes of its host and
//! the server to those of the fleet.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Spec;
use super::raw::{MAX_SECS, within};
use crate::status::LastExit;
use crate::{FullName, Invalid, ProcessState, UnixMillis, lenient};

const WAITS_FOR: &str = "waits for ";
const SINCE: &str = " since ";

/// How many dependencies a spec may name.
pub const MAX_DEPENDENCIES: usize = 16;

/// One entry of `spec.after`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Dependency {
    pub process: FullName,
    #[serde(default, skip_serializing_if = "When::is_default")]
    pub when: When,
    #[serde(default, rename = "where", skip_serializing_if = "Place::is_default")]
    pub place: Place,
    /// After so many seconds the process is started all the same; without it, it waits without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<u32>,
    /// Whether the process is restarted when the dependency was started anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
}

/// What a dependency must have come to.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// It runs, and is healthy.
    #[default]
    Ready,
    /// It runs.
    Up,
    /// Its last run ended with code 0.
    ExitedOk,
}

impl When {
    pub const ALL: [Self; 3] = [Self::Ready, Self::Up, Self::ExitedOk];

    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Up => "up",
            Self::ExitedOk => "exited_ok",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|when| when.as_str() == text)
    }

    /// For a sentence: `waits for db/postgres to be ready`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ready => "to be ready",
            Self::Up => "to be up",
            Self::ExitedOk => "to exit with code 0",
        }
    }

    /// Whether a process with this spec and state is what a dependent waits for.
    pub fn is_met_by(self, spec: &Spec, state: ProcessState, last_exit: Option<LastExit>) -> bool {
        match self {
            Self::Ready => is_ready(spec, state),
            Self::Up => is_up(state),
            Self::ExitedOk => has_exited_ok(state, last_exit),
        }
    }
}

/// On which hosts a dependency must have come to that.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// On the host of the process itself: the agent decides alone.
    #[default]
    SameHost,
    /// On at least one host.
    Any,
    /// On every host where it is registered, and at least one.
    All,
}

impl Place {
    pub const ALL: [Self; 3] = [Self::SameHost, Self::Any, Self::All];

    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameHost => "same_host",
            Self::Any => "any",
            Self::All => "all",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.as_str() == text)
    }

    /// For a sentence: `waits for db/postgres to be ready on this host`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::SameHost => "on this host",
            Self::Any => "on any host",
            Self::All => "on all of its hosts",
        }
    }
}

impl Dependency {
    /// `db/postgres to be ready on this host`.
    pub fn words(&self) -> String {
        let (when, place) = (self.when.words(), self.place.words());
        format!("{} {when} {place}", self.process)
    }
}

/// The sentence of a process that waits for these, each with what is known instead:
/// `waits for db/postgres to be ready on this host (backoff) since 2026-11-17T13:40:05Z`.
pub fn waits_for<'a>(
    unmet: impl Iterator<Item = (&'a Dependency, &'a str)>,
    since: UnixMillis,
) -> String {
    let each = unmet.map(|(dependency, now)| format!("{} ({now})", dependency.words()));
    let each: Vec<String> = each.collect();
    format!(
        "{WAITS_FOR}{}{SINCE}{}",
        each.join(", "),
        since.to_rfc3339()
    )
}

/// What the sentence of a status says that it waits for, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting<'a> {
    pub dependencies: Vec<&'a Dependency>,
    pub since: UnixMillis,
}

/// Reads the sentence of [`waits_for`] in the message of a process with this `spec.after`; none in any other message.
pub fn waiting<'a>(message: &str, after: &'a [Dependency]) -> Option<Waiting<'a>> {
    let (each, rest) = message.strip_prefix(WAITS_FOR)?.split_once(SINCE)?;
    let named = after
        .iter()
        .filter(|dependency| each.contains(&format!("{} (", dependency.words())));
    Some(Waiting {
        dependencies: named.collect(),
        since: UnixMillis::parse_rfc3339(rest.get(..20)?)?,
    })
}

/// Runs and is healthy; with a ready probe, that has succeeded.
fn is_ready(spec: &Spec, state: ProcessState) -> bool {
    match state {
        ProcessState::Ready => true,
        ProcessState::Running => spec.probes.ready.is_none(),
        ProcessState::Unknown
        | ProcessState::Starting
        | ProcessState::Unhealthy
        | ProcessState::Backoff
        | ProcessState::Failed
        | ProcessState::Stopped
        | ProcessState::Completed
        | ProcessState::Scheduled => false,
    }
}

/// Runs, healthy or not.
fn is_up(state: ProcessState) -> bool {
    match state {
        ProcessState::Running | ProcessState::Ready | ProcessState::Unhealthy => true,
        ProcessState::Unknown
        | ProcessState::Starting
        | ProcessState::Backoff
        | ProcessState::Failed
        | ProcessState::Stopped
        | ProcessState::Completed
        | ProcessState::Scheduled => false,
    }
}

/// Does not run, and its last run ended with code 0.
fn has_exited_ok(state: ProcessState, last_exit: Option<LastExit>) -> bool {
    match state {
        ProcessState::Completed => true,
        ProcessState::Scheduled => last_exit.is_some_and(|last| last.exit.is_success()),
        ProcessState::Unknown
        | ProcessState::Running
        | ProcessState::Ready
        | ProcessState::Starting
        | ProcessState::Unhealthy
        | ProcessState::Backoff
        | ProcessState::Failed
        | ProcessState::Stopped => false,
    }
}

/// A cycle of names that begins and ends with `name`, if its dependencies lead back to it. `dependencies_of` answers for
/// every other name.
pub fn cycle_through<'a>(
    name: &'a FullName,
    after: &'a [Dependency],
    mut dependencies_of: impl FnMut(&FullName) -> Vec<&'a FullName>,
) -> Option<Vec<&'a FullName>> {
    // Breadth first, so that the shortest cycle is named.
    let mut reached_from: BTreeMap<&FullName, &FullName> = BTreeMap::new();
    let mut seen: BTreeSet<&FullName> = BTreeSet::new();
    let mut next: Vec<&FullName> = Vec::new();
    let first = after.iter().map(|dependency| &dependency.process);
    let mut found: Vec<(&FullName, &FullName)> = first.map(|to| (name, to)).collect();
    loop {
        for (from, to) in found.drain(..) {
            if seen.insert(to) {
                reached_from.insert(to, from);
                next.push(to);
            }
            if to == name {
                return Some(way_back(name, &reached_from));
            }
        }
        if next.is_empty() {
            return None;
        }
        for from in std::mem::take(&mut next) {
            found.extend(dependencies_of(from).into_iter().map(|to| (from, to)));
        }
    }
}

/// From `name` along its dependencies until `name` again.
fn way_back<'a>(
    name: &'a FullName,
    reached_from: &BTreeMap<&'a FullName, &'a FullName>,
) -> Vec<&'a FullName> {
    let mut way = vec![name];
    let mut at = name;
    while let Some(from) = reached_from.get(at) {
        way.push(from);
        at = from;
        if at == name {
            break;
        }
    }
    way.reverse();
    way
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RawDependency {
    pub process: Option<String>,
    pub when: Option<When>,
    #[serde(rename = "where")]
    pub place: Option<Place>,
    #[serde(deserialize_with = "lenient::int")]
    pub patience: Option<i64>,
    pub restart: Option<bool>,
}

impl RawDependency {
    fn complete(self) -> Result<Dependency, Invalid> {
        let text = self.process.unwrap_or_default();
        ensure!(!text.trim().is_empty(), "process", "is required");
        let process = text.trim().parse().map_err(|invalid: Invalid| {
            let rule = format!("must be NAMESPACE/NAME: {}", invalid.rule);
            Invalid::new("process", rule)
        })?;
        let dependency = Dependency {
            process,
            when: self.when.unwrap_or_default(),
            place: self.place.unwrap_or_default(),
            patience: within("patience", self.patience, 0, MAX_SECS)?.map(|secs| secs as u32),
            restart: self.restart.unwrap_or(false),
        };
        ensure!(
            !dependency.restart || dependency.place == Place::SameHost,
            "restart",
            "needs where: same_host"
        );
        ensure!(
            !dependency.restart || dependency.when != When::ExitedOk,
            "restart",
            "needs when: ready or up"
        );
        Ok(dependency)
    }
}

/// Validates; errors name the field relative to the spec.
pub(super) fn complete(entries: Vec<Option<RawDependency>>) -> Result<Vec<Dependency>, Invalid> {
    ensure!(
        entries.len() <= MAX_DEPENDENCIES,
        "after",
        "must be at most {MAX_DEPENDENCIES} processes"
    );
    let mut after: Vec<Dependency> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let at = |invalid: Invalid| invalid.within(&format!("after[{index}]"));
        let dependency = entry.unwrap_or_default().complete().map_err(at)?;
        if let Some(other) = after
            .iter()
            .position(|other| other.process == dependency.process)
        {
            let rule = format!(
                "names {} like after[{other}]: name each process once",
                dependency.process
            );
            return Err(at(Invalid::new("process", rule)));
        }
        after.push(dependency);
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::status::Exit;

    fn read(value: Value) -> Result<Vec<Dependency>, Invalid> {
        complete(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn all_settings_round_trip_through_json() {
        let given = json!([
            {"process": "db/postgres", "when": "ready", "where": "same_host", "restart": true},
            {"process": "db/migrate", "when": "exited_ok", "where": "any", "patience": "30"},
        ]);
        let after = read(given).unwrap();
        let text = serde_json::to_string(&after).unwrap();
        assert_eq!(
            text,
            r#"[{"process":"db/postgres","restart":true},{"process":"db/migrate","when":"exited_ok","where":"any","patience":30}]"#
        );
        assert_eq!(
            serde_json::from_str::<Vec<Dependency>>(&text).unwrap(),
            after
        );
        assert_eq!(
            after[1].words(),
            "db/migrate to exit with code 0 on any host"
        );
        assert!(read(json!([])).unwrap().is_empty());
    }

    #[test]
    fn each_bad_field_is_named_with_its_rule() {
        let many: Vec<Value> = (0..17)
            .map(|n| json!({"process": format!("a/b{n}")}))
            .collect();
        for (value, field) in [
            (json!([{}]), "after[0].process"),
            (json!([null]), "after[0].process"),
            (
                json!([{"process": "a/b"}, {"process": "postgres"}]),
                "after[1].process",
            ),
            (
                json!([{"process": "a/b", "patience": -1}]),
                "after[0].patience",
            ),
            (
                json!([{"process": "a/b", "patience": 86401}]),
                "after[0].patience",
            ),
            (
                json!([{"process": "a/b"}, {"process": "a/b", "when": "up"}]),
                "after[1].process",
            ),
            (
                json!([{"process": "a/b", "where": "any", "restart": true}]),
                "after[0].restart",
            ),
            (
                json!([{"process": "a/b", "when": "exited_ok", "restart": true}]),
                "after[0].restart",
            ),
            (Value::Array(many), "after"),
        ] {
            assert_eq!(read(value.clone()).unwrap_err().field, field, "{value}");
        }
        for bad in [
            json!([{"when": "alive"}]),
            json!([{"where": "everywhere"}]),
            json!(["a/b"]),
        ] {
            assert!(serde_json::from_value::<Vec<RawDependency>>(bad).is_err());
        }
    }

    #[test]
    fn each_state_is_ready_up_or_done_or_none_of_them() {
        let text =
            r#"{"identity":{"proc_name":"p","setup_path":"/p","pid_path":"/p/pid","user":"root"}}"#;
        let spec: Spec = serde_json::from_str(text).unwrap();
        let exited = |code| Some(LastExit::new(Exit::Code(code), UnixMillis(1)));
        for (state, last_exit, met) in [
            (
                ProcessState::Running,
                exited(0),
                &[When::Ready, When::Up][..],
            ),
            (ProcessState::Unhealthy, None, &[When::Up]),
            (ProcessState::Starting, exited(0), &[]),
            (ProcessState::Backoff, exited(0), &[]),
            (ProcessState::Stopped, exited(0), &[]),
            (ProcessState::Failed, exited(1), &[]),
            (ProcessState::Unknown, exited(0), &[]),
            (ProcessState::Completed, exited(0), &[When::ExitedOk]),
            (ProcessState::Scheduled, exited(0), &[When::ExitedOk]),
            (ProcessState::Scheduled, exited(1), &[]),
            (ProcessState::Scheduled, None, &[]),
        ] {
            let is_met = |when: &When| when.is_met_by(&spec, state, last_exit);
            let found: Vec<When> = When::ALL.into_iter().filter(is_met).collect();
            assert_eq!(found, met, "{state:?} {last_exit:?}");
        }
    }

    #[test]
    fn the_sentence_of_a_wait_is_read_back() {
        let after = read(json!([
            {"process": "db/a"},
            {"process": "db/ab", "when": "up", "where": "all"},
            {"process": "db/c"},
        ]))
        .unwrap();
        let since = UnixMillis(1_794_922_805_000);
        let unmet = [(&after[1], "2 of 5 hosts"), (&after[2], "stopped")];
        let sentence = waits_for(unmet.into_iter(), since);
        assert_eq!(
            sentence,
            "waits for db/ab to be up on all of its hosts (2 of 5 hosts), db/c to be ready on this host (stopped) \
             since 2026-11-17T13:40:05Z"
        );
        let message = format!("{sentence}; before: exited with code 1 after 3 s");
        let waiting = waiting(&message, &after).unwrap();
        assert_eq!(waiting.dependencies, [&after[1], &after[2]]);
        assert_eq!(waiting.since, since);
        for other in ["", "waits for the end", "exited with code 1"] {
            assert_eq!(super::waiting(other, &after), None, "{other}");
        }
    }

    #[test]
    fn a_cycle_is_named_from_its_first_process_to_itself() {
        let graph: HashMap<FullName, Vec<FullName>> = [
            ("n/b", &["n/c"][..]),
            ("n/c", &["n/d", "n/e"]),
            ("n/e", &["n/a"]),
            ("n/x", &["n/y"]),
            ("n/y", &["n/x"]),
        ]
        .into_iter()
        .map(|(name, to)| {
            let to = to.iter().map(|to| to.parse().unwrap()).collect();
            (name.parse().unwrap(), to)
        })
        .collect();
        let cycle = |name: &str, after: Value| {
            let (name, after) = (name.parse().unwrap(), read(after).unwrap());
            let cycle = cycle_through(&name, &after, |name| {
                graph.get(name).into_iter().flatten().collect()
            });
            let names = cycle.map(|way| way.iter().map(ToString::to_string).collect::<Vec<_>>());
            names.map(|names| names.join(" → "))
        };
        let of = |name: &str| json!([{"process": name}]);
        assert_eq!(cycle("n/a", of("n/a")).as_deref(), Some("n/a → n/a"));
        assert_eq!(
            cycle("n/a", of("n/b")).as_deref(),
            Some("n/a → n/b → n/c → n/e → n/a")
        );
        assert_eq!(cycle("n/a", of("n/d")), None);
        // A cycle elsewhere does not go through this process.
        assert_eq!(cycle("n/a", of("n/x")), None);
    }
}
