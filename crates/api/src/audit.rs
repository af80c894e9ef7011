//! The audit trail.

use model::UnixMillis;

use crate::Rows;

responses! {
    pub struct AuditList {
        #[schema(value_type = Vec<AuditRow>)]
        pub audit: Rows<AuditRow>,
        /// `before` of the next page; null at the end.
        pub next: Option<u64>,
    }

    pub struct AuditRow {
        pub id: u64,
        #[schema(value_type = i64)]
        pub at: UnixMillis,
        pub app: String,
        pub user: String,
        pub from: String,
        pub request_id: String,
        /// `register`, `operate`, `app.create`, …
        pub action: String,
        pub object: String,
        pub detail: String,
    }
}
