//! Compares what an agent holds with what the server wants of it.

use api::{ComparedProcess, ForeignView, HeldAnswer, HeldProcessView, RunView, WantedView};
use axum::extract::State;
use axum::response::Response;
use control::Comparison;
use model::Host;
use model::held::{ForeignProcess, HeldProcess};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::PathParams;
use super::response::ok;
use crate::http::HttpState;

/// Asks a host's agent what it holds, and compares it with what is wanted.
#[utoipa::path(get, path = "/api/v1/hosts/{host}/held", operation_id = "held_on_host", tag = "hosts",
    params(("host" = String, Path, description = "CLOUD:IP")),
    responses((status = 200, description = "What is held and where it differs", body = HeldAnswer), Refusals))]
pub(crate) async fn held(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(host): PathParams<String>,
) -> Result<Response, ApiError> {
    let host: Host = host.parse()?;
    let view = http.control.sessions().held(&caller, host).await?;
    Ok(ok(&HeldAnswer {
        host: view.host.to_string(),
        processes: view.processes.into_iter().map(compared).collect(),
        foreign: view.foreign.into_iter().map(foreign).collect(),
    }))
}

fn compared(compared: Comparison) -> ComparedProcess {
    let wanted = compared.wanted;
    let differences = compared.differs.into_iter();
    let (differs, reasons) = differences.map(|one| (one.text, one.reason.into())).unzip();
    ComparedProcess {
        process: compared.process.to_string(),
        wanted: WantedView {
            registered: wanted.is_some(),
            flag: wanted.map(|wanted| wanted.flag.as_str().into()),
            managed: wanted.map(|wanted| wanted.managed),
            definition: wanted.map(|wanted| definition(wanted.definition_hash)),
            incarnation: wanted.map(|wanted| wanted.incarnation),
            registered_at: wanted.map(|wanted| wanted.registered_at),
        },
        held: compared.held.map(held_process),
        differs,
        reasons,
    }
}

fn held_process(held: HeldProcess) -> HeldProcessView {
    HeldProcessView {
        flag: held.flag.as_str().into(),
        managed: held.managed,
        definition: definition(held.definition_hash),
        incarnation: held.incarnation,
        phase: held.phase,
        run: held.run.map(|run| RunView {
            pid: run.pid,
            started_at: run.started_at,
        }),
        operations: held.operations.iter().map(ToString::to_string).collect(),
    }
}

fn foreign(foreign: ForeignProcess) -> ForeignView {
    ForeignView {
        process: foreign.process.to_string(),
        pid_path: foreign.pid_path,
        pid: foreign.pid,
        program: foreign.program,
        user: foreign.user,
    }
}

fn definition(hash: u64) -> String {
    format!("{hash:016x}")
}
