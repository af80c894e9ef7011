//! What an expression means, and what each of its parts leaves: for whoever wants to know before acting on it.

use axum::extract::State;
use axum::response::Response;
use model::access::Permission;
use model::expression::{Expression, ExpressionText};
use model::topology::BusinessId;
use model::{Invalid, lenient};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::ok;
use super::caller::Asking;
use super::read::Read;
use super::responses::Refusals;
use super::selected::{ExpressionBody, parse_env, part_word};
use crate::http::HttpState;
use crate::http::json::Scalar;
use crate::http::openapi::ExpressionSchema;

/// How many of the selected processes are shown.
const FIRST: usize = 10;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainBody {
    #[serde(default, deserialize_with = "lenient::int")]
    #[schema(value_type = u32, required)]
    business: Option<i64>,
    /// test, experience or formal; all if not given.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    env: Scalar,
    #[schema(value_type = ExpressionSchema)]
    expression: Option<ExpressionBody>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explained {
    /// The joined form.
    expression: String,
    /// How many processes it selects.
    count: u64,
    parts: Vec<PartExplained>,
    /// The first of them, by id.
    matches: Vec<Match>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartExplained {
    /// `set`, `module`, `service`, `process` or `id`.
    part: &'static str,
    text: String,
    /// What it means, in words.
    words: String,
    /// How many processes are left after this part and those before it.
    count: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Match {
    id: u32,
    expression: String,
}

/// Explains an expression: each part in words, how many processes it leaves, and the first that are selected.
#[utoipa::path(post, path = "/api/v1/expression/explain", operation_id = "explain_expression", tag = "view",
    request_body = ExplainBody,
    responses((status = 200, description = "What it means", body = Explained), Refusals))]
pub(crate) async fn explain(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Read(body): Read<ExplainBody>,
) -> Result<Response, ApiError> {
    let business = business(body.business)?;
    http.control
        .access()
        .check(&caller, Permission::View, business)?;
    let env = parse_env(&body.env.to_text())?;
    let expression = body
        .expression
        .ok_or_else(|| Invalid::required("expression"))?
        .read()?;
    let topology = http.control.topology();
    let selected = topology.select(&caller, business, env, &expression, FIRST)?;
    let parts = expression.explain().into_iter().zip(texts(&expression));
    let parts = parts
        .zip(selected.left)
        .map(|(((part, words), text), count)| PartExplained {
            part: part_word(part),
            text,
            words,
            count,
        });
    Ok(ok(&Explained {
        expression: expression.to_string(),
        count: selected.count,
        parts: parts.collect(),
        matches: selected
            .first
            .into_iter()
            .map(|(id, expression)| Match {
                id: id.0,
                expression,
            })
            .collect(),
    }))
}

pub(crate) fn business(number: Option<i64>) -> Result<BusinessId, Invalid> {
    let number = number.ok_or_else(|| Invalid::required("business"))?;
    BusinessId::parse(number).map_err(|invalid| Invalid::new("business", invalid.rule))
}

fn texts(expression: &Expression) -> [String; 5] {
    let text = ExpressionText::from(expression.clone());
    [
        text.bk_set_name,
        text.bk_module_name,
        text.service_instance_name,
        text.bk_process_name,
        text.bk_process_id,
    ]
    .map(Option::unwrap_or_default)
}
