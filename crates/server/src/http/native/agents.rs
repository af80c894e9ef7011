//! The binaries of agents, and upgrades.

use api::{
    AgentBinaryList, AgentBinaryRow, AgentUpgradeBody, AgentUpgradeView, JobOptionsBody,
    LeftOutView,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{AgentSelection, AgentUpgrade, UpgradePlan};
use model::job::BatchSize;
use model::selector::LabelSelector;
use model::{Host, Invalid};
use serde_json::json;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::JsonBody;
use super::response::{json, ok};
use crate::http::{HttpState, install, job_options};

/// How many hosts an answer names.
const NAMED_HOSTS: usize = 5;
/// The share of agents that are upgraded at a time, if the caller does not say.
const DEFAULT_BATCH: BatchSize = BatchSize::Percent(5);

/// Lists the binaries of agents that the server that answers hands out, the newest version first.
#[utoipa::path(get, path = "/api/v1/agents/binaries", operation_id = "list_agent_binaries", tag = "hosts",
    responses((status = 200, description = "All binaries", body = AgentBinaryList), Refusals))]
pub(crate) async fn binaries(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    let agents = http.control.agents().clone();
    let listed = tokio::task::spawn_blocking(move || agents.list_binaries(&caller)).await;
    let binaries = listed.map_err(|_| ApiError::internal())??;
    let binaries = binaries.into_iter().map(|binary| AgentBinaryRow {
        path: install::path_of(&binary),
        program: binary.program,
        version: binary.version,
        arch: binary.arch,
        bytes: binary.size,
        sha256: binary.sha256.as_str().to_owned(),
    });
    Ok(ok(&AgentBinaryList {
        binaries: binaries.collect(),
        protocol_oldest: wire::version::OLDEST,
        protocol_newest: wire::version::NEWEST,
    }))
}

/// Upgrades agents in place, by a job with one task each: in batches, up to a number of failures. No process is restarted. An
/// agent whose new binary does not come up and connect goes back to the old one. With `dry_run` it only tells what it would do.
#[utoipa::path(post, path = "/api/v1/agents/upgrade", operation_id = "upgrade_agents", tag = "hosts",
    request_body = AgentUpgradeBody, responses(
    (status = 202, description = "The job is kept, and its tasks begin", body = AgentUpgradeView),
    (status = 200, description = "Of a dry run: what it would do", body = AgentUpgradeView),
    (status = 409, description = "Another number of agents is selected than `expect_count` says"), Refusals))]
pub(crate) async fn upgrade(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<AgentUpgradeBody>,
) -> Result<Response, ApiError> {
    let scope = json!({"agents": {
        "version": body.version, "all": body.all, "hosts": body.hosts, "label": body.label,
        "clouds": body.clouds, "from_versions": body.from_versions,
    }});
    let dry_run = body.dry_run.unwrap_or(false);
    let options = body.options.clone().unwrap_or_default();
    let (options, batch) = only_these(options)?;
    let upgrade = requested(body)?;
    let control = http.control.clone();
    let agents = control.agents();
    if dry_run {
        let (agents, caller) = (agents.clone(), caller.clone());
        let planned = tokio::task::spawn_blocking(move || agents.plan_upgrade(&caller, &upgrade));
        let plan = planned.await.map_err(|_| ApiError::internal())??;
        return Ok(ok(&view(None, plan)));
    }
    let batch = batch.or_else(|| options.batch_size.is_none().then_some(DEFAULT_BATCH));
    let begun = agents.upgrade(control.jobs(), &caller, upgrade, scope, options, batch);
    let (id, plan) = begun.await?;
    Ok(json(StatusCode::ACCEPTED, &view(Some(id.0), plan)))
}

/// Refuses options that an upgrade does not have.
fn only_these(
    options: JobOptionsBody,
) -> Result<(model::job::JobOptions, Option<BatchSize>), Invalid> {
    let others = [
        ("isolation", !options.isolation.is_empty()),
        ("ignore_error_codes", options.ignore_error_codes.is_some()),
        ("config_template_ids", options.config_template_ids.is_some()),
        ("after_release", !options.after_release.is_empty()),
    ];
    if let Some((name, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
        let rule = "must be left out: an upgrade has batch_size, max_failures and pause_secs";
        return Err(Invalid::new(format!("options.{name}"), rule));
    }
    job_options::read(options).map_err(|invalid| invalid.within("options"))
}

fn requested(body: AgentUpgradeBody) -> Result<AgentUpgrade, Invalid> {
    if !body.has_selection() {
        let rule = "is required, unless all is true or label, clouds or from_versions is given";
        return Err(Invalid::new("hosts", rule));
    }
    let hosts = body.hosts.map(|hosts| {
        let parsed = hosts.iter().enumerate().map(|(n, host)| {
            let parsed = host.parse::<Host>();
            parsed.map_err(|invalid| Invalid::new(format!("hosts[{n}]"), invalid.rule))
        });
        parsed.collect::<Result<Vec<Host>, Invalid>>()
    });
    let clouds = body.clouds.map(|clouds| {
        let parsed = clouds.into_iter().map(model::host::parse_cloud);
        parsed.collect::<Result<Vec<u32>, Invalid>>()
    });
    let labels = body.label.as_deref().map(LabelSelector::parse);
    let expect_count = body.expect_count.map(|count| {
        u64::try_from(count).map_err(|_| Invalid::new("expect_count", "must not be negative"))
    });
    Ok(AgentUpgrade {
        selection: AgentSelection {
            hosts: hosts.transpose()?,
            labels: labels.transpose()?,
            clouds: clouds.transpose()?,
            versions: body.from_versions,
        },
        version: body.version,
        expect_count: expect_count.transpose()?,
    })
}

fn view(job: Option<u32>, plan: UpgradePlan) -> AgentUpgradeView {
    let texts = |hosts: &[Host]| {
        hosts
            .iter()
            .take(NAMED_HOSTS)
            .map(Host::to_string)
            .collect()
    };
    AgentUpgradeView {
        job,
        count: plan.hosts.len(),
        hosts: texts(&plan.hosts),
        left_out: plan
            .left_out
            .iter()
            .map(|group| LeftOutView {
                reason: group.reason.as_str().to_owned(),
                count: group.count,
                hosts: texts(&group.hosts),
            })
            .collect(),
        version: plan.version,
    }
}
