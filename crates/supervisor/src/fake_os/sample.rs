//! Usage that changes all the time, like that of busy processes.

use super::cgroup::Group;
use super::clock;
use crate::machine::Run;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) cpu: f64,
    pub(crate) mem: f64,
    pub(crate) fd: u32,
}

#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) run: Run,
    pub(crate) group: Option<Group>,
}

#[derive(Debug)]
pub(crate) struct Sampler;

#[derive(Debug, Default)]
pub(crate) struct Pass {
    pub(crate) samples: Vec<Option<Sample>>,
}

impl Sampler {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn pass(&mut self, roots: &[Root]) -> Pass {
        let sample = Sample {
            cpu: (clock::boot_ms() / 1000 % 97) as f64 / 100.0,
            ..Sample::default()
        };
        Pass {
            samples: vec![Some(sample); roots.len()],
        }
    }

    pub(crate) fn traffic(&mut self, pass: &Pass) -> Vec<u64> {
        vec![0; pass.samples.len()]
    }
}
