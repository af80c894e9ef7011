//! set_process_group_info and get_process_group_info.

use std::collections::HashSet;

use control::Groups;
use model::access::Permission;
use model::group::{self, ProcessGroup};
use model::{Invalid, Namespace};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use super::endpoint::Keys;
use super::hosts::{HostEcho, RequestedHost};
use super::refusal::Refusal;
use super::register::{Answers, Suffix};
use super::request::RawRequest;
use super::{RequestContext, success};

pub(crate) async fn set_groups(
    context: &RequestContext<'_>,
    mut request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let namespace = request.namespace()?;
    let hosts = request.asked(context.keys())?;
    let spec = request
        .take_spec()
        .ok_or_else(|| Invalid::required("spec"))??;
    let groups = spec
        .process_group
        .ok_or_else(|| Invalid::required("spec.process_group"))?;
    let groups = group::complete(groups).map_err(|e| e.within("spec"))?;
    let control = &context.http.control;
    let answers = control
        .registry()
        .set_groups(context.caller, &namespace, hosts, groups)
        .await?;
    Ok(success(Answers {
        answers: &answers,
        suffix: Suffix::Namespace(&namespace),
    }))
}

pub(crate) async fn groups(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let namespace = request.namespace()?;
    context
        .http
        .control
        .access()
        .check(context.caller, Permission::View, &namespace)?;
    let named = request.named()?;
    let registry = context.http.control.registry();
    let response = registry.groups(context.caller, &namespace, |groups| {
        success(Infos {
            process_group_infos: Rows {
                groups,
                namespace: &namespace,
                named: &named,
                keys: context.keys(),
            },
        })
    })?;
    Ok(response)
}

#[derive(Serialize)]
struct Infos<'a> {
    process_group_infos: Rows<'a>,
}

struct Rows<'a> {
    groups: &'a Groups<'a>,
    namespace: &'a Namespace,
    named: &'a [RequestedHost<'a>],
    keys: Keys,
}

#[derive(Serialize)]
struct GroupRow<'a> {
    meta: Meta<'a>,
    host: HostEcho<'a>,
    #[serde(flatten)]
    group: &'a ProcessGroup,
}

#[derive(Serialize)]
struct Meta<'a> {
    namespace: &'a str,
    name: &'a str,
    labels: Empty,
}

#[derive(Serialize)]
struct Empty {}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        let mut seen = HashSet::new();
        for named in self
            .named
            .iter()
            .filter(|named| seen.insert(named.prefix(self.keys)))
        {
            let Some((host, groups)) = self.groups.at(&named.place()) else {
                continue;
            };
            for group in groups {
                rows.serialize_element(&GroupRow {
                    meta: Meta {
                        namespace: self.namespace.as_str(),
                        name: "",
                        labels: Empty {},
                    },
                    host: named.echo(Some(&host), self.keys),
                    group,
                })?;
            }
        }
        rows.end()
    }
}
