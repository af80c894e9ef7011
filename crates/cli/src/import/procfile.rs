//! Procfile: one `NAME: COMMAND` in each line, with foreman's `.env` beside it.

use std::path::Path;

use super::draft::{Draft, ONE_SHOT, RESIDENT};
use super::environment;
use super::order::{Rule, Source, Wait, Wish};
use super::{Imported, PidSource, Settings};
use crate::failure::Failure;

/// foreman numbers ports from here, a hundred for each line.
const FIRST_PORT: u32 = 5000;
/// Heroku runs it before it starts the others.
const RELEASE: &str = "release";

pub fn read(
    file: &str,
    text: &str,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let beside = Path::new(file).with_file_name(".env");
    let shown = beside.display().to_string();
    let variables = match std::fs::read_to_string(&beside) {
        Ok(text) => environment::read(&shown, &text, &mut imported.ledger),
        Err(_) => Vec::new(),
    };
    let known = environment::table(&variables);
    let first_port = known.get("PORT").and_then(|port| port.parse().ok());
    let mut n_lines: u32 = 0;
    let mut names = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let id = imported.ledger.enter(file, (number, number), line);
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        let pair = line
            .split_once(':')
            .filter(|(name, _)| is_name(name.trim()));
        let Some((name, command)) = pair else {
            imported.ledger.not_carried(id, "is no NAME: COMMAND");
            continue;
        };
        let (name, command) = (name.trim(), command.trim());
        if command.is_empty() {
            imported.ledger.not_carried(id, "has no command");
            continue;
        }
        let ledger = &mut imported.ledger;
        let mut draft = Draft::new(name, id, Source::new(file, name));
        // foreman runs it in a shell, as Muster does.
        draft.control().start_cmd = Some(command.to_owned());
        draft.carry(ledger, id, "control.start_cmd");
        for one in &variables {
            draft
                .runtime()
                .env
                .insert(one.key.clone(), one.value.clone());
            draft.carry(ledger, one.id, &format!("runtime.env.{}", one.key));
        }
        if command.contains("PORT") {
            let port = first_port
                .unwrap_or(FIRST_PORT)
                .saturating_add(n_lines.saturating_mul(100));
            draft
                .runtime()
                .env
                .insert("PORT".to_owned(), port.to_string());
            ledger.note(format!(
                "{file}: {name} gets PORT={port}, as foreman numbers ports"
            ));
        }
        n_lines += 1;
        names.push((name.to_owned(), id));
        draft.policy().auto_type = Some(match name {
            RELEASE => {
                ledger.note(format!(
                    "{file}: release runs once (one-shot); the others wait for it to exit with code 0"
                ));
                ONE_SHOT
            }
            _ => RESIDENT,
        });
        // foreman kills what does not stop within five seconds.
        draft.stop().grace = Some(5);
        let (user, folder) = super::caller(file);
        draft.fill_in(settings, user.as_deref(), folder.as_deref(), file, ledger);
        let namespace = settings.namespace.as_deref().unwrap_or("imported");
        let pid = PidSource::Nowhere("foreman and Heroku keep no list of pids");
        let finished = draft.finish(settings, namespace, pid, ledger);
        imported.processes.extend(finished);
    }
    if names.iter().any(|(name, _)| name == RELEASE) {
        let others = names.into_iter().filter(|(name, _)| name != RELEASE);
        imported.wishes.extend(others.map(|(name, id)| Wish {
            entries: vec![(id, None)],
            dependent: Source::new(file, &name),
            dependency: Source::new(file, RELEASE),
            rule: Rule::of(Wait::Completed),
        }));
    }
    for one in &variables {
        imported
            .ledger
            .no_effect(one.id, "no process is there to get it");
    }
    Ok(())
}
