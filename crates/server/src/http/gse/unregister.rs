//! unregister_proc_info.

use super::refusal::Refusal;
use super::register::{Answers, Suffix};
use super::request::RawRequest;
use super::{RequestContext, success};

pub(crate) async fn unregister(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let name = request.full_name()?;
    let hosts = request.asked(context.keys())?;
    let control = &context.http.control;
    let answers = control
        .registry()
        .unregister(context.caller, &name, hosts)
        .await?;
    Ok(success(Answers {
        answers: &answers,
        suffix: Suffix::Process(&name),
    }))
}
