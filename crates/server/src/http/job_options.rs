//! Checks how a job is to go about its tasks.

use api::JobOptionsBody;
use model::Invalid;
use model::config_template::TemplateId;
use model::job::{AfterRelease, BatchSize, Gate, Isolation, JobOptions, TaskOrder};

use crate::http::json::Scalar;

/// The longest pause between two batches: a day.
const MAX_PAUSE_SECS: i64 = 24 * 3600;

/// The options, without a batch size that is a share of the job's tasks.
pub(crate) fn read(options: JobOptionsBody) -> Result<(JobOptions, Option<BatchSize>), Invalid> {
    let batch = batch(&options.batch_size)?;
    let max_failures = options.max_failures.unwrap_or(0);
    let pause_secs = options.pause_secs.unwrap_or(0);
    let ids = options.config_template_ids.unwrap_or_default().into_iter();
    let ids = ids.map(|id| whole("config_template_ids", id, 0, i64::from(u32::MAX)));
    let options = JobOptions {
        isolation: isolation(&options.isolation.to_text())?,
        batch_size: match batch {
            Some(BatchSize::Tasks(size)) => Some(size),
            Some(BatchSize::Percent(_)) | None => None,
        },
        max_failures: whole("max_failures", max_failures, 0, i64::from(u32::MAX))?,
        ignore_error_codes: options.ignore_error_codes.unwrap_or_default(),
        pause_secs: whole("pause_secs", pause_secs, 0, MAX_PAUSE_SECS)?,
        config_template_ids: ids.map(|id| id.map(TemplateId)).collect::<Result<_, _>>()?,
        after_release: after_release(&options.after_release.to_text())?,
        canary: match options.canary {
            None => None,
            Some(n) => Some(whole("canary", n, 1, i64::from(u32::MAX))?),
        },
        gate: match options.gate.to_text() {
            text if text.is_empty() => None,
            text => Some(Gate::parse(&text)?),
        },
        order: match options.order.to_text() {
            text if text.is_empty() => None,
            text => Some(TaskOrder::parse(&text)?),
        },
        revert: options.revert.unwrap_or(false),
    };
    Ok((
        options,
        batch.filter(|batch| matches!(batch, BatchSize::Percent(_))),
    ))
}

fn batch(size: &Scalar) -> Result<Option<BatchSize>, Invalid> {
    match size.to_int() {
        None if size.is_empty() => Ok(None),
        None => BatchSize::parse(&size.to_text()).map(Some),
        Some(number) => {
            let number = whole("batch_size", number, 1, i64::from(u32::MAX))?;
            Ok(Some(BatchSize::Tasks(number)))
        }
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
        let read = |body: &str| super::read(json::read(body.as_bytes()).unwrap());
        assert_eq!(read("{}").unwrap(), (JobOptions::default(), None));
        let (options, percent) = read(r#"{"batch_size":"10%"}"#).unwrap();
        assert_eq!(options.batch_size, None);
        assert_eq!(percent, Some(BatchSize::Percent(10)));
        let (options, percent) = read(
            r#"{"isolation":"set","batch_size":"10","max_failures":1,"ignore_error_codes":["828"],
                "after_release":"reload","config_template_ids":[3],"canary":"2","gate":"ready:1m","order":"label:zone"}"#,
        )
        .unwrap();
        assert_eq!(percent, None);
        assert_eq!(
            options,
            JobOptions {
                isolation: Isolation::Set,
                batch_size: Some(10),
                max_failures: 1,
                ignore_error_codes: vec![828],
                after_release: Some(AfterRelease::Reload),
                config_template_ids: vec![TemplateId(3)],
                canary: Some(2),
                gate: Some(Gate::parse("ready:60s").unwrap()),
                order: Some(TaskOrder::Label("zone".to_owned())),
                ..JobOptions::default()
            }
        );
        for (body, field) in [
            (r#"{"isolation":"rack"}"#, "isolation"),
            (r#"{"batch_size":0}"#, "batch_size"),
            (r#"{"batch_size":"0%"}"#, "batch_size"),
            (r#"{"batch_size":"some"}"#, "batch_size"),
            (r#"{"max_failures":-1}"#, "max_failures"),
            (r#"{"pause_secs":100000}"#, "pause_secs"),
            (r#"{"config_template_ids":[-3]}"#, "config_template_ids"),
            (r#"{"after_release":"stop"}"#, "after_release"),
            (r#"{"canary":0}"#, "canary"),
            (r#"{"gate":"30s"}"#, "gate"),
            (r#"{"order":"name"}"#, "order"),
        ] {
            assert_eq!(read(body).unwrap_err().field, field, "{body}");
        }
    }
}
