//! The command of a pm2 app.

use serde_json::{Map, Value};

use super::draft::{Draft, scalar};
use super::ledger::{EntryId, Ledger};
use super::words;

/// The interpreters that pm2 chooses by the end of a script.
const INTERPRETERS: [(&str, &str); 9] = [
    (".js", "node"),
    (".cjs", "node"),
    (".mjs", "node"),
    (".py", "python3"),
    (".sh", "bash"),
    (".rb", "ruby"),
    (".php", "php"),
    (".pl", "perl"),
    (".ts", "bun"),
];

/// `node ARGS script args`
pub(super) fn command(
    draft: &mut Draft,
    app: &Map<String, Value>,
    script: &str,
    ledger: &mut Ledger,
    entries: &[(String, Value, EntryId)],
) {
    if script.is_empty() {
        return;
    }
    let list = |keys: &[&str]| -> Result<Vec<String>, String> {
        match keys.iter().find_map(|key| app.get(*key)) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| scalar(item).ok_or_else(|| "must be texts".to_owned()))
                .collect(),
            Some(other) => words::split(&scalar(other).ok_or("must be a text or a list")?),
        }
    };
    let chosen = ["interpreter", "exec_interpreter"]
        .iter()
        .find_map(|key| app.get(*key))
        .and_then(scalar);
    let by_end = INTERPRETERS
        .iter()
        .find(|(end, _)| script.ends_with(end))
        .map(|(_, program)| (*program).to_owned());
    let interpreter = match chosen.as_deref() {
        Some("none") => None,
        Some(other) => Some(other.to_owned()),
        None => by_end,
    };
    let mut report = |keys: &[&str], rule: &str| {
        for (key, _, id) in entries {
            if keys.contains(&key.as_str()) {
                ledger.not_carried(*id, rule);
            }
        }
    };
    const ITS_ARGS: [&str; 4] = [
        "interpreter_args",
        "interpreterArgs",
        "node_args",
        "nodeArgs",
    ];
    let mut all: Vec<String> = interpreter.clone().into_iter().collect();
    if interpreter.is_some() {
        match list(&ITS_ARGS) {
            Ok(args) => all.extend(args),
            Err(rule) => report(&ITS_ARGS, &rule),
        }
    }
    // A command with arguments in `script` is run as it is.
    match (interpreter.is_none(), words::split(script)) {
        (true, Ok(split)) => all.extend(split),
        _ => all.push(script.to_owned()),
    }
    match list(&["args"]) {
        Ok(args) => all.extend(args),
        Err(rule) => report(&["args"], &rule),
    }
    draft.control().start_cmd = Some(words::join(&all));
}
