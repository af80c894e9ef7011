//! Checks the rule of a periodic process, and says which part of a wrong one is wrong.

use croner::parser::CronParser;

use crate::Invalid;

const FIELD: &str = "crontab_rule";

/// Name and bounds of each of the five parts.
const PARTS: [(&str, u32, u32); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day", 1, 31),
    ("month", 1, 12),
    ("weekday", 0, 7),
];

/// The rule must match at least one point in time.
pub(super) fn check(rule: &str) -> Result<(), Invalid> {
    let is_nickname = rule.starts_with('@');
    ensure!(
        is_nickname || rule.split_whitespace().count() == PARTS.len(),
        FIELD,
        "must have five fields: minute hour day month weekday"
    );
    let cron = CronParser::new().parse(rule).map_err(|error| {
        let why = match is_nickname {
            true => format!(
                "must be @hourly, @daily, @weekly, @monthly or @yearly, or five fields, got {rule:?}"
            ),
            false => wrong_part(rule).unwrap_or_else(|| format!("is no crontab rule: {error}")),
        };
        Invalid::new(FIELD, why)
    })?;
    // The search may start at any day: a rule without a match in the following years never matches.
    let next = cron.find_next_occurrence(&chrono::DateTime::UNIX_EPOCH, false);
    ensure!(next.is_ok(), FIELD, "names a time that never comes");
    Ok(())
}

/// The first part that is wrong by itself.
fn wrong_part(rule: &str) -> Option<String> {
    let parts = PARTS.iter().zip(rule.split_whitespace()).enumerate();
    for (index, ((name, lowest, highest), text)) in parts {
        let mut numbers = numbers_of(text);
        let is_outside = |number: &&str| {
            let number = number.parse::<u32>();
            !number.is_ok_and(|number| (*lowest..=*highest).contains(&number))
        };
        if let Some(number) = numbers.find(is_outside) {
            return Some(format!("{name} must be {lowest}-{highest}, got {number}"));
        }
        let mut alone = ["*"; PARTS.len()];
        alone[index] = text;
        if CronParser::new().parse(&alone.join(" ")).is_err() {
            return Some(format!(
                "{name} must be {lowest}-{highest}, a list (1,2), a range (1-5), a step (*/5) or *, got {text:?}"
            ));
        }
    }
    None
}

/// The numbers in a list of numbers and ranges; steps have other bounds.
fn numbers_of(text: &str) -> impl Iterator<Item = &str> {
    let items = text.split(',').filter_map(|item| item.split('/').next());
    let ends = items.flat_map(|item| item.split('-'));
    ends.filter(|end| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_part_of_a_rule_is_named() {
        let refused = |rule: &str| check(rule).unwrap_err().rule;
        assert_eq!(refused("61 * * * *"), "minute must be 0-59, got 61");
        assert_eq!(refused("0 24 * * *"), "hour must be 0-23, got 24");
        assert_eq!(refused("0 0 0 * *"), "day must be 1-31, got 0");
        assert_eq!(refused("0 0 1 1-13 *"), "month must be 1-12, got 13");
        assert_eq!(refused("0 0 * * 1,8"), "weekday must be 0-7, got 8");
        assert_eq!(
            refused("0,99999999999 * * * *"),
            "minute must be 0-59, got 99999999999"
        );
        assert_eq!(
            refused("5 x * * *"),
            "hour must be 0-23, a list (1,2), a range (1-5), a step (*/5) or *, got \"x\""
        );
        assert_eq!(
            refused("*/0 * * * *"),
            "minute must be 0-59, a list (1,2), a range (1-5), a step (*/5) or *, got \"*/0\""
        );
        assert_eq!(
            refused("@often"),
            "must be @hourly, @daily, @weekly, @monthly or @yearly, or five fields, got \"@often\""
        );
        assert_eq!(refused("0 0 31 2 *"), "names a time that never comes");
    }

    #[test]
    fn rules_in_use_are_accepted() {
        for rule in [
            "* * * * *",
            "*/5 0-23/2 1,15 JAN-MAR MON",
            "0 0 L * *",
            "@daily",
            "@hourly",
            "30 4 * * 7",
        ] {
            assert!(check(rule).is_ok(), "{rule}");
        }
    }
}
