//! Finds the line of every key and item of a YAML or JSON text, for messages: the values that the parsers give do not know
//! where they stood.
//!
//! It decides nothing: the text is parsed elsewhere. Where it does not understand a text, it knows fewer lines, and a message
//! names the line of the part around it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Deeper nesting is not followed.
const MAX_DEPTH: usize = 64;

/// Paths such as `processes[0].hosts`, with the lines that they begin at.
#[derive(Debug, Default)]
pub struct Lines {
    by_path: HashMap<String, usize>,
    /// Keys that stand twice in the same table, with their second line.
    pub repeated: Vec<(String, usize)>,
}

impl Lines {
    pub fn of_json(text: &str) -> Self {
        let mut scan = Scan::new(text);
        scan.flow_value("", 0);
        scan.found
    }

    /// Of one document, without the marks between documents.
    pub fn of_yaml(text: &str) -> Self {
        let mut scan = Scan::new(text);
        scan.block();
        scan.found
    }

    /// Tables and keys, each on a line of its own.
    pub fn of_toml(text: &str) -> Self {
        let mut found = Self::default();
        let mut table = String::new();
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if let Some(name) = line
                .strip_prefix("[[")
                .and_then(|rest| rest.split("]]").next())
            {
                let index = counts.entry(name.to_owned()).or_insert(0);
                table = format!("{name}[{index}]");
                *index += 1;
                found.add(table.clone(), number);
            } else if let Some(name) = line
                .strip_prefix('[')
                .and_then(|rest| rest.split(']').next())
            {
                // [processes.identity] belongs to the last [[processes]].
                let (first, rest) = name.split_once('.').unwrap_or((name, ""));
                table = match (counts.get(first), rest.is_empty()) {
                    (Some(n), false) => format!("{first}[{}].{rest}", n - 1),
                    _ => name.to_owned(),
                };
                found.add(table.clone(), number);
            } else if let Some((key, _)) = line.split_once('=') {
                found.add(member(&table, key.trim().trim_matches('"')), number);
            }
        }
        found
    }

    /// The line of a path, else of the nearest part around it; 1 where none is known.
    pub fn line(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some(line) = self.by_path.get(path) {
                return *line;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return 1,
            }
        }
    }

    /// The line of exactly this path.
    pub fn exact(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The last line of what is inside a path, as far as it is known.
    pub fn last(&self, path: &str) -> usize {
        let is_inside = |known: &str| {
            known
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        let inner = self.by_path.iter().filter(|(known, _)| is_inside(known));
        let inner = inner.map(|(_, line)| *line).max();
        inner.unwrap_or(0).max(self.line(path))
    }

    fn add(&mut self, path: String, line: usize) {
        match self.by_path.entry(path) {
            Entry::Occupied(known) => self.repeated.push((known.key().clone(), line)),
            Entry::Vacant(new) => {
                new.insert(line);
            }
        }
    }
}

/// `a.b`
pub fn member(path: &str, key: &str) -> String {
    match path.is_empty() {
        true => key.to_owned(),
        false => format!("{path}.{key}"),
    }
}

/// What a line of block YAML belongs to.
#[derive(Debug)]
struct Frame {
    column: usize,
    path: String,
    /// The number of items so far; none for a table.
    items: Option<usize>,
}

struct Scan<'t> {
    lines: Vec<&'t str>,
    /// The next character.
    row: usize,
    column: usize,
    frames: Vec<Frame>,
    /// The key or item that a deeper block belongs to.
    open: String,
    found: Lines,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            lines: text.lines().collect(),
            row: 0,
            column: 0,
            frames: Vec::new(),
            open: String::new(),
            found: Lines::default(),
        }
    }

    fn rest(&self) -> &'t str {
        let line = self.lines.get(self.row).copied().unwrap_or_default();
        line.get(self.column..).unwrap_or_default()
    }

    fn next_row(&mut self) {
        self.row += 1;
        self.column = 0;
    }

    fn block(&mut self) {
        while self.row < self.lines.len() {
            let line = self.lines[self.row];
            let indent = line.len() - line.trim_start_matches(' ').len();
            let content = line[indent..].trim_end();
            if content.is_empty() || content.starts_with('#') || content.starts_with('%') {
                self.next_row();
                continue;
            }
            self.column = indent;
            self.close(indent, is_item(content));
            let row = self.row;
            self.block_content();
            if self.row == row {
                self.next_row();
            }
        }
    }

    /// Leaves the blocks that end before this column.
    fn close(&mut self, column: usize, is_item: bool) {
        while let Some(top) = self.frames.last() {
            let is_over =
                top.column > column || (top.column == column && top.items.is_some() && !is_item);
            if !is_over {
                return;
            }
            self.frames.pop();
        }
    }

    /// An item or a key at the current position, and what follows it on the line.
    fn block_content(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            self.column += blanks;
            let rest = rest[blanks..].trim_end();
            let column = self.column;
            if is_item(rest) {
                let path = self.item(column);
                self.found.add(path.clone(), self.row + 1);
                self.open = path;
                self.column += 1;
                continue;
            }
            if let Some((key, length)) = key_of(rest) {
                let path = member(&self.table(column), &key);
                self.found.add(path.clone(), self.row + 1);
                self.open = path;
                self.column += length;
            }
            self.value(column);
            return;
        }
    }

    fn item(&mut self, column: usize) -> String {
        let is_same = self
            .frames
            .last()
            .is_some_and(|top| top.column == column && top.items.is_some());
        if !is_same {
            let path = self.open.clone();
            self.frames.push(Frame {
                column,
                path,
                items: Some(0),
            });
        }
        let top = self.frames.last_mut().expect("it was pushed");
        let index = top.items.unwrap_or(0);
        top.items = Some(index + 1);
        format!("{}[{index}]", top.path)
    }

    fn table(&mut self, column: usize) -> String {
        let top = self.frames.last();
        let is_same = top.is_some_and(|top| top.column == column && top.items.is_none());
        if !is_same {
            let path = self.open.clone();
            self.frames.push(Frame {
                column,
                path,
                items: None,
            });
        }
        self.frames
            .last()
            .map(|top| top.path.clone())
            .unwrap_or_default()
    }

    /// What stands after a key or an item: block texts, quotes and flow collections may go on over lines.
    fn value(&mut self, column: usize) {
        let mut rest = self.rest().trim_start();
        while rest.starts_with(['&', '!']) {
            let word = rest.find(' ').unwrap_or(rest.len());
            rest = rest[word..].trim_start();
        }
        self.column = self.lines[self.row].len() - rest.len();
        match rest.chars().next() {
            Some('|' | '>') => {
                self.next_row();
                while self.row < self.lines.len() {
                    let line = self.lines[self.row];
                    let indent = line.len() - line.trim_start().len();
                    if !line.trim().is_empty() && indent <= column {
                        break;
                    }
                    self.next_row();
                }
            }
            Some('"' | '\'') => {
                self.quoted();
                self.next_row();
            }
            Some('{' | '[') => {
                let path = self.open.clone();
                self.flow_value(&path, 0);
                self.next_row();
            }
            _ => self.next_row(),
        }
    }

    /// Skips blanks, comments and line ends inside a flow collection.
    fn blanks(&mut self) {
        while self.row < self.lines.len() {
            let rest = self.rest();
            let text = rest.trim_start();
            if !text.is_empty() && !text.starts_with('#') {
                self.column += rest.len() - text.len();
                return;
            }
            self.next_row();
        }
    }

    fn take(&mut self, character: char) -> bool {
        self.blanks();
        let is_next = self.rest().starts_with(character);
        if is_next {
            self.column += character.len_utf8();
        }
        is_next
    }

    fn flow_value(&mut self, path: &str, depth: usize) {
        self.blanks();
        if depth > MAX_DEPTH {
            self.row = self.lines.len();
        }
        match self.rest().chars().next() {
            Some('{') => {
                self.column += 1;
                while !self.take('}') && self.row < self.lines.len() {
                    let before = (self.row, self.column);
                    let line = self.row + 1;
                    let key = self.word();
                    let path = member(path, &key);
                    self.found.add(path.clone(), line);
                    if self.take(':') {
                        self.flow_value(&path, depth + 1);
                    }
                    self.take(',');
                    self.go_on(before);
                }
            }
            Some('[') => {
                self.column += 1;
                for index in 0.. {
                    if self.take(']') || self.row >= self.lines.len() {
                        break;
                    }
                    let before = (self.row, self.column);
                    let path = format!("{path}[{index}]");
                    self.found.add(path.clone(), self.row + 1);
                    self.flow_value(&path, depth + 1);
                    self.take(',');
                    self.go_on(before);
                }
            }
            _ => {
                self.word();
            }
        }
    }

    /// Steps over a character where nothing was understood.
    fn go_on(&mut self, before: (usize, usize)) {
        if (self.row, self.column) == before {
            let step = self.rest().chars().next().map_or(1, char::len_utf8);
            self.column += step;
        }
    }

    /// A quoted or a plain word inside a flow collection.
    fn word(&mut self) -> String {
        if self.rest().starts_with(['"', '\'']) {
            return self.quoted();
        }
        let rest = self.rest();
        let end = rest
            .char_indices()
            .find(|(at, c)| {
                let next = rest[at + c.len_utf8()..].chars().next();
                matches!(c, ',' | '{' | '}' | '[' | ']')
                    || (*c == ':' && next.is_none_or(|c| c.is_whitespace() || c == ','))
            })
            .map_or(rest.len(), |(at, _)| at);
        self.column += end;
        rest[..end].trim().to_owned()
    }

    /// Skips a quoted text, over line ends if need be.
    fn quoted(&mut self) -> String {
        let quote = self.rest().chars().next().unwrap_or('"');
        self.column += 1;
        let mut text = String::new();
        while self.row < self.lines.len() {
            let rest = self.rest();
            let mut characters = rest.char_indices().peekable();
            while let Some((at, c)) = characters.next() {
                match c {
                    '\\' if quote == '"' => {
                        characters.next();
                    }
                    _ if c == quote => match (quote, characters.peek()) {
                        ('\'', Some((_, '\''))) => {
                            characters.next();
                            text.push('\'');
                        }
                        _ => {
                            self.column += at + 1;
                            return text;
                        }
                    },
                    _ => text.push(c),
                }
            }
            self.next_row();
        }
        text
    }
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

/// A key of block YAML and the length up to its value.
fn key_of(content: &str) -> Option<(String, usize)> {
    let first = content.chars().next()?;
    if matches!(first, '"' | '\'') {
        let mut scan = Scan::new(content);
        let key = scan.quoted();
        let after = scan.rest().trim_start();
        let is_key = scan.row == 0 && after.starts_with(':');
        return is_key.then(|| (key, content.len() - after.len() + 1));
    }
    if matches!(first, '{' | '[' | '|' | '>' | '#' | '&' | '!') {
        return None;
    }
    let end = content
        .match_indices(':')
        .find(|(at, _)| content[at + 1..].is_empty() || content[at + 1..].starts_with([' ', '\t']))?
        .0;
    let key = content[..end].trim_end();
    (!key.contains(" #")).then(|| (key.to_owned(), end + 1))
}

#[cfg(test)]
mod tests;
