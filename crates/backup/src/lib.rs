//! The file format of backups: one file that holds several, encrypted with a passphrase.
//!
//! ```text
//! muster-backup 1          the format and its version
//! {"created_at_ms": …}     the header: one line of JSON that can be read without the passphrase
//! chunks                   the content of all files, one after the other, in sealed chunks of 64 KiB
//! ```
//!
//! [`Writer`] writes beside the target and renames at the end, so a file that is there is complete. [`Reader`] reports every
//! kind of damage as its own error. Argon2id makes the key of passphrase and salt; each chunk is sealed with ChaCha20-Poly1305, its
//! nonce is its number and whether it is the last one ([`chunks`]), and the header is authenticated with the first.
//!
//! The crate knows nothing of stores: a file is a name and bytes.

mod chunks;
mod error;
mod header;
mod reader;
mod writer;

pub use error::BackupError;
pub use header::{FileEntry, Header, KeyDerivation};
pub use reader::Reader;
pub use writer::{Writer, Written};
