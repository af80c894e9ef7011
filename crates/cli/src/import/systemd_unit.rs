//! Reads the sections of a systemd unit with its drop-ins.

use std::path::Path;

use super::ledger::{EntryId, Ledger};

/// One `KEY=VALUE`.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// `Service`
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
    pub(super) id: EntryId,
}

/// A unit, in the order of its lines; those of drop-ins follow.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) settings: Vec<Setting>,
    pub(super) head: Option<EntryId>,
}

/// Settings of which several count, and an empty one clears those before it.
const LISTS: [&str; 24] = [
    "ExecStart",
    "ExecStartPre",
    "ExecStartPost",
    "ExecStop",
    "ExecStopPost",
    "ExecReload",
    "ExecCondition",
    "Environment",
    "EnvironmentFile",
    "PassEnvironment",
    "UnsetEnvironment",
    "After",
    "Before",
    "Requires",
    "Wants",
    "BindsTo",
    "PartOf",
    "Requisite",
    "Conflicts",
    "WantedBy",
    "RequiredBy",
    "Alias",
    "OnCalendar",
    "Documentation",
];

impl Unit {
    /// The unit, and the `*.conf` files of the folder `FILE.d` beside it.
    pub(super) fn read(file: &str, text: &str, ledger: &mut Ledger) -> Self {
        let mut unit = Self::default();
        unit.add(file, text, ledger);
        let folder = format!("{file}.d");
        let mut files: Vec<_> = std::fs::read_dir(Path::new(&folder))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        files.sort();
        for path in files {
            if path.extension().is_some_and(|end| end == "conf") {
                let shown = path.display().to_string();
                match std::fs::read_to_string(&path) {
                    Ok(text) => unit.add(&shown, &text, ledger),
                    Err(e) => ledger.note(format!("{shown}: is left out: it cannot be read: {e}")),
                }
            }
        }
        unit
    }

    fn add(&mut self, file: &str, text: &str, ledger: &mut Ledger) {
        let lines: Vec<&str> = text.lines().collect();
        let mut section = String::new();
        let mut row = 0;
        while row < lines.len() {
            let number = row + 1;
            let mut line = lines[row].trim().to_owned();
            row += 1;
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            // A backslash at the end goes on with the next line; comments between are passed over.
            while line.ends_with('\\') && row < lines.len() {
                let next = lines[row].trim();
                row += 1;
                if next.starts_with(['#', ';']) {
                    continue;
                }
                line.pop();
                line = format!("{} {next}", line.trim_end());
            }
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                let id = ledger.enter(file, (number, row), &line);
                name.clone_into(&mut section);
                match section.as_str() {
                    "Unit" | "Service" | "Install" | "Timer" => {
                        ledger.no_effect(id, "begins a section");
                        if matches!(section.as_str(), "Service" | "Timer") {
                            self.head.get_or_insert(id);
                        }
                    }
                    _ => ledger.not_carried(id, "is no section of a service or a timer"),
                }
                continue;
            }
            let id = ledger.enter(file, (number, row), &line);
            let Some((key, value)) = line.split_once('=') else {
                ledger.not_carried(id, "is no KEY=VALUE");
                continue;
            };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            self.push(section.clone(), key, value, id, ledger);
        }
    }

    fn push(
        &mut self,
        section: String,
        key: String,
        value: String,
        id: EntryId,
        ledger: &mut Ledger,
    ) {
        let is_list = LISTS.contains(&key.as_str());
        let is_same = |one: &Setting| one.section == section && one.key == key;
        if value.is_empty() && is_list {
            for one in self.settings.iter().filter(|one| is_same(one)) {
                ledger.no_effect(one.id, format!("an empty {key}= clears it"));
            }
            self.settings.retain(|one| !is_same(one));
            ledger.no_effect(id, "clears what stood before");
            return;
        }
        if !is_list {
            for one in self.settings.iter().filter(|one| is_same(one)) {
                ledger.no_effect(one.id, "a later line replaces it");
            }
            self.settings.retain(|one| !is_same(one));
        }
        self.settings.push(Setting {
            section,
            key,
            value,
            id,
        });
    }

    pub(super) fn value(&self, section: &str, key: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        settings
            .find(|one| one.section == section && one.key == key)
            .map(|one| one.value.as_str())
    }
}

/// Replaces `%n`, `%i`, …; `%%` is `%`. An error names what is known only on the host.
pub(super) fn expand(text: &str, unit: &str, instance: Option<&str>) -> Result<String, String> {
    let plain = unit.split('.').next().unwrap_or_default();
    let prefix = plain.split('@').next().unwrap_or_default();
    let mut done = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            done.push(c);
            continue;
        }
        let named = characters.next();
        let value = match named {
            Some('%') => "%".to_owned(),
            Some('n') => unit.to_owned(),
            Some('N') => plain.to_owned(),
            Some('p' | 'P') => prefix.to_owned(),
            Some('j' | 'J') => prefix.rsplit('-').next().unwrap_or_default().to_owned(),
            Some('i' | 'I') => match instance {
                Some(instance) => instance.to_owned(),
                None => return Err("%i needs an instance: --instance NAME".to_owned()),
            },
            Some('t') => "/run".to_owned(),
            Some('S') => "/var/lib".to_owned(),
            Some('C') => "/var/cache".to_owned(),
            Some('L') => "/var/log".to_owned(),
            Some('E') => "/etc".to_owned(),
            Some('T') => "/tmp".to_owned(),
            Some('V') => "/var/tmp".to_owned(),
            Some(other) => return Err(format!("%{other} is known only on the host")),
            None => return Err("ends in %".to_owned()),
        };
        done.push_str(&value);
    }
    Ok(done)
}
