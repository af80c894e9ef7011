//! create_job: one action on every instance of a scope.

use control::NewJob;
use model::Invalid;
use model::job::{JobAction, JobId, JobObject};
use model::scope::Selection;
use serde::Serialize;

use super::refusal::Refusal;
use super::request::RawRequest;
use super::{RequestContext, success};
use crate::http::json::Scalar;
use crate::http::{job_options, selection};

#[derive(Serialize)]
struct Created {
    job_id: JobId,
}

pub(crate) async fn create_job(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let business = request.business()?;
    let action = action(&request.job_object, &request.job_action)?;
    let options = job_options::read(request.extra_data.unwrap_or_default().into());
    let (options, _) = options.map_err(|invalid| invalid.within("extra_data"))?;
    let selection = Selection::read(request.scope, request.expression_scope)?;
    let scope = selection::to_json(&selection);
    let new = NewJob::of_business(business, action, selection, scope, options);
    let (job_id, _) = context
        .http
        .control
        .jobs()
        .create(context.caller, new)
        .await?;
    Ok(success(Created { job_id }))
}

fn action(object: &Scalar, action: &Scalar) -> Result<JobAction, Invalid> {
    let object = match &*object.to_text() {
        "" => return Err(Invalid::required("job_object")),
        "process" => JobObject::Process,
        "configfile" => JobObject::ConfigFile,
        other => {
            let rule = format!("must be process or configfile, not {other:?}");
            return Err(Invalid::new("job_object", rule));
        }
    };
    if action.is_empty() {
        return Err(Invalid::required("job_action"));
    }
    let action = JobAction::parse(&action.to_text())?;
    match action.object() == object {
        true => Ok(action),
        false => {
            let fits = JobAction::ALL
                .into_iter()
                .filter(|action| action.object() == object);
            let fits: Vec<&str> = fits.map(JobAction::as_str).collect();
            let rule = format!(
                "must be one of {} for this job_object, not {:?}",
                fits.join(", "),
                action.as_str()
            );
            Err(Invalid::new("job_action", rule))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_must_fit_its_object() {
        let read = |object: &str, name: &str| {
            action(&Scalar::Text(object.into()), &Scalar::Text(name.into()))
                .map_err(|invalid| invalid.to_string())
        };
        assert_eq!(read("process", "force_stop"), Ok(JobAction::ForceStop));
        assert_eq!(read("configfile", "diff"), Ok(JobAction::Diff));
        assert_eq!(
            read("configfile", "start").unwrap_err(),
            "job_action: must be one of generate, release, diff for this job_object, not \"start\""
        );
        assert!(
            read("", "start")
                .unwrap_err()
                .starts_with("job_object: is required")
        );
        assert!(
            read("host", "start")
                .unwrap_err()
                .starts_with("job_object: must be")
        );
        assert!(
            read("process", "")
                .unwrap_err()
                .starts_with("job_action: is required")
        );
        assert!(
            read("process", "jump")
                .unwrap_err()
                .starts_with("job_action: must be")
        );
    }
}
