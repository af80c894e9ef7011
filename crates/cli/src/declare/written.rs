//! Writes what the server has as documents that `muster apply` reads back without a change. Secrets are never in them.

use std::collections::{BTreeMap, BTreeSet};

use api::{Bindings, BusinessList, GrantRow, WebhookList};
use model::group::ProcessGroup;
use model::{FullName, Namespace};
use serde::Serialize;

use super::current::Current;
use super::plan_access::grants;
use super::plan_processes::read_groups;
use super::plan_templates::active_text;
use super::{Grantee, document, kinds};
use crate::client::Path;
use crate::definition::{self, Exported};
use crate::failure::{Failure, Kind};
use crate::processes::full_name;
use crate::verb::resource::WEBHOOKS;
use crate::verb::template::templates;

const HEAD: &str = "\
# Written by muster export; muster apply -f takes it. The secrets of webhooks and the passwords and
# secrets of users and apps are not in it: apply keeps those that exist.
";

/// One document, in the order of a file.
#[derive(Debug, Default, Serialize)]
pub struct Written {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<serde_norway::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<WrittenGroup>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    templates: Vec<WrittenTemplate>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    webhooks: Vec<WrittenWebhook>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grants: Vec<WrittenGrant>,
}

#[derive(Debug, Serialize)]
struct WrittenGroup {
    namespace: String,
    name: String,
    hosts: Vec<String>,
    cpu: f64,
    mem: f64,
    #[serde(skip_serializing_if = "is_zero")]
    cpu_weight: u8,
    #[serde(skip_serializing_if = "is_zero")]
    mem_weight: u8,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

#[derive(Debug, Serialize)]
struct WrittenTemplate {
    business: u32,
    name: String,
    path: String,
    owner: String,
    group: String,
    mode: String,
    line_ends: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    bindings: Bindings,
}

#[derive(Debug, Serialize)]
struct WrittenWebhook {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespaces: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kinds: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

#[derive(Debug, Serialize)]
struct WrittenGrant {
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    role: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    businesses: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

impl Written {
    pub fn of_processes(processes: Vec<serde_norway::Value>) -> Self {
        Self {
            processes,
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.namespaces.is_empty() && self.is_without_namespaces()
    }

    fn is_without_namespaces(&self) -> bool {
        self.processes.is_empty()
            && self.groups.is_empty()
            && self.templates.is_empty()
            && self.webhooks.is_empty()
            && self.grants.is_empty()
    }

    /// As YAML. A text that would not be read back is a failure, never a file.
    pub fn to_yaml(&self) -> Result<String, Failure> {
        let body = serde_norway::to_string(self)
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot be written as YAML: {e}")))?;
        let text = format!("{HEAD}{body}");
        kinds::declared(&document::parse("export.yaml", &text)?)?;
        Ok(text)
    }

    /// The parts of each namespace by themselves, and the rest.
    pub fn by_namespace(self) -> (BTreeMap<String, Self>, Self) {
        let mut parts: BTreeMap<String, Self> = BTreeMap::new();
        for namespace in &self.namespaces {
            let part = parts.entry(namespace.clone()).or_default();
            part.namespaces.push(namespace.clone());
        }
        for process in self.processes {
            let namespace = process.get("namespace").and_then(|name| name.as_str());
            let namespace = namespace.unwrap_or_default().to_owned();
            parts.entry(namespace).or_default().processes.push(process);
        }
        for group in self.groups {
            let part = parts.entry(group.namespace.clone()).or_default();
            part.groups.push(group);
        }
        let rest = Self {
            templates: self.templates,
            webhooks: self.webhooks,
            grants: self.grants,
            ..Self::default()
        };
        (parts, rest)
    }
}

/// Everything, or the processes and groups of some namespaces; and remarks about what is left out.
pub fn read(
    current: &Current<'_>,
    namespaces: &[Namespace],
) -> Result<(Written, Vec<String>), Failure> {
    let (mut written, mut remarks) = (Written::default(), Vec::new());
    let rows = match namespaces {
        [] => current.processes(None)?,
        some => {
            let mut rows = Vec::new();
            for namespace in some {
                rows.extend(current.processes(Some(namespace))?);
            }
            rows
        }
    };
    let mut hosts: BTreeMap<Namespace, BTreeSet<String>> = BTreeMap::new();
    let mut names: BTreeSet<FullName> = BTreeSet::new();
    let mut n_instances = 0;
    for row in &rows {
        let name = full_name(row)?;
        let known = hosts.entry(name.namespace.clone()).or_default();
        known.insert(row.host.to_string());
        match row.business {
            Some(_) => n_instances += 1,
            None => {
                names.insert(name);
            }
        }
    }
    for name in &names {
        for one in definitions(current, name)? {
            written.processes.push(definition::to_table(&one)?);
        }
    }
    let of_names: BTreeSet<String> = names
        .iter()
        .map(|name| name.namespace.to_string())
        .collect();
    written.namespaces = of_names.into_iter().collect();
    for (namespace, hosts) in &hosts {
        let hosts: Vec<String> = hosts.iter().cloned().collect();
        written.groups.extend(groups(current, namespace, &hosts)?);
    }
    if n_instances > 0 {
        remarks.push(format!(
            "{n_instances} instances of businesses are left out: muster topology export writes them"
        ));
    }
    if namespaces.is_empty() {
        let admin =
            templates_of(current, &mut written).and_then(|()| access(current, &mut written));
        match admin {
            Ok(()) => {}
            Err(failure) if failure.kind == Kind::Refused => {
                let why = failure.what();
                remarks.push(format!(
                    "templates, webhooks and grants are left out or in part: {why}"
                ));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok((written, remarks))
}

fn definitions(current: &Current<'_>, name: &FullName) -> Result<Vec<Exported>, Failure> {
    let (detail, rows) = current.process(name)?;
    let each = detail.definitions.iter().filter_map(|view| {
        let of_it = rows
            .iter()
            .filter(|row| row.definition == view.id && row.business.is_none());
        let mut hosts: Vec<String> = of_it.map(|row| row.host.to_string()).collect();
        hosts.sort();
        (!hosts.is_empty()).then(|| Exported {
            name: name.clone(),
            hosts,
            labels: view.labels.clone().into_owned(),
            spec: view.spec.clone().into_owned(),
        })
    });
    Ok(each.collect())
}

/// Hosts with the same group stand together.
fn groups(
    current: &Current<'_>,
    namespace: &Namespace,
    hosts: &[String],
) -> Result<Vec<WrittenGroup>, Failure> {
    let mut together: Vec<(ProcessGroup, Vec<String>)> = Vec::new();
    for (host, groups) in read_groups(current, namespace, hosts)? {
        for group in groups {
            match together.iter_mut().find(|(known, _)| *known == group) {
                Some((_, hosts)) => hosts.push(host.clone()),
                None => together.push((group, vec![host.clone()])),
            }
        }
    }
    let each = together.into_iter().map(|(group, hosts)| WrittenGroup {
        namespace: namespace.to_string(),
        name: group.id,
        hosts,
        cpu: group.resource.cpu_pool_limit,
        mem: group.resource.mem_pool_limit,
        cpu_weight: group.resource.cpu_pool_weight,
        mem_weight: group.resource.mem_pool_weight,
    });
    Ok(each.collect())
}

fn templates_of(current: &Current<'_>, written: &mut Written) -> Result<(), Failure> {
    let list: BusinessList = current.client.get(&Path::new("businesses"))?;
    for business in list.businesses {
        for row in templates(current.client, business.id)? {
            let text = row
                .active
                .map(|version| active_text(current, business.id, row.id, version));
            let folder = row.abs_path.trim_end_matches('/');
            written.templates.push(WrittenTemplate {
                business: business.id,
                path: format!("{folder}/{}", row.file_name),
                name: row.template_name,
                owner: row.owner,
                group: row.group,
                mode: row.filemode,
                line_ends: row.line_separator.into_owned(),
                text: text.transpose()?,
                bindings: row.bindings,
            });
        }
    }
    Ok(())
}

fn access(current: &Current<'_>, written: &mut Written) -> Result<(), Failure> {
    let list: WebhookList = current.client.get(&WEBHOOKS.path())?;
    let texts =
        |list: Vec<std::borrow::Cow<'static, str>>| list.into_iter().map(String::from).collect();
    written.webhooks = list
        .webhooks
        .into_iter()
        .map(|row| WrittenWebhook {
            url: row.url,
            namespaces: row.namespaces,
            kinds: row.kinds.map(texts),
            label: row.label,
        })
        .collect();
    for (grantee, rows) in grants(current)? {
        written
            .grants
            .extend(rows.into_iter().map(|row| grant(&grantee, row)));
    }
    Ok(())
}

fn grant(grantee: &Grantee, row: GrantRow) -> WrittenGrant {
    let (app, user) = match grantee.clone() {
        Grantee::App(code) => (Some(code), None),
        Grantee::User(name) => (None, Some(name)),
    };
    WrittenGrant {
        app,
        user,
        role: row.role.into_owned(),
        namespaces: row.namespaces,
        businesses: row.businesses,
        label: row.label,
    }
}
