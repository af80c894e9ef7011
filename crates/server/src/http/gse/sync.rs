//! sync_proc_status: the processes of a namespace, page by page, with the exact total.

use model::Invalid;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::hosts::HostEcho;
use super::refusal::Refusal;
use super::request::{RawPage, RawRequest};
use super::row::StatusRow;
use super::{RequestContext, success};

/// The largest page. Message and version of a row have at most 2,304 characters (`model::bounds`) of at most 4 bytes each, so
/// a page holds at most 9 MiB of them.
const MAX_LIMIT: i64 = 1000;

pub(crate) async fn sync(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let namespace = request.namespace()?;
    let (start, limit) = page(request.page.map(|page| page.0))?;
    let registry = context.http.control.registry();
    let response =
        registry.page_of_namespace(context.caller, &namespace, start, limit, |page| {
            success(NamespacePage(page))
        })?;
    Ok(response)
}

fn page(page: Option<RawPage>) -> Result<(u64, usize), Invalid> {
    let page = page.ok_or_else(|| Invalid::required("page"))?;
    let start = page.start.ok_or_else(|| Invalid::required("page.start"))?;
    let limit = page.limit.ok_or_else(|| Invalid::required("page.limit"))?;
    let start =
        u64::try_from(start).map_err(|_| Invalid::new("page.start", "must be 0 or more"))?;
    match (1..=MAX_LIMIT).contains(&limit) {
        true => Ok((start, limit as usize)),
        false => Err(Invalid::new(
            "page.limit",
            format!("must be from 1 to {MAX_LIMIT}"),
        )),
    }
}

struct NamespacePage<'a>(fleet::Page<'a>);

impl Serialize for NamespacePage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_struct("data", 2)?;
        data.serialize_field("count", &self.0.count)?;
        data.serialize_field("proc_infos", &Rows(&self.0.rows))?;
        data.end()
    }
}

struct Rows<'a>(&'a [fleet::Row<'a>]);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|row| {
            let host = row.host();
            let agent_id = host.agent_id.map_or("", |id| id.as_str());
            StatusRow::of(row, HostEcho::of(&host), agent_id.into())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_page_are_required_and_limited() {
        let checked = |start: Option<i64>, limit: Option<i64>| {
            page(Some(RawPage { start, limit })).map_err(|e| e.to_string())
        };
        assert_eq!(checked(Some(0), Some(1000)), Ok((0, 1000)));
        assert_eq!(checked(Some(7), Some(1)), Ok((7, 1)));
        for limit in [0, 1001, -1] {
            assert_eq!(
                checked(Some(0), Some(limit)).unwrap_err(),
                "page.limit: must be from 1 to 1000"
            );
        }
        assert_eq!(
            checked(Some(-1), Some(1)).unwrap_err(),
            "page.start: must be 0 or more"
        );
        assert_eq!(
            checked(None, Some(1)).unwrap_err(),
            "page.start: is required"
        );
        assert_eq!(page(None).unwrap_err().to_string(), "page: is required");
    }
}
