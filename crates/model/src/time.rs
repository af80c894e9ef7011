//! Points in time in API and store: milliseconds since 1970, UTC.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch. 0 means "never".
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    pub const NEVER: Self = Self(0);

    pub fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Whole seconds, as in the GSE dialects.
    pub fn secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds since `earlier`; 0 if it is in the future.
    pub fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }

    /// `2026-11-15T10:45:02Z`, for messages.
    pub fn to_rfc3339(self) -> String {
        let (days, secs) = (
            self.secs().div_euclid(86_400),
            self.secs().rem_euclid(86_400),
        );
        let (year, month, day) = civil_from_days(days);
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
            secs / 3600,
            secs / 60 % 60,
            secs % 60
        )
    }

    /// Reads what [`Self::to_rfc3339`] writes.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        // The inverse of `civil_from_days`: years begin in March.
        let year = if month <= 2 { year - 1 } else { year };
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let year_of_era = year.rem_euclid(400);
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = year.div_euclid(400) * 146_097 + day_of_era - 719_468;
        let read = Self::from_secs(days * 86_400 + hour * 3600 + minute * 60 + second);
        (read.to_rfc3339() == text).then_some(read)
    }
}

/// Gregorian date of a day count since 1970-01-01, by counting in 400-year eras that begin in March.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * march_month + 2) / 5 + 1) as u32;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days_and_the_epoch_are_correct() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_441_006_057, "2015-08-31T07:27:37Z"),
            (1_709_164_799, "2024-02-28T23:59:59Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(UnixMillis::from_secs(secs).to_rfc3339(), text);
            let read = UnixMillis::parse_rfc3339(text);
            assert_eq!(read, Some(UnixMillis::from_secs(secs)));
        }
    }
}
