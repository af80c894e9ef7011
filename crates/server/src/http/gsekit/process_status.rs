//! process_status: the processes of a business, filtered, page by page, with the exact total.

use std::net::IpAddr;

use model::scope::{ProcessStatus, Selection, SortOrder, ViewFilter, bounded, distinct};
use model::topology::BusinessId;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::refusal::Refusal;
use super::request::RawRequest;
use super::row::{Fields, StatusRow};
use super::{RequestContext, success};
use crate::http::selection::searches;

pub(crate) async fn process_status(
    context: &RequestContext<'_>,
    mut request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let business = context.viewed_business(&request)?;
    let (start, limit) = request.page()?;
    let fields = Fields::of(request.fields.take().as_deref());
    let filter = filter(business, request)?;
    let topology = context.http.control.topology();
    let read = || {
        topology.page(context.caller, &filter, start, limit, |page| {
            success(ProcessList { page, fields })
        })
    };
    let cost = topology.cost(&filter, false);
    Ok(context.http.long_reads.run(cost, read).await?)
}

fn filter(business: BusinessId, request: RawRequest) -> Result<ViewFilter, Refusal> {
    let clouds = bounded("bk_cloud_ids", request.bk_cloud_ids)?;
    let ips = bounded("bk_host_innerips", request.bk_host_innerips)?;
    let terms = request.searches.unwrap_or_default();
    let selection = Selection::read(request.scope, request.expression_scope)?;
    Ok(ViewFilter {
        // Values that are no number, status or address match nothing.
        clouds: clouds.map(|ids| parsed(ids, |id| u32::try_from(*id).ok())),
        statuses: narrowed(
            request.process_status,
            bounded("process_status_list", request.process_status_list)?,
        )
        .map(|numbers| parsed(numbers, |number| ProcessStatus::from_number(*number))),
        is_auto: narrowed(
            request.is_auto,
            bounded("is_auto_list", request.is_auto_list)?,
        ),
        ips: ips.map(|ips| parsed(ips, |ip| address(ip))),
        searches: searches("searches", terms.iter().map(String::as_str))?,
        ordering: SortOrder::parse_list(&request.ordering.to_text())?,
        ..ViewFilter::new(business, selection)
    })
}

fn parsed<T, U: Ord>(list: Vec<T>, read: impl Fn(&T) -> Option<U>) -> Vec<U> {
    distinct(list.iter().filter_map(read).collect())
}

/// The intersection of one value and a list of values.
fn narrowed<T: PartialEq>(one: Option<T>, list: Option<Vec<T>>) -> Option<Vec<T>> {
    match (one, list) {
        (None, list) => list,
        (Some(one), None) => Some(vec![one]),
        (Some(one), Some(list)) => Some(list.into_iter().filter(|item| *item == one).collect()),
    }
}

fn address(text: &str) -> Option<IpAddr> {
    text.trim()
        .parse::<IpAddr>()
        .ok()
        .map(|ip| ip.to_canonical())
}

struct ProcessList<'a> {
    page: &'a fleet::view::ViewPage<'a>,
    fields: Fields,
}

impl Serialize for ProcessList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_struct("data", 2)?;
        data.serialize_field("count", &self.page.count)?;
        data.serialize_field("list", &Rows(self))?;
        data.end()
    }
}

struct Rows<'a>(&'a ProcessList<'a>);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ProcessList { page, fields } = self.0;
        serializer.collect_seq(page.rows.iter().map(|row| StatusRow {
            row,
            fields: *fields,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_and_a_list_both_count() {
        assert_eq!(narrowed::<i64>(None, None), None);
        assert_eq!(narrowed(Some(1), None), Some(vec![1]));
        assert_eq!(narrowed(None, Some(vec![1, 2])), Some(vec![1, 2]));
        assert_eq!(narrowed(Some(2), Some(vec![1, 2])), Some(vec![2]));
        assert_eq!(narrowed(Some(0), Some(vec![1, 2])), Some(vec![]));
    }
}
