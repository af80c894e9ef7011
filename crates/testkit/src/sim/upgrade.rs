//! The upgrade of a simulated agent: it takes the parts of a binary as a real one does, and says the new version from its next
//! hello on. It executes nothing.

use model::upgrade::{Sha256, UpgradePhase, UpgradeState};
use wire::Output;
use wire::ask::Question;

#[derive(Debug)]
pub(super) struct Upgrade {
    /// The version in its hello.
    pub(super) version: String,
    /// It has to connect anew, with another version.
    pub(super) is_due: bool,
    sha256: Option<Sha256>,
    bytes: Vec<u8>,
    state: UpgradeState,
}

impl Default for Upgrade {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            is_due: false,
            sha256: None,
            bytes: Vec::new(),
            state: UpgradeState::default(),
        }
    }
}

impl Upgrade {
    /// The answer to a question about upgrades; None to any other.
    pub(super) fn answer(&mut self, id: u64, question: &Question) -> Option<Output> {
        match question {
            Question::UpgradePart(part) => {
                if self.sha256.as_ref() != Some(&part.sha256) {
                    self.sha256 = Some(part.sha256.clone());
                    self.bytes.clear();
                }
                if part.offset == self.bytes.len() as u64 {
                    self.bytes.extend_from_slice(&part.content);
                }
            }
            Question::Upgrade(wanted) => {
                let hash = ring::digest::digest(&ring::digest::SHA256, &self.bytes);
                if Sha256::of_bytes(hash.as_ref()) != wanted.sha256 {
                    return Some(Output::refuse(
                        id,
                        "the new binary has not arrived completely",
                    ));
                }
                self.state = UpgradeState {
                    phase: UpgradePhase::Done,
                    sha256: wanted.sha256.as_str().to_owned(),
                    version: wanted.version.clone(),
                    ..UpgradeState::default()
                };
                self.version.clone_from(&wanted.version);
                self.is_due = true;
            }
            Question::UpgradeState {} => {}
            _ => return None,
        }
        let state = UpgradeState {
            received: self.bytes.len() as u64,
            ..self.state.clone()
        };
        Some(Output {
            id,
            chunk: serde_json::to_vec(&state).unwrap(),
            last: true,
            refused: String::new(),
        })
    }
}
