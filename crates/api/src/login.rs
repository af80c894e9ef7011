//! Logging in.

use model::UnixMillis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_debug_implementations, reason = "it holds a password")]
pub struct LoginBody {
    #[schema(required)]
    pub username: Option<String>,
    #[schema(required)]
    pub password: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[expect(missing_debug_implementations, reason = "it holds a token")]
pub struct LoggedIn {
    pub bk_token: String,
    #[schema(value_type = i64)]
    pub expires_at: UnixMillis,
}
