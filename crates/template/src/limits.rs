//! How much a template may use. Nobody's template can hold the server up.

use std::time::Duration;

/// The bounds of one rendering.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long it may take.
    pub deadline: Duration,
    /// How large the rendered text may be.
    pub output_bytes: usize,
    /// How large the template may be, with everything that it includes.
    pub source_bytes: usize,
    /// How much its values may use at a time, roughly.
    pub memory_bytes: usize,
    /// How deeply functions may call each other.
    pub call_depth: u32,
    /// How deeply templates may include each other.
    pub include_depth: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            deadline: Duration::from_secs(1),
            output_bytes: 4 << 20,
            source_bytes: 4 << 20,
            memory_bytes: 64 << 20,
            call_depth: 60,
            include_depth: 8,
        }
    }
}
