//! No kernel log: fake processes have no memory.

use model::status::OomMemory;

#[derive(Debug, Default)]
pub(crate) struct KernelLog {}

impl KernelLog {
    pub(crate) fn oom_kill_of(&mut self, _pid: i32) -> Option<OomMemory> {
        None
    }

    pub(crate) fn read_on(&mut self) {}
}
