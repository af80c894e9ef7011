//! What files declare: processes, groups, config templates, webhooks and grants, for `muster apply`, `export` and `import`.
//!
//! [`document`] reads files and folders into tables that know their lines; [`kinds`] makes them [`Declared`]; [`current`] reads
//! what the server has; [`plan`] compares the two; [`carry_out`] does what a plan says. Nothing before `carry_out` changes
//! anything.

pub mod carry_out;
pub mod current;
pub mod document;
pub mod kinds;
pub mod lines;
pub mod plan;
mod plan_access;
mod plan_processes;
mod plan_templates;
mod repeated;
pub mod show;
pub mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use api::HostRef;
use model::group::ProcessGroup;
use model::{FullName, Labels, Namespace, Spec};

use crate::business::BusinessRef;
use crate::definition::HostSelection;

/// Where something is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: Arc<str>,
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The hosts of something, as they are declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredHosts {
    Listed(Vec<HostRef>),
    Selected(HostSelection),
    /// Every host with processes of the namespace.
    OfNamespace,
}

#[derive(Debug)]
pub struct DeclaredProcess {
    pub place: Place,
    pub name: FullName,
    pub hosts: DeclaredHosts,
    pub labels: Labels,
    pub spec: Spec,
}

#[derive(Debug)]
pub struct DeclaredGroup {
    pub place: Place,
    pub namespace: Namespace,
    pub hosts: DeclaredHosts,
    pub group: ProcessGroup,
}

#[derive(Debug)]
pub struct DeclaredTemplate {
    pub place: Place,
    pub business: BusinessRef,
    pub name: String,
    /// Folder and name of the file.
    pub folder: String,
    pub file_name: String,
    pub owner: String,
    pub group: String,
    pub mode: String,
    pub line_ends: String,
    pub text: Option<String>,
    pub bindings: Option<api::Bindings>,
}

#[derive(Debug)]
pub struct DeclaredWebhook {
    pub place: Place,
    pub url: String,
    pub namespaces: Option<BTreeSet<String>>,
    pub kinds: Option<BTreeSet<String>>,
    pub label: Option<String>,
    /// For a webhook that is made; one that exists keeps its own.
    pub secret: Option<String>,
}

/// An app or a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grantee {
    App(String),
    User(String),
}

impl fmt::Display for Grantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::App(code) => write!(f, "app {code}"),
            Self::User(name) => write!(f, "user {name}"),
        }
    }
}

/// One role in one place: grants are compared by these, because the server keeps several places in one grant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GrantAtom {
    pub role: String,
    pub scope: GrantPlace,
    pub label: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantPlace {
    Everything,
    Namespace(String),
    Business(u32),
}

impl fmt::Display for GrantAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of ", self.role)?;
        match &self.scope {
            GrantPlace::Everything => f.write_str("everything")?,
            GrantPlace::Namespace(namespace) => f.write_str(namespace)?,
            GrantPlace::Business(id) => write!(f, "business {id}")?,
        }
        match &self.label {
            Some(label) => write!(f, " with the labels {label}"),
            None => Ok(()),
        }
    }
}

/// A grant as it is declared: its businesses may have names.
#[derive(Debug)]
pub struct DeclaredGrant {
    pub place: Place,
    pub grantee: Grantee,
    pub role: String,
    pub namespaces: Vec<String>,
    pub businesses: Vec<BusinessRef>,
    pub label: Option<String>,
}

/// The kinds of things that files declare. `--prune` removes only of kinds that stand in the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Template,
    Process,
    Group,
    Webhook,
    Grant,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Process => "process",
            Self::Group => "groups",
            Self::Webhook => "webhook",
            Self::Grant => "grant",
        }
    }
}

/// All that the files declare.
#[derive(Debug, Default)]
pub struct Declared {
    pub kinds: BTreeSet<Kind>,
    /// Those of `namespaces:`, and those of processes and groups.
    pub namespaces: BTreeMap<Namespace, Place>,
    pub processes: Vec<DeclaredProcess>,
    pub groups: Vec<DeclaredGroup>,
    pub templates: Vec<DeclaredTemplate>,
    pub webhooks: Vec<DeclaredWebhook>,
    pub grants: Vec<DeclaredGrant>,
}
