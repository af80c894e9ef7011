//! One call of the CMDB, tried again while that may help.

use std::time::Duration;

use serde_json::{Map, Value};

use super::CmdbConfig;
use crate::outgoing::Trust;

/// How often a call is tried.
const TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// How long one try may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest answer.
const MAX_ANSWER: u64 = 256 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Caller {
    config: CmdbConfig,
    agent: ureq::Agent,
}

/// Why a try failed, and whether another may not.
struct Failed {
    why: String,
    again: bool,
}

impl Caller {
    pub(super) fn new(config: CmdbConfig, trust: &Trust) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .tls_config(trust.for_ureq())
            .build();
        Self {
            config,
            agent: agent.into(),
        }
    }

    /// The `data` of the answer; an error in words that name the call.
    pub(super) async fn call(&self, api: &str, body: Value) -> Result<Value, String> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let (agent, url) = (self.agent.clone(), self.url(api));
            let body = self.signed(&body);
            let tried = tokio::task::spawn_blocking(move || send(&agent, &url, &body)).await;
            let failed = match tried {
                Ok(Ok(data)) => return Ok(data),
                Ok(Err(failed)) => failed,
                Err(_) => Failed {
                    why: "the server is stopping".to_owned(),
                    again: false,
                },
            };
            if !failed.again || attempt == TRIES {
                // It may repeat what the CMDB says.
                let mut why = failed.why;
                model::text::sanitize_line(&mut why, model::bounds::MAX_MESSAGE);
                return Err(format!(
                    "the CMDB at {} failed in {api}: {why}",
                    self.config.url
                ));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        unreachable!("the last try returns")
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

fn send(agent: &ureq::Agent, url: &str, body: &Value) -> Result<Value, Failed> {
    let broken = |error: ureq::Error| Failed {
        why: error.to_string(),
        again: true,
    };
    let mut response = agent.post(url).send_json(body).map_err(broken)?;
    let status = response.status();
    if !status.is_success() {
        return Err(Failed {
            why: format!("it answered with status {status}"),
            again: status.is_server_error() || status.as_u16() == 429,
        });
    }
    let text = response
        .body_mut()
        .with_config()
        .limit(MAX_ANSWER)
        .read_to_vec()
        .map_err(broken)?;
    let mut answer: Value = serde_json::from_slice(&text).map_err(|error| Failed {
        why: format!("its answer is no JSON: {error}"),
        again: true,
    })?;
    match answer["result"].as_bool() {
        Some(true) => Ok(answer["data"].take()),
        Some(false) | None => Err(Failed {
            why: format!("code {}: {}", answer["code"], answer["message"]),
            // It understood, and said no.
            again: false,
        }),
    }
}
