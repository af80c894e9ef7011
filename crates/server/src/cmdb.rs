//! A BlueKing CMDB as the source of topology, over its ESB API.
//!
//! A business is read as a whole: cloud areas, then every process page by page, then the templates of the modules. What
//! cannot be read at all changes nothing; one row that makes no sense is named and left out.

mod call;
mod rows;

use std::time::Duration;

use async_trait::async_trait;
use control::TopologySource;
use model::topology::{BusinessId, Facts};
use serde_json::{Value, json};

use call::Caller;

/// Rows of one page; the most that a CMDB gives.
const PAGE: u64 = 500;
/// How many processes of one business are read.
const MAX_ROWS: u64 = 5_000_000;

/// Where the CMDB is, and who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct CmdbConfig {
    /// `http://HOST[:PORT][/PATH]`, without `/api/c/compapi`.
    pub url: String,
    pub app_code: String,
    pub app_secret: String,
    pub user_name: String,
    pub refresh_every: Duration,
}

/// Secrets stay out of logs.
impl std::fmt::Debug for CmdbConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CmdbConfig")
            .field("url", &self.url)
            .field("app_code", &self.app_code)
            .field("user_name", &self.user_name)
            .field("refresh_every", &self.refresh_every)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct Cmdb {
    caller: Caller,
    refresh_every: Duration,
}

impl Cmdb {
    pub(crate) fn new(config: CmdbConfig) -> Self {
        Self {
            refresh_every: config.refresh_every,
            caller: Caller::new(config),
        }
    }

    /// Every item of a paged list under `info`.
    async fn pages(&self, api: &str, body: &Value, limit: u64) -> Result<Vec<Value>, String> {
        let mut items = Vec::new();
        loop {
            let mut body = body.clone();
            body["page"] = json!({"start": items.len(), "limit": limit, "return_total": true});
            let mut data = self.caller.call(api, body).await?;
            let page = data["info"].take();
            let Value::Array(page) = page else {
                return Err(format!("{api} answered without a list in data.info"));
            };
            let is_last = (page.len() as u64) < limit;
            let count = data["count"].as_u64();
            items.extend(page);
            let all = count.is_some_and(|count| items.len() as u64 >= count);
            if is_last || all {
                return Ok(items);
            }
            if items.len() as u64 >= MAX_ROWS {
                return Err(format!("{api} has more than {MAX_ROWS} rows"));
            }
        }
    }
}

#[async_trait]
impl TopologySource for Cmdb {
    fn refresh_every(&self) -> Duration {
        self.refresh_every
    }

    async fn facts(&self, business: BusinessId) -> Result<Facts, String> {
        let clouds = self.pages("search_cloud_area", &json!({}), 200).await?;
        let of_business = json!({"bk_biz_id": business.0});
        let processes = self
            .pages("list_process_related_info", &of_business, PAGE)
            .await?;
        let mut facts = rows::facts(business, &clouds, &processes);
        let ids: Vec<u32> = facts
            .modules
            .iter()
            .filter_map(|module| module.id)
            .collect();
        for ids in ids.chunks(PAGE as usize) {
            let body = json!({
                "bk_biz_id": business.0,
                "bk_ids": ids,
                "fields": ["bk_module_id", "bk_module_name", "service_template_id"],
            });
            let found = self.caller.call("find_module_batch", body).await?;
            rows::add_service_templates(&mut facts, &found);
        }
        Ok(facts)
    }
}
