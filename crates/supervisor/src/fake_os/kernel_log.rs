//! No kernel log: fake processes have no memory.

use model::status::OomMemory;

pub(crate) fn oom_kill_of(_pid: i32) -> Option<OomMemory> {
    None
}
