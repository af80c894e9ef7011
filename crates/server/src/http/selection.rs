//! The JSON of a selection, which jobs store and show: in the form of GSEKit requests.

use model::Invalid;
use model::expression::{Expression, ExpressionText};
use model::scope::{Scope, Selection, distinct};
use model::topology::SetEnv;
use serde_json::{Value, json};

/// How many terms one search may have: each is searched on every host.
const MAX_SEARCHES: usize = 100;
/// The joined expression of a selection without one.
const ANY: &str = "*.*.*.*.*";

/// `{"scope": …}` or `{"expression_scope": …}`.
pub(crate) fn to_json(selection: &Selection) -> Value {
    match selection {
        Selection::Scope(scope) => json!({"scope": scope_json(scope)}),
        Selection::Expression { env, expression } => {
            let parts = ExpressionText::from(Expression::clone(expression));
            let mut parts = json!(parts);
            parts["bk_set_env"] = json!(env_text(*env));
            json!({"expression_scope": parts})
        }
    }
}

/// The joined expression of what [`to_json`] made.
pub(crate) fn joined(json: &Value) -> String {
    let parts = json.get("expression_scope").cloned();
    let expression = parts.and_then(|parts| serde_json::from_value::<Expression>(parts).ok());
    expression.map_or_else(|| ANY.to_owned(), |expression| expression.to_string())
}

fn scope_json(scope: &Scope) -> Value {
    json!({
        "bk_set_env": env_text(scope.env),
        "bk_set_ids": scope.sets.as_deref().unwrap_or_default(),
        "bk_module_ids": scope.modules.as_deref().unwrap_or_default(),
        "bk_service_ids": scope.services.as_deref().unwrap_or_default(),
        "bk_process_names": scope.names.as_deref().unwrap_or_default(),
        "bk_process_ids": scope.processes.as_deref().unwrap_or_default(),
    })
}

/// 0 stands for all.
pub(crate) fn env_text(env: Option<SetEnv>) -> &'static str {
    match env {
        None => "0",
        Some(SetEnv::Test) => "1",
        Some(SetEnv::Experience) => "2",
        Some(SetEnv::Formal) => "3",
    }
}

/// The terms of a search without blanks, each once.
pub(crate) fn searches<'a>(
    field: &str,
    terms: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<String>, Invalid> {
    let terms = terms.into_iter().map(str::trim);
    let terms = terms.filter(|term| !term.is_empty()).map(str::to_owned);
    let terms = distinct(terms.collect());
    match terms.len() > MAX_SEARCHES {
        true => Err(Invalid::new(
            field,
            format!("must be at most {MAX_SEARCHES} terms"),
        )),
        false => Ok(terms),
    }
}

#[cfg(test)]
mod tests {
    use model::topology::SetId;

    use super::*;

    #[test]
    fn a_selection_is_stored_in_the_form_of_requests() {
        let scope = Selection::Scope(Scope {
            sets: Some(vec![SetId(5)]),
            ..Scope::default()
        });
        let json = to_json(&scope);
        assert_eq!(json["scope"]["bk_set_env"], "0");
        assert_eq!(json["scope"]["bk_set_ids"], json!([5]));
        assert_eq!(joined(&json), "*.*.*.*.*");
        let expression = Selection::Expression {
            env: Some(SetEnv::Formal),
            expression: Box::new(Expression::parse_dotted("zone[1-3].login").unwrap()),
        };
        let json = to_json(&expression);
        assert_eq!(json["expression_scope"]["bk_set_name"], "zone[1-3]");
        assert_eq!(json["expression_scope"]["bk_set_env"], "3");
        assert_eq!(joined(&json), "zone[1-3].login.*.*.*");
    }

    #[test]
    fn the_terms_of_a_search_are_limited() {
        assert_eq!(searches("x", [" b", "a", "", "b"]).unwrap(), ["a", "b"]);
        let many: Vec<String> = (0..=MAX_SEARCHES).map(|n| n.to_string()).collect();
        let refused = searches("x", many.iter().map(String::as_str));
        assert_eq!(refused.unwrap_err().field, "x");
    }
}
