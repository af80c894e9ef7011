//! The options of a job as callers write them: numbers may be strings, unknown fields are ignored.

use model::config_template::TemplateId;
use model::job::{AfterRelease, Isolation, JobOptions};
use model::{Invalid, lenient};
use serde::Deserialize;

use super::json::Scalar;

/// The longest pause between two batches: a day.
const MAX_PAUSE_SECS: i64 = 24 * 3600;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawJobOptions {
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

impl RawJobOptions {
    pub(crate) fn read(self) -> Result<JobOptions, Invalid> {
        let batch_size = self
            .batch_size
            .map(|size| whole("batch_size", size, 1, i64::from(u32::MAX)));
        let ids = self.config_template_ids.unwrap_or_default().into_iter();
        let ids = ids.map(|id| whole("config_template_ids", id, 0, i64::from(u32::MAX)));
        Ok(JobOptions {
            isolation: isolation(&self.isolation.to_text())?,
            batch_size: batch_size.transpose()?,
            max_failures: whole(
                "max_failures",
                self.max_failures.unwrap_or(0),
                0,
                i64::from(u32::MAX),
            )?,
            ignore_error_codes: self.ignore_error_codes.unwrap_or_default(),
            pause_secs: whole(
                "pause_secs",
                self.pause_secs.unwrap_or(0),
                0,
                MAX_PAUSE_SECS,
            )?,
            config_template_ids: ids.map(|id| id.map(TemplateId)).collect::<Result<_, _>>()?,
            after_release: after_release(&self.after_release.to_text())?,
        })
    }
}

fn whole(field: &str, number: i64, least: i64, most: i64) -> Result<u32, Invalid> {
    u32::try_from(number)
        .ok()
        .filter(|_| (least..=most).contains(&number))
        .ok_or_else(|| {
            Invalid::new(
                field,
                format!("must be from {least} to {most}, not {number}"),
            )
        })
}

fn isolation(text: &str) -> Result<Isolation, Invalid> {
    match text {
        "" | "business" => Ok(Isolation::Business),
        "set" => Ok(Isolation::Set),
        "module" => Ok(Isolation::Module),
        "host" => Ok(Isolation::Host),
        other => Err(Invalid::new(
            "isolation",
            format!("must be business, set, module or host, not {other:?}"),
        )),
    }
}

fn after_release(text: &str) -> Result<Option<AfterRelease>, Invalid> {
    match text {
        "" => Ok(None),
        "restart" => Ok(Some(AfterRelease::Restart)),
        "reload" => Ok(Some(AfterRelease::Reload)),
        other => Err(Invalid::new(
            "after_release",
            format!("must be restart or reload, not {other:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json;

    #[test]
    fn options_are_read_leniently_and_checked() {
        let read = |body: &str| json::read::<RawJobOptions>(body.as_bytes()).unwrap().read();
        assert_eq!(read("{}").unwrap(), JobOptions::default());
        let options = read(
            r#"{"isolation":"set","batch_size":"10","max_failures":1,"ignore_error_codes":["828"],"other":[1],
                "after_release":"reload","config_template_ids":[3]}"#,
        )
        .unwrap();
        assert_eq!(
            options,
            JobOptions {
                isolation: Isolation::Set,
                batch_size: Some(10),
                max_failures: 1,
                ignore_error_codes: vec![828],
                after_release: Some(AfterRelease::Reload),
                config_template_ids: vec![TemplateId(3)],
                ..JobOptions::default()
            }
        );
        for (body, field) in [
            (r#"{"isolation":"rack"}"#, "isolation"),
            (r#"{"batch_size":0}"#, "batch_size"),
            (r#"{"max_failures":-1}"#, "max_failures"),
            (r#"{"pause_secs":100000}"#, "pause_secs"),
            (r#"{"config_template_ids":[-3]}"#, "config_template_ids"),
            (r#"{"after_release":"stop"}"#, "after_release"),
        ] {
            assert_eq!(read(body).unwrap_err().field, field, "{body}");
        }
    }
}
