//! Pieces of the output of a process, as `/api/v1/processes/{namespace}/{name}/logs?format=json` streams them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A piece of output, on a line of its own. One without any field says that the server is still there.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LogPiece {
    /// Output, which may begin and end within a line
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Output that is no UTF-8, in base64
    #[serde(skip_serializing_if = "String::is_empty")]
    pub base64: String,
    /// Why the output ends early: the last piece
    #[serde(skip_serializing_if = "String::is_empty")]
    pub end: String,
}
