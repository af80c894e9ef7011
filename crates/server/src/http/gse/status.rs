//! get_proc_status and get_proc_status_v2: one row per requested host, in the order of the request.

use std::borrow::Cow;
use std::collections::HashSet;

use control::Place;
use fleet::Fleet;
use model::FullName;
use model::access::Permission;
use model::change::NameId;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::endpoint::Keys;
use super::hosts::{self, RequestedHost};
use super::refusal::Refusal;
use super::request::RawRequest;
use super::row::StatusRow;
use super::{RequestContext, success};

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
        .check(context.caller, Permission::View, &name.namespace)?;
    let named = request.named()?;
    let fleet = context.http.control.fleet();
    Ok(success(Infos {
        rows: Rows {
            fleet: &fleet,
            name: &name,
            name_id: fleet.name_id(&name),
            named: &named,
            keys: context.keys(),
        },
    }))
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
    fleet: &'a Fleet,
    name: &'a FullName,
    name_id: Option<NameId>,
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
        serializer.collect_seq(once.map(|named| {
            let place = named.place();
            self.row(*named, &place, hosts::find(self.fleet, &place))
                .shortened(share)
        }))
    }
}

impl<'a> Rows<'a> {
    fn row(
        &self,
        named: RequestedHost<'a>,
        place: &Place,
        found: Option<fleet::HostView<'a>>,
    ) -> StatusRow<'a> {
        let host = named.echo(found.as_ref(), self.keys);
        let agent_id = named.agent_id(found.as_ref());
        let row = found
            .zip(self.name_id)
            .and_then(|(host, name)| self.fleet.process(host.id, name));
        match row {
            Some(row) => StatusRow::of(&row, host, agent_id),
            None => StatusRow::absent(
                self.name,
                host,
                agent_id,
                why_absent(place, found.is_some()),
            ),
        }
    }
}

fn why_absent(place: &Place, host_is_known: bool) -> Cow<'static, str> {
    match place {
        Place::Bad(invalid) => invalid.to_string().into(),
        Place::Agent(agent) if !host_is_known => {
            format!("no agent is known by the id {agent}").into()
        }
        Place::Host(_) | Place::Agent(_) => "process is not registered".into(),
    }
}
