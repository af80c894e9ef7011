//! Limits of one rendering, so that no template can block the server or exhaust its memory.

use std::time::Duration;

/// The limits of one rendering.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest time.
    pub deadline: Duration,
    /// The largest rendered text.
    pub output_bytes: usize,
    /// The largest template text, includes included.
    pub source_bytes: usize,
    /// The most memory of its values at a time (estimated).
    pub memory_bytes: usize,
    /// The deepest nesting of function calls.
    pub call_depth: u32,
    /// The deepest nesting of includes.
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
