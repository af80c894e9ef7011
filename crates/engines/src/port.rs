//! Ports that stay reserved while a server is down: below the ephemeral ports of the system, and locked against other tests.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use crate::EngineError;

const FIRST: u16 = 21_000;
const N_PORTS: u16 = 2_000;

/// A loopback port that no other test takes until this is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    pub fn take() -> Result<Self, EngineError> {
        let user = rustix::process::geteuid().as_raw();
        let folder = std::env::temp_dir().join(format!("muster-engines-ports-{user}"));
        std::fs::create_dir_all(&folder).map_err(EngineError::io("make", &folder))?;
        let begin = RandomState::new().hash_one(std::process::id()) % u64::from(N_PORTS);
        for offset in 0..u64::from(N_PORTS) {
            let number = FIRST + ((begin + offset) % u64::from(N_PORTS)) as u16;
            let path = folder.join(number.to_string());
            let lock = File::options().create(true).append(true).open(&path);
            let lock = lock.map_err(EngineError::io("open", &path))?;
            if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self {
                    number,
                    _lock: lock,
                });
            }
        }
        Err(EngineError::Failed {
            program: "the search for a port".into(),
            output: format!("{N_PORTS} ports from {FIRST} on are all taken"),
        })
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}
