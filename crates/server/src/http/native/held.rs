//! What an agent really holds, beside what is wanted of it.

use axum::extract::State;
use axum::response::Response;
use control::Comparison;
use model::held::{ForeignProcess, HeldProcess};
use model::{Host, UnixMillis};
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::ok;
use super::caller::Asking;
use super::processes::flag_word;
use super::read::Segments;
use super::responses::Refusals;
use crate::http::HttpState;

/// One host as its agent says it is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldAnswer {
    /// `cloud:ip`
    #[schema(value_type = String)]
    host: Host,
    processes: Vec<ComparedProcess>,
    /// Live processes that pid files name and that are not the processes which the files belong to.
    foreign: Vec<ForeignView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparedProcess {
    /// `namespace/name`
    process: String,
    wanted: WantedView,
    /// Null when the agent does not hold it.
    held: Option<HeldProcessView>,
    /// Each difference in words; none when all is as wanted.
    differs: Vec<String>,
}

/// What the server wants of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WantedView {
    /// Whether it is registered on this host; if not, the rest is null.
    registered: bool,
    /// `running`, `stopped` or `unregistered`
    flag: Option<&'static str>,
    managed: Option<bool>,
    /// Stands for spec and labels: equal texts, equal definitions.
    definition: Option<String>,
    /// Tells this registration from an earlier one.
    incarnation: Option<u64>,
    #[schema(value_type = Option<i64>)]
    registered_at: Option<UnixMillis>,
}

/// What the agent holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldProcessView {
    flag: &'static str,
    managed: bool,
    definition: String,
    incarnation: u64,
    /// What is going on with it, in words.
    phase: String,
    run: Option<RunView>,
    /// Operations under way, as `task#ordinal`.
    operations: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunView {
    pid: i32,
    #[schema(value_type = i64)]
    started_at: UnixMillis,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ForeignView {
    /// Whose pid file it is.
    process: String,
    pid_path: String,
    pid: i32,
    /// Who is there instead.
    program: String,
    user: String,
}

/// Asks a host's agent what it holds, and compares it with what is wanted.
#[utoipa::path(get, path = "/api/v1/hosts/{host}/held", operation_id = "held_on_host", tag = "hosts",
    params(("host" = String, Path, description = "CLOUD:IP")),
    responses((status = 200, description = "What is held and where it differs", body = HeldAnswer), Refusals))]
pub(crate) async fn held(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(host): Segments<String>,
) -> Result<Response, ApiError> {
    let host: Host = host.parse()?;
    let view = http.control.sessions().held(&caller, host).await?;
    Ok(ok(&HeldAnswer {
        host: view.host,
        processes: view.processes.into_iter().map(Into::into).collect(),
        foreign: view.foreign.into_iter().map(Into::into).collect(),
    }))
}

impl From<Comparison> for ComparedProcess {
    fn from(compared: Comparison) -> Self {
        let wanted = compared.wanted;
        Self {
            process: compared.process.to_string(),
            wanted: WantedView {
                registered: wanted.is_some(),
                flag: wanted.map(|wanted| flag_word(wanted.flag)),
                managed: wanted.map(|wanted| wanted.managed),
                definition: wanted.map(|wanted| definition(wanted.definition_hash)),
                incarnation: wanted.map(|wanted| wanted.incarnation),
                registered_at: wanted.map(|wanted| wanted.registered_at),
            },
            held: compared.held.map(Into::into),
            differs: compared.differs,
        }
    }
}

impl From<HeldProcess> for HeldProcessView {
    fn from(held: HeldProcess) -> Self {
        Self {
            flag: flag_word(held.flag),
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
}

impl From<ForeignProcess> for ForeignView {
    fn from(foreign: ForeignProcess) -> Self {
        Self {
            process: foreign.process.to_string(),
            pid_path: foreign.pid_path,
            pid: foreign.pid,
            program: foreign.program,
            user: foreign.user,
        }
    }
}

fn definition(hash: u64) -> String {
    format!("{hash:016x}")
}
