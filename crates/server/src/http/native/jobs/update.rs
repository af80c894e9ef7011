//! What a job that updates is to bring to hosts.

use api::{FilterBody, JobUpdateBody};
use control::NewUpdate;
use model::access::Caller;
use model::selector::NamePattern;
use model::spec::raw::SpecRules;
use model::{FullName, Invalid, Labels};

use crate::http::HttpState;
use crate::http::native::ApiError;
use crate::http::native::processes::parse_process;
use crate::http::native::versions::version_number;

/// Reads the definition of a request, or that of the version that it names.
pub(super) async fn read(
    http: &HttpState,
    caller: &Caller,
    body: &JobUpdateBody,
) -> Result<NewUpdate, ApiError> {
    if body.process.is_empty() {
        return Err(Invalid::required("update.process").into());
    }
    let process = parse_process("update.process", &body.process.to_text())?;
    match (&body.spec, body.version) {
        (Some(_), Some(_)) => {
            let rule = "must not be given together with spec";
            Err(Invalid::new("update.version", rule).into())
        }
        (None, None) => {
            let rule = "is required, unless version names an earlier one";
            Err(Invalid::new("update.spec", rule).into())
        }
        (None, Some(_)) if !body.labels.is_empty() => {
            let rule = "must not be given together with version, which has its own";
            Err(Invalid::new("update.labels", rule).into())
        }
        (None, version) => {
            let number = version_number("update.version", version)?;
            let registry = http.control.registry();
            let version = registry.version(caller, &process, number).await?;
            Ok(NewUpdate {
                process,
                spec: (*version.row.spec).clone(),
                labels: (*version.row.labels).clone(),
                restores: Some(number),
            })
        }
        (Some(spec), None) => {
            let spec = spec.clone().into_raw().complete(SpecRules::Inline);
            let labels = Labels::parse(body.labels.clone());
            Ok(NewUpdate {
                process,
                spec: spec.map_err(|error| error.within("update.spec"))?,
                labels: labels.map_err(|error| error.within("update"))?,
                restores: None,
            })
        }
    }
}

/// Without a filter of processes, every host of the process that the job updates.
pub(super) fn narrow(filter: &mut Option<FilterBody>, process: &FullName) {
    let filter = filter.get_or_insert_default();
    if !filter.contains_key("process") {
        let exactly = NamePattern::exactly(process).to_string();
        filter.insert("process".to_owned(), exactly.into());
    }
}
