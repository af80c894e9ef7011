//! unregister_proc_info.

use super::refusal::Refusal;
use super::register::{Answers, Suffix};
use super::request::RawRequest;
use super::{Ask, success};

pub(crate) async fn unregister(ask: &Ask<'_>, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    let name = request.full_name()?;
    let hosts = request.asked(ask.keys())?;
    let control = &ask.http.control;
    let answers = control.unregister(ask.caller, &name, hosts).await?;
    Ok(success(Answers {
        answers: &answers,
        suffix: Suffix::Process(&name),
    }))
}
