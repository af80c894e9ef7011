//! Makes declarations of documents, and refuses what is unknown, wrong or declared twice, with its file and line.

use std::collections::BTreeSet;
use std::path::Path;

use api::Bindings;
use model::Namespace;
use model::access::Role;
use model::event::EventKind;
use model::group::{self, RawPool, RawProcessGroup};
use model::selector::LabelSelector;
use model::webhook::WebhookUrl;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::document::Document;
use super::{
    Declared, DeclaredGrant, DeclaredGroup, DeclaredHosts, DeclaredProcess, DeclaredTemplate,
    DeclaredWebhook, Grantee, Kind, repeated,
};
use crate::business::BusinessRef;
use crate::definition::{self, did_you_mean};
use crate::failure::Failure;
use crate::verb::template::split_path;

/// The keys of a document.
const SECTIONS: [&str; 6] = [
    "namespaces",
    "processes",
    "groups",
    "templates",
    "webhooks",
    "grants",
];

/// Everything that documents declare.
pub fn declared(documents: &[Document]) -> Result<Declared, Failure> {
    let mut all = Declared::default();
    for document in documents {
        read(document, &mut all)?;
    }
    for (namespace, place) in all
        .processes
        .iter()
        .map(|one| (&one.name.namespace, &one.place))
        .chain(all.groups.iter().map(|one| (&one.namespace, &one.place)))
    {
        all.namespaces
            .entry(namespace.clone())
            .or_insert_with(|| place.clone());
    }
    repeated::refuse(&all)?;
    Ok(all)
}

fn read(document: &Document, all: &mut Declared) -> Result<(), Failure> {
    let table = &document.table;
    // One process at the top, as `muster export NAMESPACE/NAME` writes it.
    if !table.keys().any(|key| SECTIONS.contains(&key.as_str())) && table.contains_key("name") {
        all.kinds.insert(Kind::Process);
        all.processes.push(process(document, "", table.clone())?);
        return Ok(());
    }
    for (section, value) in table {
        let path = section.as_str();
        let Value::Array(items) = value else {
            return Err(match SECTIONS.contains(&path) {
                true => document.wrong(path, "must be a list"),
                false => unknown(document, path),
            });
        };
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            match section.as_str() {
                "namespaces" => {
                    let form: Value = item.clone();
                    let name = form
                        .as_str()
                        .ok_or("must be the name of a namespace".to_owned());
                    let name = name.and_then(|name| Namespace::parse(name).map_err(|e| e.rule));
                    let name = name.map_err(|rule| document.wrong(&path, rule))?;
                    all.namespaces
                        .entry(name)
                        .or_insert_with(|| document.place(&path));
                }
                "processes" => {
                    let Value::Object(item) = item else {
                        return Err(document.wrong(&path, "must be a table"));
                    };
                    all.processes.push(process(document, &path, item.clone())?);
                }
                "groups" => all.groups.push(group(document, &path, item)?),
                "templates" => all.templates.push(template(document, &path, item)?),
                "webhooks" => all.webhooks.push(webhook(document, &path, item)?),
                "grants" => all.grants.push(grant(document, &path, item)?),
                _ => return Err(unknown(document, section)),
            }
        }
        // A list that is empty says, too, that the files declare this kind.
        match section.as_str() {
            "namespaces" | "processes" => all.kinds.insert(Kind::Process),
            "groups" => all.kinds.insert(Kind::Group),
            "templates" => all.kinds.insert(Kind::Template),
            "webhooks" => all.kinds.insert(Kind::Webhook),
            "grants" => all.kinds.insert(Kind::Grant),
            _ => return Err(unknown(document, section)),
        };
    }
    Ok(())
}

fn unknown(document: &Document, section: &str) -> Failure {
    let meant = did_you_mean(section, &SECTIONS);
    let known = SECTIONS.join(", ");
    document.wrong(section, format!("is no part of a document: {known}{meant}"))
}

fn process(
    document: &Document,
    path: &str,
    table: Map<String, Value>,
) -> Result<DeclaredProcess, Failure> {
    let wrong = |rule: String| {
        // Errors begin with the field: `hosts[1]: …`, `spec.identity.user: …`.
        let (field, rule) = rule.split_once(": ").unwrap_or(("", &rule));
        let flat = field.strip_prefix("spec.").unwrap_or(field);
        let section = flat.split('.').next().unwrap_or_default();
        // Sections may stand at the top or under `spec`.
        let field = match table.contains_key(section) {
            true => flat,
            false => field,
        };
        document.wrong(&inside(path, field), rule)
    };
    let read = definition::from_table(table.clone()).map_err(wrong)?;
    let name = read.name.clone();
    let name = name.ok_or_else(|| wrong("namespace and name: are required".to_owned()))?;
    let hosts = match read.selects.clone() {
        Some(selection) => DeclaredHosts::Selected(selection),
        None => DeclaredHosts::Listed(read.hosts.clone()),
    };
    if hosts == DeclaredHosts::Listed(Vec::new()) {
        let rule = "hosts: must name hosts, or be all, or {labels: \"zone=a\"}";
        return Err(wrong(rule.to_owned()));
    }
    let (spec, labels) = read
        .complete(&name)
        .map_err(|e| wrong(e.what().to_owned()))?;
    Ok(DeclaredProcess {
        place: document.place(path),
        name,
        hosts,
        labels,
        spec,
    })
}

fn inside(path: &str, field: &str) -> String {
    match (path.is_empty(), field.is_empty()) {
        (_, true) => path.to_owned(),
        (true, false) => field.to_owned(),
        (false, false) => format!("{path}.{field}"),
    }
}

/// Reads a form whose unknown fields are refused.
fn form<T: DeserializeOwned>(document: &Document, path: &str, value: &Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let field = match e.path().to_string().as_str() {
            "." => String::new(),
            field => field.to_owned(),
        };
        let rule = e.inner().to_string();
        // unknown field `x`, expected one of `a`, `b`
        let words: Vec<&str> = rule.split('`').skip(1).step_by(2).collect();
        let meant = match (rule.starts_with("unknown field"), words.split_first()) {
            (true, Some((unknown, known))) => did_you_mean(unknown, known),
            _ => String::new(),
        };
        document.wrong(
            &inside(path, &field),
            format!("{}{meant}", rule.replace('`', "")),
        )
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupForm {
    namespace: String,
    name: String,
    hosts: Option<Value>,
    cpu: Option<f64>,
    mem: Option<f64>,
    cpu_weight: Option<i64>,
    mem_weight: Option<i64>,
}

fn group(document: &Document, path: &str, value: &Value) -> Result<DeclaredGroup, Failure> {
    let form: GroupForm = form(document, path, value)?;
    let at = |field: &str| inside(path, field);
    let namespace =
        Namespace::parse(&form.namespace).map_err(|e| document.wrong(&at("namespace"), e.rule))?;
    if form.cpu.is_none() && form.mem.is_none() {
        return Err(document.wrong(path, "a group needs a limit: cpu, mem or both, in percent"));
    }
    let raw = RawProcessGroup {
        id: Some(form.name.into()),
        resource: Some(RawPool {
            cpu_pool_limit: form.cpu,
            mem_pool_limit: form.mem,
            cpu_pool_weight: form.cpu_weight,
            mem_pool_weight: form.mem_weight,
        }),
    };
    let group = group::complete(vec![Some(raw)]).map_err(|e| {
        let field = match e.field.rsplit('.').next().unwrap_or_default() {
            "id" => "name",
            "cpu_pool_limit" => "cpu",
            "mem_pool_limit" => "mem",
            "cpu_pool_weight" => "cpu_weight",
            "mem_pool_weight" => "mem_weight",
            _ => "",
        };
        document.wrong(&at(field), e.rule)
    })?;
    let hosts = match form.hosts {
        None => DeclaredHosts::OfNamespace,
        Some(value) => match definition::hosts_of_value(Some(&value)) {
            Ok((_, Some(selection))) => DeclaredHosts::Selected(selection),
            Ok((hosts, None)) if !hosts.is_empty() => DeclaredHosts::Listed(hosts),
            Ok(_) => return Err(document.wrong(&at("hosts"), "is empty")),
            Err(rule) => {
                let (field, rule) = rule.split_once(": ").unwrap_or(("hosts", &rule));
                return Err(document.wrong(&at(field), rule));
            }
        },
    };
    let group = group.into_iter().next();
    Ok(DeclaredGroup {
        place: document.place(path),
        namespace,
        hosts,
        group: group.ok_or_else(|| document.wrong(path, "is no group"))?,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateForm {
    business: Value,
    name: String,
    path: String,
    owner: Option<String>,
    group: Option<String>,
    mode: Option<String>,
    line_ends: Option<String>,
    text: Option<String>,
    text_file: Option<String>,
    bindings: Option<Bindings>,
}

fn business(document: &Document, path: &str, value: &Value) -> Result<BusinessRef, Failure> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    text.parse().map_err(|rule| document.wrong(path, rule))
}

fn template(document: &Document, path: &str, value: &Value) -> Result<DeclaredTemplate, Failure> {
    let form: TemplateForm = form(document, path, value)?;
    let at = |field: &str| inside(path, field);
    let (folder, file_name) = split_path(&form.path)
        .ok_or_else(|| document.wrong(&at("path"), "must be an absolute path of a file"))?;
    let line_ends = form.line_ends.unwrap_or_else(|| "LF".to_owned());
    if !["LF", "CRLF", "CR"].contains(&line_ends.as_str()) {
        return Err(document.wrong(&at("line_ends"), "must be LF, CRLF or CR"));
    }
    if form.text.is_some() && form.text_file.is_some() {
        return Err(document.wrong(&at("text_file"), "must not stand beside text"));
    }
    let text = match form.text_file {
        Some(file) => Some(beside(document, &at("text_file"), &file)?),
        None => form.text,
    };
    Ok(DeclaredTemplate {
        place: document.place(path),
        business: business(document, &at("business"), &form.business)?,
        name: form.name,
        folder,
        file_name,
        owner: form.owner.unwrap_or_else(|| "root".to_owned()),
        group: form.group.unwrap_or_else(|| "root".to_owned()),
        mode: form.mode.unwrap_or_else(|| "0644".to_owned()),
        line_ends,
        text,
        bindings: form.bindings,
    })
}

/// The text of another file, which is named relative to the document.
fn beside(document: &Document, path: &str, file: &str) -> Result<String, Failure> {
    let folder = Path::new(&*document.file).parent().unwrap_or(Path::new(""));
    let whole = folder.join(file);
    std::fs::read_to_string(&whole)
        .map_err(|e| document.wrong(path, format!("{}: cannot be read: {e}", whole.display())))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookForm {
    url: String,
    namespaces: Option<Vec<String>>,
    kinds: Option<Vec<String>>,
    label: Option<String>,
    secret_file: Option<String>,
}

fn webhook(document: &Document, path: &str, value: &Value) -> Result<DeclaredWebhook, Failure> {
    let form: WebhookForm = form(document, path, value)?;
    let at = |field: &str| inside(path, field);
    WebhookUrl::parse(&form.url).map_err(|e| document.wrong(&at("url"), e.rule))?;
    for (index, name) in form.namespaces.iter().flatten().enumerate() {
        let path = at(&format!("namespaces[{index}]"));
        Namespace::parse(name).map_err(|e| document.wrong(&path, e.rule))?;
    }
    let known = EventKind::ALL.map(EventKind::as_str);
    for (index, kind) in form.kinds.iter().flatten().enumerate() {
        if !known.contains(&kind.as_str()) {
            let path = at(&format!("kinds[{index}]"));
            let meant = did_you_mean(kind, &known);
            return Err(document.wrong(&path, format!("is no kind of events{meant}")));
        }
    }
    for (field, list) in [("namespaces", &form.namespaces), ("kinds", &form.kinds)] {
        if list.as_ref().is_some_and(Vec::is_empty) {
            let rule = "must name at least one, or be left out for all";
            return Err(document.wrong(&at(field), rule));
        }
    }
    let secret = match &form.secret_file {
        Some(file) => Some(
            beside(document, &at("secret_file"), file)?
                .trim()
                .to_owned(),
        ),
        None => None,
    };
    Ok(DeclaredWebhook {
        place: document.place(path),
        url: form.url,
        namespaces: form.namespaces.map(BTreeSet::from_iter),
        kinds: form.kinds.map(BTreeSet::from_iter),
        label: label(document, &at("label"), form.label)?,
        secret,
    })
}

/// A selector in the form in which the server shows it.
fn label(document: &Document, path: &str, text: Option<String>) -> Result<Option<String>, Failure> {
    let parsed = text.as_deref().map(LabelSelector::parse).transpose();
    let parsed = parsed.map_err(|e| document.wrong(path, e.rule))?;
    Ok(parsed.map(|label| label.to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantForm {
    app: Option<String>,
    user: Option<String>,
    role: String,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default)]
    businesses: Vec<Value>,
    label: Option<String>,
}

fn grant(document: &Document, path: &str, value: &Value) -> Result<DeclaredGrant, Failure> {
    let form: GrantForm = form(document, path, value)?;
    let at = |field: &str| inside(path, field);
    let grantee = match (form.app, form.user) {
        (Some(code), None) => Grantee::App(code),
        (None, Some(name)) => Grantee::User(name),
        _ => return Err(document.wrong(path, "must have an app or a user, and not both")),
    };
    Role::parse(&form.role).map_err(|e| document.wrong(&at("role"), e.rule))?;
    for (index, name) in form.namespaces.iter().enumerate() {
        let path = at(&format!("namespaces[{index}]"));
        Namespace::parse(name).map_err(|e| document.wrong(&path, e.rule))?;
    }
    let numbered = form.businesses.iter().enumerate();
    let businesses = numbered
        .map(|(index, value)| business(document, &at(&format!("businesses[{index}]")), value));
    Ok(DeclaredGrant {
        place: document.place(path),
        grantee,
        role: form.role,
        namespaces: form.namespaces.clone(),
        businesses: businesses.collect::<Result<_, _>>()?,
        label: label(document, &at("label"), form.label)?,
    })
}
