//! The fields of all requests of the dialect. Each verb takes what it needs and ignores the rest.

use api::JobOptionsBody;
use axum::extract::Query;
use axum::http::Uri;
use model::scope::{RawExpressionScope, RawScope};
use model::topology::BusinessId;
use model::{Invalid, lenient};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::refusal::Refusal;
use crate::http::json::Scalar;

/// The largest page, whatever size is requested.
const MAX_PAGESIZE: i64 = 1000;
/// Instead of a page size below 1.
const DEFAULT_PAGESIZE: i64 = 10;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawRequest {
    #[serde(deserialize_with = "lenient::int")]
    bk_biz_id: Option<i64>,
    #[serde(deserialize_with = "lenient::object")]
    pub scope: Option<RawScope>,
    #[serde(deserialize_with = "lenient::object")]
    pub expression_scope: Option<RawExpressionScope>,
    // process_status
    #[serde(deserialize_with = "lenient::ints")]
    pub bk_cloud_ids: Option<Vec<i64>>,
    #[serde(deserialize_with = "lenient::int")]
    pub process_status: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    pub process_status_list: Option<Vec<i64>>,
    #[serde(deserialize_with = "flag")]
    pub is_auto: Option<bool>,
    #[serde(deserialize_with = "flags")]
    pub is_auto_list: Option<Vec<bool>>,
    #[serde(deserialize_with = "lenient::texts")]
    pub bk_host_innerips: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient::texts")]
    pub searches: Option<Vec<String>>,
    pub ordering: Scalar,
    #[serde(deserialize_with = "lenient::texts")]
    pub fields: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient::int")]
    page: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    pagesize: Option<i64>,
    // config_template_list
    pub search: Scalar,
    // create_job and job_status
    pub job_object: Scalar,
    pub job_action: Scalar,
    #[serde(deserialize_with = "lenient::object")]
    pub extra_data: Option<ExtraData>,
    #[serde(deserialize_with = "lenient::int")]
    pub job_id: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    pub job_task_id_list: Option<Vec<i64>>,
    // expression_match
    pub expression: Scalar,
    #[serde(deserialize_with = "lenient::texts")]
    pub candidates: Option<Vec<String>>,
}

/// The options of a job. Unlike the native API, the dialect ignores unknown fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ExtraData {
    isolation: Scalar,
    #[serde(deserialize_with = "lenient::int")]
    batch_size: Option<i64>,
    #[serde(deserialize_with = "lenient::int")]
    max_failures: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    ignore_error_codes: Option<Vec<i64>>,
    #[serde(deserialize_with = "lenient::int")]
    pause_secs: Option<i64>,
    #[serde(deserialize_with = "lenient::ints")]
    config_template_ids: Option<Vec<i64>>,
    after_release: Scalar,
}

impl From<ExtraData> for JobOptionsBody {
    fn from(data: ExtraData) -> Self {
        Self {
            isolation: data.isolation,
            batch_size: data.batch_size.map_or(Scalar::Absent, Scalar::Int),
            max_failures: data.max_failures,
            ignore_error_codes: data.ignore_error_codes,
            pause_secs: data.pause_secs,
            config_template_ids: data.config_template_ids,
            after_release: data.after_release,
            ..Self::default()
        }
    }
}

impl RawRequest {
    /// Fills gaps from the query of a GET.
    pub(crate) fn take_query(&mut self, uri: &Uri) -> Result<(), Invalid> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|error| Invalid::new("query", error.body_text()))?;
        for (key, value) in pairs {
            match key.as_str() {
                "bk_biz_id" => fill(&mut self.bk_biz_id, &key, &value)?,
                "page" => fill(&mut self.page, &key, &value)?,
                "pagesize" => fill(&mut self.pagesize, &key, &value)?,
                "search" if self.search.is_empty() => self.search = Scalar::Text(value.into()),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn business(&self) -> Result<BusinessId, Refusal> {
        self.named_business()?
            .ok_or_else(|| Refusal::argument_missing("bk_biz_id: is required"))
    }

    pub(crate) fn named_business(&self) -> Result<Option<BusinessId>, Invalid> {
        self.bk_biz_id.map(BusinessId::parse).transpose()
    }

    /// (start, limit) of a page; both fields are required.
    pub(crate) fn page(&self) -> Result<(u64, usize), Invalid> {
        if self.page.is_none() {
            return Err(Invalid::required("page"));
        }
        if self.pagesize.is_none() {
            return Err(Invalid::required("pagesize"));
        }
        self.page_or_first()
    }

    /// (start, limit), by default of the first page.
    pub(crate) fn page_or_first(&self) -> Result<(u64, usize), Invalid> {
        let page = self.page.unwrap_or(1);
        let before = u64::try_from(page)
            .ok()
            .and_then(|page| page.checked_sub(1))
            .ok_or_else(|| Invalid::new("page", format!("must be 1 or more, not {page}")))?;
        let limit = match self.pagesize.unwrap_or(DEFAULT_PAGESIZE) {
            size if size <= 0 => DEFAULT_PAGESIZE,
            size => size.min(MAX_PAGESIZE),
        };
        Ok((before.saturating_mul(limit.unsigned_abs()), limit as usize))
    }
}

fn fill(field: &mut Option<i64>, name: &str, text: &str) -> Result<(), Invalid> {
    if field.is_none() && !text.trim().is_empty() {
        let number = text.trim().parse();
        let rule = format!("must be a whole number, not {text:?}");
        *field = Some(number.map_err(|_| Invalid::new(name, rule))?);
    }
    Ok(())
}

/// `true`, `"true"`, `1`; null, `""` and absence are none.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    let written = Scalar::deserialize(deserializer)?;
    match &*written.to_text() {
        "" => Ok(None),
        "true" | "True" | "1" => Ok(Some(true)),
        "false" | "False" | "0" => Ok(Some(false)),
        other => Err(D::Error::custom(format!(
            "must be true or false, not {other:?}"
        ))),
    }
}

fn flags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<bool>>, D::Error> {
    #[derive(Deserialize)]
    struct Item(#[serde(deserialize_with = "flag")] Option<bool>);
    let list = Option::<Vec<Item>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().filter_map(|item| item.0).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json;

    fn read(body: &str) -> RawRequest {
        json::read(body.as_bytes()).unwrap()
    }

    #[test]
    fn pages_are_counted_from_one_and_their_sizes_bounded() {
        let page = |page: i64, size: i64| {
            read(&format!("{{\"page\":{page},\"pagesize\":\"{size}\"}}")).page()
        };
        assert_eq!(page(1, 10).unwrap(), (0, 10));
        assert_eq!(page(3, 1001).unwrap(), (2000, 1000));
        assert_eq!(page(2, 0).unwrap(), (10, 10));
        assert_eq!(page(1, -5).unwrap(), (0, 10));
        assert_eq!(page(i64::MAX, 1000).unwrap().0, u64::MAX);
        assert_eq!(page(0, 10).unwrap_err().field, "page");
        assert_eq!(read("{\"page\":1}").page().unwrap_err().field, "pagesize");
        assert_eq!(read("{}").page().unwrap_err().field, "page");
        assert_eq!(read("{}").page_or_first().unwrap(), (0, 10));
    }

    #[test]
    fn flags_are_read_in_every_form() {
        let request = read(r#"{"is_auto":"false","is_auto_list":[true,0,null,"1"]}"#);
        assert_eq!(request.is_auto, Some(false));
        assert_eq!(request.is_auto_list, Some(vec![true, false, true]));
        assert_eq!(read(r#"{"is_auto":null}"#).is_auto, None);
        let error = json::read::<RawRequest>(br#"{"is_auto":"maybe"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "is_auto: must be true or false, not \"maybe\""
        );
    }

    #[test]
    fn the_query_of_a_get_fills_gaps() {
        let mut request = read(r#"{"bk_biz_id":"2"}"#);
        let uri = "/?bk_biz_id=3&page=2&pagesize=5&search=redis&x=1".parse();
        request.take_query(&uri.unwrap()).unwrap();
        assert_eq!(request.business().unwrap(), BusinessId(2));
        assert_eq!(request.page().unwrap(), (5, 5));
        assert_eq!(request.search.to_text(), "redis");
        let error = request.take_query(&"/?page=x".parse().unwrap());
        assert!(error.is_ok(), "what is there already is not read again");
        let error = read("{}").take_query(&"/?page=x".parse().unwrap());
        assert_eq!(error.unwrap_err().field, "page");
    }
}
