//! One call of the CMDB, with retries.

use std::time::Duration;

use serde_json::{Map, Value};
use ureq::tls::TlsConfig;

use super::CmdbConfig;

/// How many attempts a call has.
const MAX_ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// How long one attempt may take.
const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_RESPONSE: u64 = 256 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct CmdbClient {
    config: CmdbConfig,
    agent: ureq::Agent,
}

/// Why an attempt failed, and whether another may succeed.
struct AttemptError {
    reason: String,
    may_retry: bool,
}

impl CmdbClient {
    pub(super) fn new(config: CmdbConfig, tls: &TlsConfig) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .tls_config(tls.clone())
            .build();
        Self {
            config,
            agent: agent.into(),
        }
    }

    /// Returns the `data` of the response; the error message names the call.
    pub(super) async fn call(&self, api: &str, body: Value) -> Result<Value, String> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let (agent, url) = (self.agent.clone(), self.url(api));
            let body = self.signed(&body);
            let sent = tokio::task::spawn_blocking(move || send(&agent, &url, &body)).await;
            let failed = match sent {
                Ok(Ok(data)) => return Ok(data),
                Ok(Err(failed)) => failed,
                Err(_) => AttemptError {
                    reason: "the server is stopping".to_owned(),
                    may_retry: false,
                },
            };
            if !failed.may_retry || attempt == MAX_ATTEMPTS {
                // It may hold text of the CMDB.
                let mut reason = failed.reason;
                model::text::sanitize_line(&mut reason, model::bounds::MAX_MESSAGE);
                return Err(format!(
                    "the CMDB at {} failed in {api}: {reason}",
                    self.config.url
                ));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        unreachable!("the last attempt returns")
    }

    fn url(&self, api: &str) -> String {
        let base = self.config.url.trim_end_matches('/');
        format!("{base}/api/c/compapi/v2/cc/{api}/")
    }

    fn signed(&self, body: &Value) -> Value {
        let mut signed = match body {
            Value::Object(fields) => fields.clone(),
            _ => Map::new(),
        };
        let config = &self.config;
        for (name, value) in [
            ("bk_app_code", &config.app_code),
            ("bk_app_secret", &config.app_secret),
            ("bk_username", &config.user_name),
        ] {
            signed.insert(name.to_owned(), value.clone().into());
        }
        Value::Object(signed)
    }
}

fn send(agent: &ureq::Agent, url: &str, body: &Value) -> Result<Value, AttemptError> {
    let broken = |error: ureq::Error| AttemptError {
        reason: error.to_string(),
        may_retry: true,
    };
    let mut response = agent.post(url).send_json(body).map_err(broken)?;
    let status = response.status();
    if !status.is_success() {
        return Err(AttemptError {
            reason: format!("it answered with status {status}"),
            may_retry: status.is_server_error() || status.as_u16() == 429,
        });
    }
    let text = response
        .body_mut()
        .with_config()
        .limit(MAX_RESPONSE)
        .read_to_vec()
        .map_err(broken)?;
    let mut answer: Value = serde_json::from_slice(&text).map_err(|error| AttemptError {
        reason: format!("its answer is no JSON: {error}"),
        may_retry: true,
    })?;
    match answer["result"].as_bool() {
        Some(true) => Ok(answer["data"].take()),
        Some(false) | None => Err(AttemptError {
            reason: format!("code {}: {}", answer["code"], answer["message"]),
            // The CMDB understood the call and refused it.
            may_retry: false,
        }),
    }
}
