//! The pages of `docs/reference/` about metrics, errors and events say what the code says.
//!
//! Rewrite them with `UPDATE_REFERENCE=1 cargo nextest run -p server reference`.

use std::collections::BTreeMap;

use model::Code;
use model::event::EventKind;
use server::http::reference::{FAMILIES, Kind, envelope_codes, native_errors};
use testing::reference::{check_part, table};

use crate::rig::{Rig, target};

fn code(text: impl std::fmt::Display) -> String {
    format!("`{text}`")
}

#[test]
fn the_page_of_metrics_lists_each_one() {
    let rows = FAMILIES.iter().map(|family| {
        let labels: Vec<String> = family.labels.iter().map(code).collect();
        let cells = [
            code(family.name),
            family.kind.to_string(),
            labels.join(", "),
            family.help.to_owned(),
        ];
        cells.to_vec()
    });
    check_part(
        "metrics.md",
        "metrics",
        &table(&["metric", "type", "labels", "meaning"], rows),
    );
}

#[tokio::test]
async fn the_server_writes_the_documented_metrics_and_no_others() {
    let rig = Rig::new().await;
    rig.esb_ok("get_proc_status", target()).await;
    let answer = rig.send("GET", "/metrics", &[], b"").await;
    let text = String::from_utf8(answer.body).unwrap();

    let mut written: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some((name, help)) = line
            .strip_prefix("# HELP ")
            .and_then(|it| it.split_once(' '))
        {
            let kind = lines
                .next()
                .unwrap()
                .strip_prefix(&format!("# TYPE {name} "))
                .unwrap();
            assert!(written.insert(name, (kind, help)).is_none(), "{name} twice");
            // A family stands in one piece: its samples follow its head.
            let mut n_samples = 0;
            while let Some(sample) = lines.next_if(|line| !line.starts_with('#')) {
                n_samples += 1;
                let (series, value) = sample.rsplit_once(' ').unwrap();
                let series_name = series.split('{').next().unwrap();
                let suffixes: &[&str] = match kind {
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                let is_its = |suffix: &&str| series_name == format!("{name}{suffix}");
                assert!(suffixes.iter().any(is_its), "{sample} below {name}");
                assert!(value.parse::<f64>().is_ok(), "{sample}");
            }
            // Without a webhook there are no deliveries to count, and without an agent no versions.
            let may_be_empty = matches!(
                name,
                "muster_webhook_deliveries_total" | "muster_agents_by_version"
            );
            assert!(n_samples > 0 || may_be_empty, "{name} has no sample");
        } else {
            panic!("not expected: {line}");
        }
    }
    let kinds: Vec<String> = FAMILIES
        .iter()
        .map(|family| family.kind.to_string())
        .collect();
    let documented: BTreeMap<&str, (&str, &str)> = FAMILIES
        .iter()
        .zip(&kinds)
        .map(|(family, kind)| (family.name, (kind.as_str(), family.help)))
        .collect();
    assert_eq!(written, documented);
}

/// The rules of `promtool check metrics`, as far as they concern us.
#[test]
fn names_of_metrics_follow_the_conventions() {
    for family in FAMILIES {
        let name = family.name;
        let is_plain = |text: &str| {
            text.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        assert!(
            is_plain(name) && family.labels.iter().all(|label| is_plain(label)),
            "{name}"
        );
        assert!(
            name.starts_with("muster_") || name.starts_with("process_"),
            "{name}"
        );
        assert_eq!(
            name.ends_with("_total"),
            family.kind == Kind::Counter,
            "{name}"
        );
        for reserved in ["_sum", "_count", "_bucket"] {
            assert!(!name.ends_with(reserved), "{name}");
        }
        for unit in [
            "milliseconds",
            "_ms",
            "_minutes",
            "_hours",
            "_kib",
            "_kilobytes",
            "_megabytes",
            "percent",
        ] {
            assert!(!name.contains(unit), "{name} is not in a base unit");
        }
        for label in family.labels {
            assert!(
                !["le", "quantile", "job", "instance"].contains(label),
                "{name}"
            );
        }
        assert!(
            family.help.ends_with('.') && !family.help.contains('\n'),
            "{name}"
        );
    }
}

#[test]
fn the_page_of_errors_lists_each_code() {
    let rows = native_errors()
        .into_iter()
        .map(|(name, status, meaning)| vec![status.to_string(), code(name), meaning.to_owned()]);
    check_part(
        "errors.md",
        "native",
        &table(&["status", "code", "meaning"], rows),
    );
    let rows = envelope_codes()
        .into_iter()
        .map(|(number, dialect, meaning)| {
            vec![number.to_string(), dialect.to_owned(), meaning.to_owned()]
        });
    check_part(
        "errors.md",
        "envelope",
        &table(&["code", "dialects", "meaning"], rows),
    );
    let rows = Code::MEANINGS
        .iter()
        .map(|(code, meaning)| vec![code.to_string(), (*meaning).to_owned()]);
    check_part("errors.md", "results", &table(&["code", "meaning"], rows));
}

#[test]
fn the_page_of_events_lists_each_kind() {
    let rows = EventKind::ALL
        .iter()
        .map(|kind| vec![code(kind.as_str()), kind.meaning().to_owned()]);
    check_part("events.md", "kinds", &table(&["kind", "meaning"], rows));
}
