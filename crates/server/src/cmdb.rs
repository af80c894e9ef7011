//! Reads topology from a BlueKing CMDB over its ESB API.
//!
//! It reads a business as a whole: cloud areas, then every process page by page, then the templates of the modules. A failed
//! read changes nothing; an invalid row is reported and left out.

mod call;
mod rows;

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use control::TopologySource;
use model::topology::{BusinessFacts, BusinessId};
use serde_json::{Value, json};
use ureq::tls::TlsConfig;

use call::CmdbClient;
use rows::FactsReader;

/// Rows of one page: the maximum of a CMDB.
const PAGE: u64 = 500;
const MAX_ROWS: u64 = 5_000_000;
/// How many times a list that shrinks meanwhile is read from its beginning.
const MAX_READS: u32 = 3;

/// The URL of the CMDB, and the credentials for it.
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
    client: CmdbClient,
    refresh_every: Duration,
}

impl Cmdb {
    pub(crate) fn new(config: CmdbConfig, tls: &TlsConfig) -> Self {
        Self {
            refresh_every: config.refresh_every,
            client: CmdbClient::new(config, tls),
        }
    }

    /// Passes every item of a paged list under `info` to `take`; `id` identifies an item.
    ///
    /// A truncated list would delete processes. So the count alone does not end the list: only a page that is not full does,
    /// and by then there must be as many rows as were counted.
    async fn pages(
        &self,
        api: &str,
        body: &Value,
        limit: u64,
        id: impl Fn(&Value) -> Option<u32> + Send + Sync,
        mut take: impl FnMut(&Value) + Send,
    ) -> Result<(), PagesError> {
        let failed = |why: String| PagesError::Failed(format!("{api} {why}"));
        let (mut ids, mut start, mut largest_count) = (HashSet::new(), 0, 0);
        loop {
            let mut body = body.clone();
            body["page"] = json!({"start": start, "limit": limit, "return_total": true});
            let mut data = self
                .client
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
            // A row was deleted meanwhile, and another may have moved across a page boundary.
            if count < largest_count {
                return Err(PagesError::Shrank);
            }
            largest_count = count;
            let n_rows = page.len() as u64;
            start += n_rows;
            let n_ids = ids.len();
            for row in &page {
                ids.extend(id(row));
                take(row);
            }
            if n_rows == 0 && start < count {
                return Err(failed(format!("counts {count} rows and gives {start}")));
            }
            // Some CMDBs return shorter pages than requested.
            if n_rows == 0 || (is_counted && n_rows < limit && start >= count) {
                return Ok(());
            }
            if ids.len() == n_ids {
                return Err(failed(format!("gives the same rows again after {start}")));
            }
            if start >= MAX_ROWS {
                return Err(failed(format!("has more than {MAX_ROWS} rows")));
            }
        }
    }

    async fn processes(&self, business: BusinessId) -> Result<FactsReader, String> {
        let of_business = json!({"bk_biz_id": business.0});
        for _ in 0..MAX_READS {
            let mut reader = FactsReader::new(business);
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
    /// The list shrank meanwhile, and a row may have been missed.
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
            let found = self.client.call("find_module_batch", body).await?;
            rows::add_service_templates(&mut facts, &found);
        }
        Ok(facts)
    }
}
