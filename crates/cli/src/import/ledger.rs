//! Every setting of the files that are read, and what became of it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::words;

/// What became of a setting. A worse one replaces a better one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "fate", content = "why")]
pub enum Fate {
    /// No reader has looked at it.
    Open,
    /// It changes nothing here, and this is why.
    NoEffect(String),
    /// It became this field, or part of it.
    Carried(String),
    /// It is missing from the definitions, and this is why.
    NotCarried(String),
}

/// One setting.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub file: Arc<str>,
    pub line: usize,
    pub last_line: usize,
    /// As it is written, shortened.
    pub text: String,
    #[serde(flatten)]
    pub fate: Fate,
}

/// The place of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId(usize);

#[derive(Debug, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    /// What a reader assumed, and what differs though no line says so.
    notes: Vec<String>,
}

/// The longest text of a setting that is shown.
const MAX_TEXT: usize = 70;

impl Ledger {
    pub fn enter(&mut self, file: &str, lines: (usize, usize), text: &str) -> EntryId {
        let file = match self.entries.last() {
            Some(last) if *last.file == *file => Arc::clone(&last.file),
            _ => file.into(),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = text.chars().take(MAX_TEXT).collect();
        self.entries.push(Entry {
            file,
            line: lines.0,
            last_line: lines.1.max(lines.0),
            text: match short.len() < text.len() {
                true => format!("{short}…"),
                false => short,
            },
            fate: Fate::Open,
        });
        EntryId(self.entries.len() - 1)
    }

    pub fn carried(&mut self, id: EntryId, field: impl fmt::Display) {
        self.set(id, Fate::Carried(field.to_string()));
    }

    pub fn no_effect(&mut self, id: EntryId, why: impl fmt::Display) {
        self.set(id, Fate::NoEffect(why.to_string()));
    }

    pub fn not_carried(&mut self, id: EntryId, why: impl fmt::Display) {
        self.set(id, Fate::NotCarried(why.to_string()));
    }

    fn set(&mut self, id: EntryId, fate: Fate) {
        let known = &mut self.entries[id.0].fate;
        if std::mem::discriminant(known) != std::mem::discriminant(&fate) && *known < fate
            || *known == Fate::Open
        {
            *known = fate;
        }
    }

    pub fn line(&self, id: EntryId) -> usize {
        self.entries[id.0].line
    }

    /// `FILE:LINE`
    pub fn place(&self, id: EntryId) -> String {
        let entry = &self.entries[id.0];
        format!("{}:{}", entry.file, entry.line)
    }

    /// A time as whole seconds, at least `least`; says so where that is not what the file says.
    pub fn seconds(
        &mut self,
        id: EntryId,
        text: &str,
        unit_ms: u64,
        least: i64,
    ) -> Result<i64, String> {
        let exact_ms = words::milliseconds(text, unit_ms)?;
        let secs = words::seconds(text, unit_ms)?.max(least);
        if secs as f64 * 1000.0 != exact_ms {
            let entry = &self.entries[id.0];
            self.note(format!(
                "{}:{}: {}: becomes {secs} s: Muster counts whole seconds{}",
                entry.file,
                entry.line,
                entry.text,
                match least {
                    0 => String::new(),
                    least => format!(", and {least} or more here"),
                }
            ));
        }
        Ok(secs)
    }

    /// Something that no line says; each once.
    pub fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Closes it: what no reader looked at is reported as unknown.
    pub fn close(&mut self) {
        for entry in &mut self.entries {
            if entry.fate == Fate::Open {
                entry.fate = Fate::NotCarried("is not known here".to_owned());
            }
        }
        // By line; files stay in the order in which they were read.
        let mut files: Vec<Arc<str>> = Vec::new();
        for entry in &self.entries {
            if !files.contains(&entry.file) {
                files.push(Arc::clone(&entry.file));
            }
        }
        self.entries.sort_by_key(|entry| {
            let file = files.iter().position(|file| *file == entry.file);
            (file, entry.line)
        });
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What was not carried over: `supervisord.conf:14: priority=5: REASON`.
    pub fn reported(&self) -> Vec<String> {
        let lines = self.entries.iter().filter_map(|entry| match &entry.fate {
            Fate::NotCarried(why) => Some(format!(
                "{}:{}: {}: {why}",
                entry.file, entry.line, entry.text
            )),
            _ => None,
        });
        lines.collect()
    }
}
