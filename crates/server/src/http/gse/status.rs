//! get_proc_status and get_proc_status_v2: one row per requested host, in the order of the request.

use std::borrow::Cow;
use std::collections::HashSet;

use control::{HostSelector, Statuses};
use model::FullName;
use model::access::Permission;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::endpoint::Keys;
use super::hosts::RequestedHost;
use super::refusal::Refusal;
use super::request::RawRequest;
use super::row::StatusRow;
use super::{RequestContext, success};
use crate::http::long_reads::long_answer;

/// How many characters of messages one response holds; its rows share them.
const MAX_MESSAGES: usize = 8 * 1024 * 1024;
/// The least that each row shows.
const MIN_MESSAGE: usize = 128;

pub(crate) async fn status(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let name = request.full_name()?;
    context
        .http
        .control
        .access()
        .check(context.caller, Permission::View, &name.namespace)?;
    let named = request.named()?;
    let registry = context.http.control.registry();
    let read = || {
        registry.statuses(context.caller, &name, |statuses| {
            success(Infos {
                rows: Rows {
                    statuses,
                    name: &name,
                    named: &named,
                    keys: context.keys(),
                },
            })
        })
    };
    Ok(long_answer(named.len(), read)?)
}

struct Infos<'a> {
    rows: Rows<'a>,
}

impl Serialize for Infos<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_struct("data", 1)?;
        data.serialize_field("proc_infos", &self.rows)?;
        data.end()
    }
}

struct Rows<'a> {
    statuses: &'a Statuses<'a>,
    name: &'a FullName,
    named: &'a [RequestedHost<'a>],
    keys: Keys,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // One row per key: a host named in two forms has two keys.
        let mut keys: HashSet<String> = HashSet::with_capacity(self.named.len());
        let once = self
            .named
            .iter()
            .filter(|named| keys.insert(named.prefix(self.keys)));
        // No row is left out, so many rows have short messages.
        let share = (MAX_MESSAGES / self.named.len().max(1)).max(MIN_MESSAGE);
        serializer.collect_seq(once.map(|named| self.row(*named).shortened(share)))
    }
}

impl<'a> Rows<'a> {
    fn row(&self, named: RequestedHost<'a>) -> StatusRow<'a> {
        let place = named.place();
        let (found, row) = self.statuses.at(&place);
        let host = named.echo(found.as_ref(), self.keys);
        let agent_id = named.agent_id(found.as_ref());
        match row {
            Some(row) => StatusRow::of(&row, host, agent_id),
            None => StatusRow::absent(
                self.name,
                host,
                agent_id,
                why_absent(&place, found.is_some()),
            ),
        }
    }
}

fn why_absent(place: &HostSelector, host_is_known: bool) -> Cow<'static, str> {
    match place {
        HostSelector::Bad(invalid) => invalid.to_string().into(),
        HostSelector::Agent(agent) if !host_is_known => {
            format!("no agent is known by the id {agent}").into()
        }
        HostSelector::Host(_) | HostSelector::Agent(_) => "process is not registered".into(),
    }
}
