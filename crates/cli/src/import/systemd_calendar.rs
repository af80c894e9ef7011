//! `OnCalendar=` of systemd's timers as rules of cron, where cron can say the same.

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// `Mon..Fri *-*-* 03:00:00` → `0 3 * * 1-5`. An error says what cron lacks.
pub(super) fn crontab(text: &str) -> Result<String, String> {
    let lower = text.trim().to_lowercase();
    let fixed = match lower.as_str() {
        "minutely" => Some("* * * * *"),
        "hourly" => Some("0 * * * *"),
        "daily" => Some("0 0 * * *"),
        "weekly" => Some("0 0 * * 1"),
        "monthly" => Some("0 0 1 * *"),
        "quarterly" => Some("0 0 1 1,4,7,10 *"),
        "semiannually" => Some("0 0 1 1,7 *"),
        "yearly" | "annually" => Some("0 0 1 1 *"),
        _ => None,
    };
    if let Some(rule) = fixed {
        return Ok(rule.to_owned());
    }
    let (mut weekdays, mut date, mut time) = ("*".to_owned(), None, None);
    for word in lower.split_whitespace() {
        if word.contains(':') && time.is_none() {
            time = Some(word);
        } else if word.starts_with(|c: char| c.is_ascii_alphabetic())
            && date.is_none()
            && time.is_none()
        {
            weekdays = days(word)?;
        } else if word.contains('-') && date.is_none() && time.is_none() {
            date = Some(word);
        } else {
            return Err(format!(
                "{word:?}: cron rules have no time zone and no such part"
            ));
        }
    }
    if date.is_none() && time.is_none() && weekdays == "*" {
        return Err(format!("{text:?} is no time"));
    }
    let (month, day) = match date {
        None => ("*".to_owned(), "*".to_owned()),
        Some(date) => month_and_day(date)?,
    };
    let (hour, minute) = match time {
        None => ("0".to_owned(), "0".to_owned()),
        Some(time) => hour_and_minute(time)?,
    };
    if day != "*" && weekdays != "*" {
        return Err(
            "cron runs when the day or the weekday matches, systemd when both do".to_owned(),
        );
    }
    Ok(format!("{minute} {hour} {day} {month} {weekdays}"))
}

fn month_and_day(date: &str) -> Result<(String, String), String> {
    let parts: Vec<&str> = date.split('-').collect();
    let (year, month, day) = match parts.as_slice() {
        [year, month, day] => (*year, *month, *day),
        [month, day] => ("*", *month, *day),
        _ => return Err(format!("{date:?} is no date")),
    };
    match year {
        "*" => Ok((field(month, 1, 12)?, field(day, 1, 31)?)),
        _ => Err("cron rules have no year".to_owned()),
    }
}

fn hour_and_minute(time: &str) -> Result<(String, String), String> {
    let parts: Vec<&str> = time.split(':').collect();
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] => (*hour, *minute, "00"),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return Err(format!("{time:?} is no time of the day")),
    };
    match second.trim_matches('0') {
        "" => Ok((field(hour, 0, 23)?, field(minute, 0, 59)?)),
        _ => Err("cron rules have no seconds".to_owned()),
    }
}

/// `*`, `5`, `1,3`, `1..5`, `0/15`, `*/2`
fn field(text: &str, lowest: u32, highest: u32) -> Result<String, String> {
    let number = |text: &str| {
        let number = text.parse::<u32>().ok();
        number
            .filter(|number| (lowest..=highest).contains(number))
            .ok_or_else(|| format!("{text:?} is not from {lowest} to {highest}"))
    };
    let one = |text: &str| {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (
                range,
                Some(
                    step.parse::<u32>()
                        .map_err(|_| format!("{step:?} is no step"))?,
                ),
            ),
            None => (text, None),
        };
        if step == Some(0) {
            return Err("a step of 0".to_owned());
        }
        let range = match (range.split_once(".."), range) {
            (Some((from, to)), _) => format!("{}-{}", number(from)?, number(to)?),
            (None, "*") => "*".to_owned(),
            (None, one) => match step {
                Some(_) if number(one)? == lowest => "*".to_owned(),
                Some(_) => format!("{}-{highest}", number(one)?),
                None => number(one)?.to_string(),
            },
        };
        Ok(match step {
            Some(step) => format!("{range}/{step}"),
            None => range,
        })
    };
    let parts: Result<Vec<String>, String> = text.split(',').map(one).collect();
    Ok(parts?.join(","))
}

fn days(text: &str) -> Result<String, String> {
    let day = |text: &str| {
        let short: String = text.chars().take(3).collect();
        WEEKDAYS
            .iter()
            .position(|day| *day == short)
            .ok_or_else(|| format!("{text:?} is no weekday"))
    };
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        match part.split_once("..") {
            None => all.push(day(part)?),
            Some((from, to)) => {
                let (from, to) = (day(from)?, day(to)?);
                let mut at = from;
                loop {
                    all.push(at);
                    if at == to {
                        break;
                    }
                    at = (at + 1) % 7;
                }
            }
        }
    }
    let is_range = all.len() > 2 && all.windows(2).all(|two| two[1] == two[0] + 1);
    match (is_range, all.first(), all.last()) {
        (true, Some(first), Some(last)) => Ok(format!("{first}-{last}")),
        _ => {
            let days: Vec<String> = all.iter().map(usize::to_string).collect();
            Ok(days.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_cron_can_say_are_rules() {
        for (text, rule) in [
            ("daily", "0 0 * * *"),
            ("Mon..Fri *-*-* 03:00:00", "0 3 * * 1-5"),
            ("*-*-* 04:30", "30 4 * * *"),
            ("*:0/15", "*/15 * * * *"),
            ("*:5/20", "5-59/20 * * * *"),
            ("Sat,Sun 12:00", "0 12 * * 6,0"),
            ("Fri..Mon 00:00", "0 0 * * 5,6,0,1"),
            ("*-*-01 00:00:00", "0 0 1 * *"),
            ("*-01,07-01 6:00", "0 6 1 1,7 *"),
            ("mon", "0 0 * * 1"),
            ("hourly", "0 * * * *"),
        ] {
            assert_eq!(crontab(text), Ok(rule.to_owned()), "{text}");
        }
    }

    #[test]
    fn times_that_cron_cannot_say_are_errors() {
        for text in [
            "Sat *-*-1..7 18:00",
            "2026-*-* 03:00",
            "*-*-* 03:00:30",
            "*-*-* 03:00 Europe/Berlin",
            "*-*~1 03:00",
            "*-13-01 00:00",
            "soon",
            "",
            "25:00",
        ] {
            assert!(crontab(text).is_err(), "{text}: {:?}", crontab(text));
        }
    }
}
