//! Join tokens.

use model::UnixMillis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Scalar;

responses! {
    pub struct TokenList {
        pub tokens: Vec<TokenRow>,
    }

    pub struct TokenRow {
        pub id: String,
        /// The only host that it is good for; null for any.
        pub host: Option<String>,
        /// 0 for never.
        #[schema(value_type = i64)]
        pub expires_at: UnixMillis,
        #[schema(value_type = i64)]
        pub created_at: UnixMillis,
        /// How many agents may still join with it; null for any number.
        pub uses_left: Option<u32>,
        /// Whether an agent that joins with it takes the place of one that is connected, or was within the last ten minutes.
        pub replace: bool,
    }
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// `CLOUD:IP`: good for this host alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Such as `24h`; it does not expire if not given.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Scalar>,
    /// How many agents may join with it; any number if not given.
    #[schema(value_type = Option<u32>, minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<Scalar>,
    /// Whether an agent that joins with it takes the place of one that is connected, or was within the last ten minutes.
    /// No, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace: Option<bool>,
}

responses! {
    /// The token is shown this once.
    pub struct CreatedToken {
        pub id: String,
        pub token: String,
        #[schema(value_type = i64)]
        pub expires_at: UnixMillis,
        /// Where the replica that answers listens for agents; a wildcard address is any of its own.
        pub agents_address: Option<String>,
        /// The line that makes a machine a host, run there as root. It names this server by the address of this request; null
        /// if that has none.
        pub install: Option<String>,
    }
}
