//! Reads the sections of a supervisord file, its includes and its `%(…)s` expressions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::ledger::{EntryId, Ledger};

/// How deep files include each other.
const MAX_FILES: usize = 500;

#[derive(Debug)]
pub(super) struct Section {
    pub(super) file: String,
    /// `program:web`
    pub(super) name: String,
    pub(super) head: EntryId,
    pub(super) options: Vec<SectionOption>,
}

#[derive(Debug)]
pub(super) struct SectionOption {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) id: EntryId,
}

impl Section {
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        // The last one counts.
        let mut options = self.options.iter().rev();
        options
            .find(|one| one.key == key)
            .map(|one| one.value.as_str())
    }
}

/// The sections of a file. Lines that are none of their parts are reported.
pub(super) fn sections(file: &str, text: &str, ledger: &mut Ledger) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut row = 0;
    while row < lines.len() {
        let line = lines[row];
        let number = row + 1;
        row += 1;
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            let head = ledger.enter(file, (number, number), trimmed);
            sections.push(Section {
                file: file.to_owned(),
                name: name.trim().to_owned(),
                head,
                options: Vec::new(),
            });
            continue;
        }
        let Some((key, value)) = trimmed.split_once(['=', ':']) else {
            let id = ledger.enter(file, (number, number), trimmed);
            ledger.not_carried(id, "is no KEY=VALUE");
            continue;
        };
        let mut value = without_comment(value.trim()).to_owned();
        // Lines that begin with blanks go on with the value.
        while row < lines.len() && lines[row].starts_with([' ', '\t']) {
            let more = lines[row].trim();
            row += 1;
            if !more.is_empty() && !more.starts_with(['#', ';']) {
                value.push('\n');
                value.push_str(without_comment(more));
            }
        }
        let key = key.trim().to_lowercase();
        let id = ledger.enter(file, (number, row), &format!("{key}={value}"));
        match sections.last_mut() {
            None => ledger.not_carried(id, "stands in no section"),
            Some(section) => {
                if let Some(before) = section.options.iter().find(|one| one.key == key) {
                    ledger.not_carried(before.id, "stands twice; the later line counts");
                }
                section.options.push(SectionOption { key, value, id });
            }
        }
    }
    sections
}

/// `value ; comment`
fn without_comment(value: &str) -> &str {
    let end = value.find(" ;").or_else(|| value.find("\t;"));
    value[..end.unwrap_or(value.len())].trim_end()
}

/// The sections of a file and of those that it includes.
pub(super) fn with_includes(file: &str, text: &str, ledger: &mut Ledger) -> Vec<Section> {
    let mut all = sections(file, text, ledger);
    let mut n_files = 0;
    let mut index = 0;
    // Files that are included include no others.
    let n_first = all.len();
    while index < n_first {
        if all[index].name == "include" {
            ledger.no_effect(all[index].head, "names the files that are read, too");
            let files = all[index].value("files").unwrap_or_default().to_owned();
            let ids: Vec<(String, EntryId)> = all[index]
                .options
                .iter()
                .map(|one| (one.key.clone(), one.id))
                .collect();
            for (key, id) in ids {
                if key != "files" {
                    continue;
                }
                let (found, missing) = included(file, &files);
                for pattern in missing {
                    let why =
                        format!("{pattern} names no file here: import its files by themselves");
                    ledger.not_carried(id, why);
                }
                for path in found {
                    n_files += 1;
                    let shown = path.display().to_string();
                    match std::fs::read_to_string(&path) {
                        Ok(text) if n_files <= MAX_FILES => {
                            ledger.no_effect(id, "these files are read, too");
                            all.extend(sections(&shown, &text, ledger));
                        }
                        Ok(_) => ledger.not_carried(id, "names too many files"),
                        Err(e) => ledger.not_carried(id, format!("{shown}: cannot be read: {e}")),
                    }
                }
            }
        }
        index += 1;
    }
    all
}

/// The files that patterns name, relative to the file that includes them, and the patterns that name none.
fn included(file: &str, patterns: &str) -> (Vec<PathBuf>, Vec<String>) {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for pattern in patterns.split_whitespace() {
        let here = match folder.to_str() {
            Some("") | None => ".",
            Some(folder) => folder,
        };
        let files = matching(&folder.join(pattern.replace("%(here)s", here)));
        if files.is_empty() {
            missing.push(pattern.to_owned());
        }
        found.extend(files);
    }
    (found, missing)
}

/// The files whose names match the last part of a path.
fn matching(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| matches(&name, &entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

/// `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for c in pattern {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            match c {
                '*' => next[at] = reached[at] || (at > 0 && next[at - 1]),
                '?' => next[at] = at > 0 && reached[at - 1],
                c => next[at] = at > 0 && reached[at - 1] && name[at - 1] == c,
            }
        }
        reached = next;
    }
    reached[name.len()]
}

/// Replaces `%(name)s` and `%(process_num)02d`; `%%` is `%`.
pub(super) fn expand(text: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        done.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            done.push('%');
            rest = after;
            continue;
        }
        let Some((name, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'))
        else {
            return Err("has a % that is neither %(NAME)s nor %%".to_owned());
        };
        let value = values
            .get(name)
            .ok_or_else(|| format!("%({name})s is not known here"))?;
        let form = after
            .find(['s', 'd'])
            .ok_or_else(|| format!("%({name}) has no s or d"))?;
        let (width, kind) = (&after[..form], &after[form..=form]);
        match (kind, width.parse::<usize>()) {
            (_, _) if width.is_empty() => done.push_str(value),
            ("d", Ok(n)) if n <= 20 => {
                let number: i64 = value
                    .parse()
                    .map_err(|_| format!("%({name})d is no number"))?;
                match width.starts_with('0') {
                    true => done.push_str(&format!("{number:0n$}")),
                    false => done.push_str(&format!("{number:n$}")),
                }
            }
            _ => return Err(format!("%({name}){width}{kind} is no form")),
        }
        rest = &after[form + 1..];
    }
    done.push_str(rest);
    Ok(done)
}

/// `A="1",B='two',C=3`
pub(super) fn environment(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = rest
            .split_once('=')
            .ok_or("must be KEY=\"VALUE\",KEY=\"VALUE\"")?;
        let after = after.trim_start();
        let (value, after) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let end = after[1..].find(quote).ok_or("a quote is not closed")?;
                (&after[1..=end], &after[end + 2..])
            }
            _ => {
                let end = after.find([',', '\n']).unwrap_or(after.len());
                (after[..end].trim_end(), &after[end..])
            }
        };
        pairs.push((key.trim().to_owned(), value.to_owned()));
        rest = after.trim_start_matches([',', '\n', ' ', '\t', '\r']);
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_expanded() {
        let values = [
            ("process_num", "3"),
            ("here", "/etc"),
            ("program_name", "web"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let values = BTreeMap::from(values);
        let expand = |text| expand(text, &values);
        assert_eq!(
            expand("%(program_name)s_%(process_num)02d 100%% %(here)s"),
            Ok("web_03 100% /etc".to_owned())
        );
        assert!(expand("%(ENV_HOME)s").unwrap_err().contains("ENV_HOME"));
        assert!(expand("50%").is_err());
    }

    #[test]
    fn variables_have_quotes_or_none() {
        let pairs = environment("A=\"x,y\",B='1',\nC=plain, D=\"\"").unwrap();
        let shown: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(shown, ["A=x,y", "B=1", "C=plain", "D="]);
        assert!(environment("A=\"x").is_err() && environment("nothing").is_err());
    }

    #[test]
    fn patterns_match_names() {
        assert!(
            matches("*.conf", "a.conf") && matches("a?c*", "abcd") && !matches("*.ini", "a.conf")
        );
    }
}
