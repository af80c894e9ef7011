//! What can be wrong with a backup. Each is a sentence for its user.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("it is no backup of muster")]
    NotABackup,
    #[error(
        "it has format {found}, this program knows {known} at most: use a newer muster",
        known = crate::header::FORMAT
    )]
    TooNew { found: String },
    #[error("its header cannot be read: the file is damaged")]
    BadHeader(#[source] serde_json::Error),
    #[error(
        "its header asks for more memory or time than any version of muster uses: the file is damaged"
    )]
    BadKeyDerivation,
    #[error("the passphrase is wrong, or the header was changed")]
    WrongPassphrase,
    #[error("it is damaged after {after} bytes of content")]
    Damaged { after: u64 },
    #[error("it is truncated: it ends after {after} bytes of content")]
    Truncated { after: u64 },
    #[error("it has more content than its header says")]
    TooLong,
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    #[error("it cannot be written")]
    Write(#[source] io::Error),
}
