//! Limits of the agent's own memory and CPU, and of the output that it keeps.

use model::Invalid;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

pub(super) const DEFAULT_MEMORY: u64 = 256 * MIB;
pub(super) const DEFAULT_CPU: u32 = 50;
/// No agent runs with less.
const MIN_MEMORY: u64 = 4 * MIB;
const MAX_MEMORY: u64 = 1024 * GIB;
/// Less would not hold the output of an operation.
const MIN_OUTPUT: u64 = 128 * KIB;
const MAX_OUTPUT: u64 = GIB;
/// Each is a file, and listed at each start of the process.
const MAX_RUNS: u32 = 20;
/// An agent works on one core.
const MAX_CPU: u32 = 100;

/// `256MiB`, `256M`, `1G`, or bytes.
pub(super) fn parse_memory(text: &str) -> Result<u64, Invalid> {
    let text = text.trim();
    parse_bytes(text)
        .filter(|bytes| (MIN_MEMORY..=MAX_MEMORY).contains(bytes))
        .ok_or_else(|| {
            let rule = format!("must be bytes from 4MiB to 1024GiB, as in 256MiB, not {text:?}");
            Invalid::new("memory_max", rule)
        })
}

/// The same for the output that is kept of a run.
pub(super) fn parse_output(text: &str) -> Result<u64, Invalid> {
    let text = text.trim();
    parse_bytes(text)
        .filter(|bytes| (MIN_OUTPUT..=MAX_OUTPUT).contains(bytes))
        .ok_or_else(|| {
            let rule = format!("must be bytes from 128KiB to 1GiB, as in 1MiB, not {text:?}");
            Invalid::new("output_max", rule)
        })
}

pub(super) fn parse_runs(text: &str) -> Result<u32, Invalid> {
    let number = text.trim().parse().ok();
    number
        .filter(|runs| (1..=MAX_RUNS).contains(runs))
        .ok_or_else(|| {
            let rule = format!("must be a number of runs from 1 to {MAX_RUNS}, not {text:?}");
            Invalid::new("output_runs", rule)
        })
}

fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim_start() {
        "" | "B" => 1,
        "K" | "KiB" => KIB,
        "M" | "MiB" => MIB,
        "G" | "GiB" => GIB,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Formats bytes as [`parse_memory`] reads them.
pub(crate) fn memory_text(bytes: u64) -> String {
    match bytes.is_multiple_of(MIB) {
        true => format!("{}MiB", bytes / MIB),
        false => format!("{bytes}B"),
    }
}

/// `50` or `50%`.
pub(super) fn parse_cpu(text: &str) -> Result<u32, Invalid> {
    let number = text.trim();
    let number = number.strip_suffix('%').unwrap_or(number);
    number
        .parse()
        .ok()
        .filter(|percent| (1..=MAX_CPU).contains(percent))
        .ok_or_else(|| {
            let rule = format!("must be percent of one core, 1 to 100, not {text:?}");
            Invalid::new("cpu_max", rule)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bytes_with_or_without_a_unit() {
        for (text, bytes) in [
            ("256MiB", 256 * MIB),
            ("256M", 256 * MIB),
            (" 1 GiB ", GIB),
            ("16384K", 16 * MIB),
            ("4194304", 4 * MIB),
            ("8388609B", 8 * MIB + 1),
        ] {
            assert_eq!(parse_memory(text).unwrap(), bytes, "{text}");
            assert_eq!(parse_memory(&memory_text(bytes)).unwrap(), bytes);
        }
        for bad in [
            "",
            "MiB",
            "-1",
            "4194303",
            "1.5G",
            "256MB",
            "9999999999G",
            "1025G",
        ] {
            let complaint = parse_memory(bad).unwrap_err().rule;
            assert!(complaint.contains("as in 256MiB"), "{complaint}");
        }
    }

    #[test]
    fn kept_output_has_limits() {
        assert_eq!(parse_output("1MiB").unwrap(), MIB);
        assert_eq!(parse_output("128K").unwrap(), 128 * KIB);
        for bad in ["", "0", "127KiB", "1025M", "much"] {
            let complaint = parse_output(bad).unwrap_err();
            assert!(complaint.rule.contains("as in 1MiB"), "{complaint}");
        }
        assert_eq!(parse_runs(" 20").unwrap(), 20);
        for bad in ["", "0", "21", "-1", "all"] {
            assert_eq!(parse_runs(bad).unwrap_err().field, "output_runs");
        }
    }

    #[test]
    fn cpu_is_percent_of_one_core() {
        assert_eq!(parse_cpu("50").unwrap(), 50);
        assert_eq!(parse_cpu("100%").unwrap(), 100);
        for bad in ["", "0", "101", "-5", "a half", "%"] {
            assert!(parse_cpu(bad).is_err(), "{bad}");
        }
    }
}
