//! Errors of the store, by what the caller can do about them.

use model::change::Revision;

/// The error of the layer below, for logs that print the whole chain.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Fold in what is new and plan again.
    #[error("the change was planned against an older state: the head is now {head}")]
    Moved { head: Revision },
    /// Load everything again.
    #[error("the changes since {since} are no longer all known: load everything again")]
    TooOld { since: Revision },
    /// Nothing was opened: the configuration must change.
    #[error(
        "{url:?} names no store: write sqlite:/path/to/file.db or postgres://user@host/database"
    )]
    Unsupported {
        /// Without a part that may be a password.
        url: String,
    },
    /// Nothing was opened: the configuration must change.
    #[error("the address of the store has an option that is not known; known are {known}")]
    UnknownOption { known: String },
    /// Nothing was opened: the binary is older than the data.
    #[error(
        "the store has schema version {found}, this program knows {known} at most: use a newer muster"
    )]
    TooNew { found: i64, known: i64 },
    /// A row that no version of this program wrote. An operator must repair it.
    #[error("row {id} of table {table} cannot be read")]
    Corrupt {
        table: &'static str,
        id: String,
        #[source]
        source: Cause,
    },
    /// The connection broke during COMMIT, and the database did not come back in time to say whether the commit happened. Look
    /// before trying again.
    #[error("the store did not say whether the change was written")]
    InDoubt {
        #[source]
        source: Cause,
    },
    /// Full disk, lost connection, I/O error. Nothing was written; trying again later may work.
    #[error("the store is not available")]
    Unavailable {
        #[source]
        source: Cause,
    },
}

impl StoreError {
    pub(crate) fn unavailable(source: impl Into<Cause>) -> Self {
        Self::Unavailable {
            source: source.into(),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(source: sqlx::Error) -> Self {
        match source {
            sqlx::Error::PoolTimedOut => {
                Self::unavailable("no connection could be had in time: is the database there?")
            }
            source => Self::unavailable(source),
        }
    }
}

/// A URL for messages: only the scheme of one that may contain a password.
pub(crate) fn without_secrets(url: &str) -> String {
    match url.split_once(':') {
        Some((scheme, rest)) if rest.contains(['@', '?']) => format!("{scheme}:…"),
        _ => url.to_owned(),
    }
}
