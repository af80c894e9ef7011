//! Files with variables, one `KEY=VALUE` in each line: foreman's `.env`, and `env_file` of compose.

use std::collections::BTreeMap;

use super::ledger::{EntryId, Ledger};

/// One line of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) id: EntryId,
}

/// The variables of a file; lines that are none are reported.
pub(super) fn read(file: &str, text: &str, ledger: &mut Ledger) -> Vec<Variable> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // The value may be a secret, so that only the name is shown.
        let pair = line.strip_prefix("export ").unwrap_or(line);
        let Some((key, value)) = pair.split_once('=') else {
            let id = ledger.enter(file, (number, number), "a line");
            ledger.not_carried(id, "is no KEY=VALUE");
            continue;
        };
        let id = ledger.enter(file, (number, number), &format!("{}=…", key.trim()));
        let value = value.trim();
        let plain = |quote: char| {
            let inner = value.strip_prefix(quote)?.strip_suffix(quote);
            inner.filter(|_| value.len() > 1)
        };
        let value = match (plain('"'), plain('\'')) {
            (Some(inner), _) => inner.replace("\\n", "\n").replace("\\\"", "\""),
            (None, Some(inner)) => inner.to_owned(),
            (None, None) => value
                .split(" #")
                .next()
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
        };
        found.push(Variable {
            key: key.trim().to_owned(),
            value,
            id,
        });
    }
    found
}

/// As a table, the last line of a name counting.
pub(super) fn table(variables: &[Variable]) -> BTreeMap<String, String> {
    let pairs = variables
        .iter()
        .map(|one| (one.key.clone(), one.value.clone()));
    pairs.collect()
}
