//! Preconditions of tests: root, a tool, a kernel feature.
//!
//! `scripts/test` sets `MUSTER_TEST_REQUIRE=1`: there a missing precondition fails the test. Otherwise the test is skipped,
//! and says so.

use std::process::Command;

const REQUIRE: &str = "MUSTER_TEST_REQUIRE";

/// Whether a test can run. If not, prints what is missing, or panics where every test is required to run.
///
/// ```
/// # use testing::precondition;
/// # let is_root = true;
/// if !precondition::is_met(is_root, "root: the test acts as another user") {
///     return;
/// }
/// ```
#[track_caller]
pub fn is_met(holds: bool, missing: &str) -> bool {
    if holds {
        return true;
    }
    let name = test_name();
    assert!(
        std::env::var_os(REQUIRE).is_none_or(|value| value != "1"),
        "{name} needs {missing}; unset {REQUIRE} to skip it"
    );
    #[allow(clippy::print_stderr, reason = "a skipped test must say so")]
    {
        eprintln!("skipped: {name}: needs {missing}");
    }
    false
}

/// Whether this command succeeds here, as [`is_met`].
#[track_caller]
pub fn succeeds(command: &[&str], missing: &str) -> bool {
    let ran = Command::new(command[0]).args(&command[1..]).output();
    let why = match &ran {
        Ok(ran) if ran.status.success() => None,
        Ok(ran) => Some(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    };
    let why = why.as_deref();
    is_met(
        why.is_none(),
        &format!("{missing} ({}: {})", command.join(" "), why.unwrap_or("")),
    )
}

/// libtest names the thread of a test after it, unless it runs the only test on the main thread.
fn test_name() -> String {
    let by_runner = std::env::var("NEXTEST_TEST_NAME").ok();
    by_runner.unwrap_or_else(|| {
        let thread = std::thread::current();
        thread.name().unwrap_or("a test").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_succeeds_is_met() {
        assert!(succeeds(&["true"], "true"));
    }
}
