//! Refusals.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ReasonView;

/// A refused request.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    pub error: ErrorDetail,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// What kind of refusal: `invalid`, `unauthenticated`, `forbidden`, `not_found`, `wrong_method`, `conflict`,
    /// `count_changed`, `too_large`, `not_json`, `declined` (by the host), `too_slow`, `too_fast`, `busy`, `away` (the agent that would have
    /// to answer), `unavailable` or `internal`.
    pub code: Cow<'static, str>,
    /// The field that breaks a rule, where one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// In an expression, the character that is wrong, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub character: Option<usize>,
    /// What is wrong, in words.
    pub message: String,
    /// Where the refusal is `forbidden` because a role is missing: which one, and who lacks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_role: Option<MissingRoleDetail>,
    /// In a template, the line that is wrong, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The character of that line, counted from 1, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What the message says, for programs and for other languages, of an expression or a template that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReasonView<'static>>,
    /// Where the refusal is `count_changed`: how many processes match now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// The role that a request needs and that its app, its user or both lack. Without `namespace` and `business` the role is needed
/// for everything, or anywhere.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MissingRoleDetail {
    /// The app, if it lacks the role.
    pub app: Option<String>,
    /// The user, if they lack the role.
    pub user: Option<String>,
    /// `viewer`, `operator` or `admin`.
    pub role: Cow<'static, str>,
    pub namespace: Option<String>,
    pub business: Option<u32>,
}
