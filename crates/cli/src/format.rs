//! Formats numbers, times and foreign text for people, and parses durations and sizes.

use std::fmt::Display;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::text::must_be_escaped;
use model::{Labels, UnixMillis};

/// Text that came from a host or a server, made safe for one line of a terminal.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if must_be_escaped(c) => '?',
            c => c,
        })
        .collect()
}

/// Columns that the text takes on a terminal: East Asian characters take two.
pub fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x300..=0x36f | 0x200b..=0x200f => 0,
            0x1100..=0x115f
            | 0x2e80..=0x303e
            | 0x3041..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0xffe0..=0xffe6
            | 0x1f300..=0x1f64f
            | 0x1f900..=0x1f9ff
            | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

/// `9,998`; the number must be a whole one.
pub fn count(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 host`, `2 hosts`.
pub fn counted(number: impl Display, noun: &str) -> String {
    let number = count(number);
    let plural = match (number.as_str(), noun) {
        ("1", _) => "",
        (_, noun) if noun.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{number} {noun}{plural}")
}

/// `ann (app)`; the app alone where no user is known, and the user alone where there is no app.
pub fn user_and_app(user: &str, app: &str) -> String {
    match (user, app) {
        ("", app) => clean(app),
        (user, "") => clean(user),
        (user, app) => clean(&format!("{user} ({app})")),
    }
}

/// `a=1,b=2`.
pub fn pairs(labels: &Labels, separator: &str) -> String {
    let pairs: Vec<String> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join(separator)
}

/// `1.5 MiB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{number} B"),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// `45s`, `12m`, `3h20m`, `4d7h`: two units are enough.
pub fn lasted(duration: Duration) -> String {
    let secs = duration.as_secs();
    let (days, hours, minutes) = (secs / 86_400, secs / 3600 % 24, secs / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{secs}s"),
        (0, 0, minutes) if minutes < 10 => format!("{minutes}m{}s", secs % 60),
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h{minutes}m"),
        (days, hours, _) => format!("{days}d{hours}h"),
    }
}

/// `312 ms`, `2.1 s`.
pub fn millis(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{:.1} s", millis as f64 / 1000.0),
        _ => lasted(Duration::from_millis(millis)),
    }
}

pub fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixMillis(since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
}

/// How long ago, or `-` for never.
pub fn age(at: UnixMillis, now: UnixMillis) -> String {
    match at {
        UnixMillis::NEVER => "-".to_owned(),
        at => lasted(Duration::from_millis(now.millis_since(at).unsigned_abs())),
    }
}

/// `2026-11-15 10:45:02Z (3m ago)`.
pub fn moment(at: UnixMillis, now: UnixMillis) -> String {
    match at {
        UnixMillis::NEVER => "never".to_owned(),
        at if at > now => format!("{} (in {})", at.to_rfc3339(), age(now, at)),
        at => format!("{} ({} ago)", at.to_rfc3339(), age(at, now)),
    }
}

/// `10:45:02`, in UTC.
pub fn clock(at: UnixMillis) -> String {
    at.to_rfc3339().get(11..19).unwrap_or("--:--:--").to_owned()
}

pub fn yes_no(flag: bool) -> &'static str {
    match flag {
        true => "yes",
        false => "no",
    }
}

/// Reads `90`, `90s`, `5m`, `24h`, `7d`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let bad = || format!("{text:?} is not a duration: write 90s, 5m, 24h or 7d");
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| bad())?;
    let unit_secs = match unit.trim() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(bad()),
    };
    number
        .checked_mul(unit_secs)
        .filter(|secs| *secs <= 100 * 365 * 86_400)
        .map(Duration::from_secs)
        .ok_or_else(bad)
}

/// Reads `4096`, `512K`, `100M`, `1.5G`, `2T`, also as `100MiB` or `100MB`: units of 1024, as in `ulimit` and systemd.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let bad = || format!("{text:?} is not a size: write 4096, 512K, 100M or 1.5G");
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let unit = unit.trim().to_ascii_uppercase();
    let shift = match unit.strip_suffix("IB").or(unit.strip_suffix('B')) {
        Some("") => 0,
        short => match short.unwrap_or(&unit) {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            _ => return Err(bad()),
        },
    };
    if let Ok(number) = digits.parse::<u64>() {
        return number
            .checked_mul(1 << shift)
            .filter(|bytes| *bytes <= i64::MAX as u64)
            .ok_or_else(bad);
    }
    // A fraction of a byte is none.
    let number: f64 = digits.parse().map_err(|_| bad())?;
    let bytes = number * f64::from(1 << 10).powi(shift / 10);
    match shift > 0 && bytes < 1e18 {
        true => Ok(bytes as u64),
        false => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_nouns_agree() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(9998), "9,998");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "host"), "1 host");
        assert_eq!(counted(2, "process"), "2 processes");
    }

    #[test]
    fn durations_show_two_units() {
        for (secs, text) in [
            (0, "0s"),
            (59, "59s"),
            (61, "1m1s"),
            (719, "11m"),
            (12_000, "3h20m"),
            (370_800, "4d7h"),
        ] {
            assert_eq!(lasted(Duration::from_secs(secs)), text);
        }
        assert_eq!(millis(312), "312 ms");
        assert_eq!(millis(2_100), "2.1 s");
        assert_eq!(bytes(1536), "1.5 KiB");
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("100B", 100),
            ("512K", 512 << 10),
            ("100m", 100 << 20),
            ("100MB", 100 << 20),
            ("100 MiB", 100 << 20),
            ("1.5G", 3 << 29),
            ("2T", 2 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "M",
            "-5M",
            "1.5",
            "1.2.3M",
            "5X",
            "5iM",
            "99999999999T",
            "9e3",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, secs) in [
            ("90", 90),
            ("90s", 90),
            ("5m", 300),
            ("24h", 86_400),
            (" 7d ", 604_800),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_secs(secs)),
                "{text}"
            );
        }
        for text in ["", "m", "-5s", "1.5h", "5 weeks", "99999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
