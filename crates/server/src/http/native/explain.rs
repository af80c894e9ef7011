//! Explains an expression: what each part means and how many processes it leaves.

use api::{ExplainBody, Explained, ExpressionMatch, PartExplained};
use axum::extract::State;
use axum::response::Response;
use model::Invalid;
use model::access::Permission;
use model::expression::{Expression, ExpressionText};
use model::scope::{Selection, ViewFilter};
use model::topology::BusinessId;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::JsonBody;
use super::response::ok;
use super::selection::{parse_env, parse_expression, part_word};
use crate::http::HttpState;

/// How many of the selected processes are shown.
const FIRST: usize = 10;

/// Explains an expression: each part in words, how many processes it leaves, and the first that are selected.
#[utoipa::path(post, path = "/api/v1/expression/explain", operation_id = "explain_expression", tag = "view",
    request_body = ExplainBody,
    responses((status = 200, description = "What it means", body = Explained), Refusals))]
pub(crate) async fn explain(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<ExplainBody>,
) -> Result<Response, ApiError> {
    let business = business(body.business)?;
    http.control
        .access()
        .check(&caller, Permission::View, business)?;
    let env = parse_env(&body.env.to_text())?;
    let expression = body.expression;
    let expression = expression.ok_or_else(|| Invalid::required("expression"))?;
    let expression = parse_expression(&expression)?;
    let topology = http.control.topology();
    let filter = ViewFilter::new(
        business,
        Selection::Expression {
            env,
            expression: Box::new(expression.clone()),
        },
    );
    let cost = topology.cost(&filter, false);
    let read = || topology.select(&caller, business, env, &expression, FIRST);
    let selected = http.long_reads.run(cost, read).await?;
    let parts = expression.explain().into_iter().zip(texts(&expression));
    let parts = parts
        .zip(selected.left)
        .map(|(((part, meaning), text), count)| PartExplained {
            part: part_word(part).into(),
            text,
            words: meaning.to_string(),
            meaning: (&meaning).into(),
            count,
        });
    Ok(ok(&Explained {
        expression: expression.to_string(),
        count: selected.count,
        parts: parts.collect(),
        matches: selected
            .first
            .into_iter()
            .map(|(id, expression)| ExpressionMatch {
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
