//! The upgrade of an agent's binary by its server: what the agent tells about it.

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::bounds::{MAX_MESSAGE, MAX_VERSION};
use crate::text::{sanitize_line, sanitize_lines};

/// The largest binary that is handed out.
pub const MAX_BINARY: u64 = 256 * 1024 * 1024;
/// The largest part of a binary in one frame.
pub const MAX_PART: usize = 256 * 1024;

/// The SHA-256 of a binary, as 64 hexadecimal digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256(String);

impl Sha256 {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        ensure!(
            text.len() == 64 && text.bytes().all(is_digit),
            "sha256",
            "must be 64 hexadecimal digits in lower case"
        );
        Ok(Self(text.to_owned()))
    }

    /// From the 32 bytes of the hash.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        use std::fmt::Write;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            write!(text, "{byte:02x}").expect("a string takes any text");
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

string_conversions!(Sha256, Sha256::parse, |hash: Sha256| hash.0);

/// How far an upgrade is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpgradePhase {
    /// Nothing goes on.
    #[default]
    Idle,
    Running,
    Done,
    /// The agent is what it was before, unless the message says otherwise.
    Failed,
}

/// What an agent knows of its last upgrade.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpgradeState {
    pub phase: UpgradePhase,
    /// Of the last upgrade that began.
    pub sha256: String,
    pub version: String,
    /// Why it failed.
    pub message: String,
    /// How many bytes of the binary that is being sent have arrived.
    pub received: u64,
}

impl UpgradeState {
    /// Limits texts that come from the host.
    #[must_use]
    pub fn bound(mut self) -> Self {
        sanitize_line(&mut self.sha256, 64);
        sanitize_line(&mut self.version, MAX_VERSION);
        sanitize_lines(&mut self.message, MAX_MESSAGE);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_digits() {
        let hash = Sha256::of_bytes(&[0xab; 32]);
        assert_eq!(hash.as_str(), "ab".repeat(32));
        assert_eq!(Sha256::parse(hash.as_str()).unwrap(), hash);
        for bad in [
            "",
            "ab",
            &"AB".repeat(32),
            &"x".repeat(64),
            "../../etc/passwd",
        ] {
            assert!(Sha256::parse(bad).is_err(), "{bad}");
        }
    }
}
