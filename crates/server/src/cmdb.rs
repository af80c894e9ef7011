//! A BlueKing CMDB as the source of topology, over its ESB API.
//!
//! A business is read as a whole: cloud areas, then every process page by page, then the templates of the modules. What
//! cannot be read at all changes nothing; one row that makes no sense is named and left out.

mod call;
mod rows;

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use control::TopologySource;
use model::topology::{BusinessFacts, BusinessId};
use serde_json::{Value, json};

use crate::outgoing::Trust;
use call::Caller;
use rows::Reader;

/// Rows of one page; the most that a CMDB gives.
const PAGE: u64 = 500;
/// How many processes of one business are read.
const MAX_ROWS: u64 = 5_000_000;
/// How often a list that becomes shorter while it is read is read from its beginning.
const READS: u32 = 3;

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
    pub(crate) fn new(config: CmdbConfig, trust: &Trust) -> Self {
        Self {
            refresh_every: config.refresh_every,
            caller: Caller::new(config, trust),
        }
    }

    /// Hands over every item of a paged list under `info`, each known by `id`.
    ///
    /// A list that is cut short would make processes vanish. So its own count is not believed when it says that this is
    /// all: only a page that is not full ends it, and what was counted has to be there by then.
    async fn pages(
        &self,
        api: &str,
        body: &Value,
        limit: u64,
        id: impl Fn(&Value) -> Option<u32> + Send + Sync,
        mut take: impl FnMut(&Value) + Send,
    ) -> Result<(), PagesError> {
        let failed = |why: String| PagesError::Failed(format!("{api} {why}"));
        let (mut seen, mut start, mut largest_count) = (HashSet::new(), 0, 0);
        loop {
            let mut body = body.clone();
            body["page"] = json!({"start": start, "limit": limit, "return_total": true});
            let mut data = self
                .caller
                .call(api, body)
                .await
                .map_err(PagesError::Failed)?;
            let Value::Array(page) = data["info"].take() else {
                return Err(failed("answered without a list in data.info".to_owned()));
            };
            let (count, is_counted) = match data["count"].as_u64() {
                Some(count) => (count, true),
                None => (0, false),
            };
            // A row that went while the list was read pushed one over the edge between two pages.
            if count < largest_count {
                return Err(PagesError::Shrank);
            }
            largest_count = count;
            let n_rows = page.len() as u64;
            start += n_rows;
            let n_seen = seen.len();
            for row in &page {
                seen.extend(id(row));
                take(row);
            }
            if n_rows == 0 && start < count {
                return Err(failed(format!("counts {count} rows and gives {start}")));
            }
            // Some give shorter pages than they are asked for.
            if n_rows == 0 || (is_counted && n_rows < limit && start >= count) {
                return Ok(());
            }
            if seen.len() == n_seen {
                return Err(failed(format!("gives the same rows again after {start}")));
            }
            if start >= MAX_ROWS {
                return Err(failed(format!("has more than {MAX_ROWS} rows")));
            }
        }
    }

    async fn processes(&self, business: BusinessId) -> Result<Reader, String> {
        let of_business = json!({"bk_biz_id": business.0});
        for _ in 0..READS {
            let mut reader = Reader::new(business);
            let read = self
                .pages(
                    "list_process_related_info",
                    &of_business,
                    PAGE,
                    |row| rows::number(&row["process"]["bk_process_id"]),
                    |row| reader.row(row),
                )
                .await;
            match read {
                Ok(()) => return Ok(reader),
                Err(PagesError::Shrank) => {}
                Err(PagesError::Failed(why)) => return Err(why),
            }
        }
        Err(PagesError::Shrank.to_string())
    }

    async fn clouds(&self) -> Result<Vec<(u32, String)>, String> {
        let mut clouds = Vec::new();
        let id = |row: &Value| rows::number(&row["bk_cloud_id"]);
        let take = |row: &Value| clouds.extend(rows::cloud(row));
        self.pages("search_cloud_area", &json!({}), 200, id, take)
            .await
            .map_err(|error| error.to_string())?;
        Ok(clouds)
    }
}

/// Why a list was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PagesError {
    Failed(String),
    /// It became shorter meanwhile, and something in it may have been missed.
    Shrank,
}

impl std::fmt::Display for PagesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(why) => f.write_str(why),
            Self::Shrank => f.write_str("the list becomes shorter whenever it is read: try again"),
        }
    }
}

#[async_trait]
impl TopologySource for Cmdb {
    fn refresh_every(&self) -> Duration {
        self.refresh_every
    }

    async fn facts(&self, business: BusinessId) -> Result<BusinessFacts, String> {
        let clouds = self.clouds().await?;
        let mut facts = self.processes(business).await?.into_facts();
        facts.clouds = clouds;
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
