//! Tables and lists of fields for people: aligned, and cut to the width of the terminal.

use std::collections::HashSet;

use crate::colors::{Style, paint};
use crate::format::{clean, width};

/// Between two columns.
const GAP: usize = 2;
/// A column is never cut below this.
const MIN_WIDTH: usize = 8;

#[derive(Debug)]
pub struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    title: &'static str,
    align: Align,
    /// May be cut where the terminal is too narrow.
    elastic: bool,
    /// May be left out where the terminal is still too narrow.
    optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

impl Column {
    fn parse(title: &'static str) -> Self {
        let name = title.trim_start_matches(['>', '~', '?']);
        let marks = title.strip_suffix(name).unwrap_or_default();
        Self {
            title: name,
            align: match marks.contains('>') {
                true => Align::Right,
                false => Align::Left,
            },
            elastic: marks.contains('~'),
            optional: marks.contains('?'),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub fn styled(style: Style, text: impl Into<String>) -> Self {
        Self {
            text: clean(&text.into()),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Style::Plain, text)
    }
}

impl TextTable {
    /// A table with the columns of `titles`, separated by `|`. Marks before a title: `>AGE` is aligned to the right, `~MESSAGE` may
    /// be cut and `?PID` left out where the terminal is too narrow, the last one first. Any other is text that is shown whole.
    pub fn new(titles: &'static str) -> Self {
        Self {
            columns: titles.split('|').map(Column::parse).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with one cell for each column.
    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len(), "one cell for each column");
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The whole table, each line ended. Without a width nothing is cut.
    pub fn render(&self, terminal: Option<usize>, colour: bool) -> String {
        let mut widths = self.natural_widths();
        if let Some(terminal) = terminal {
            self.leave_out(&mut widths, terminal);
            self.squeeze(&mut widths, terminal);
        }
        let titles: Vec<Cell> = self
            .columns
            .iter()
            .map(|column| Cell::styled(Style::Bold, column.title))
            .collect();
        let mut text = String::new();
        for row in std::iter::once(&titles).chain(&self.rows) {
            self.push_line(&mut text, row, &widths, colour);
        }
        text
    }

    /// The first column alone, each name once.
    pub fn names(&self) -> String {
        let mut seen = HashSet::new();
        let names = self.rows.iter().filter_map(|row| row.first());
        names
            .filter(|cell| seen.insert(cell.text.as_str()))
            .map(|cell| format!("{}\n", cell.text))
            .collect()
    }

    /// None for a column that is left out.
    fn natural_widths(&self) -> Vec<Option<usize>> {
        let widest = |index: usize, title: &str| {
            self.rows
                .iter()
                .filter_map(|row| row.get(index))
                .map(|cell| width(&cell.text))
                .max()
                .unwrap_or(0)
                .max(width(title))
        };
        self.columns
            .iter()
            .enumerate()
            .map(|(index, column)| Some(widest(index, column.title)))
            .collect()
    }

    /// Empties optional columns, from the right, until the rest fits with its elastic columns at their narrowest.
    fn leave_out(&self, widths: &mut [Option<usize>], terminal: usize) {
        let least = |widths: &[Option<usize>]| -> usize {
            let shown = widths.iter().zip(&self.columns);
            let least = shown.filter_map(|(width, column)| match column.elastic {
                true => width.map(|width| width.min(MIN_WIDTH)),
                false => *width,
            });
            least.map(|width| width + GAP).sum::<usize>()
        };
        while least(widths) > terminal + GAP {
            let last =
                (0..widths.len()).rfind(|at| self.columns[*at].optional && widths[*at].is_some());
            let Some(last) = last else { return };
            widths[last] = None;
        }
    }

    /// Takes from the widest elastic column until all fit or none can give more.
    fn squeeze(&self, widths: &mut [Option<usize>], terminal: usize) {
        let shown = widths.iter().flatten();
        let needed: usize = shown.map(|width| width + GAP).sum();
        let mut excess = needed.saturating_sub(terminal + GAP);
        while excess > 0 {
            let elastic = widths.iter_mut().zip(&self.columns);
            let elastic = elastic.filter(|(_, column)| column.elastic);
            let widest = elastic
                .filter_map(|(width, _)| width.as_mut())
                .filter(|width| **width > MIN_WIDTH)
                .max();
            let Some(widest) = widest else { return };
            *widest -= 1;
            excess -= 1;
        }
    }

    fn push_line(&self, text: &mut String, row: &[Cell], widths: &[Option<usize>], colour: bool) {
        let mut line = String::new();
        let mut pending = 0;
        for ((cell, column), room) in row.iter().zip(&self.columns).zip(widths) {
            let Some(room) = room else { continue };
            let shown = cut(&cell.text, *room);
            let padding = room - width(&shown);
            let before = match column.align {
                Align::Left => 0,
                Align::Right => padding,
            };
            // Blanks are written only before text, so that no line ends in them.
            if !shown.is_empty() {
                line.extend(std::iter::repeat_n(' ', pending + before));
                line.push_str(&paint(colour, cell.style, &shown));
                pending = 0;
            } else {
                pending += before;
            }
            pending += padding - before + GAP;
        }
        text.push_str(&line);
        text.push('\n');
    }
}

/// The text, or what fits of it and an ellipsis.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if width(&shown) + width(c.encode_utf8(&mut [0; 4])) + 1 > room {
            break;
        }
        shown.push(c);
    }
    shown.push('…');
    shown
}

/// Names and values below each other; empty values are left out.
#[derive(Debug, Default)]
pub struct FieldList(Vec<(&'static str, String)>);

impl FieldList {
    pub fn put(&mut self, name: &'static str, value: &str) {
        if !value.is_empty() {
            self.0.push((name, value.to_owned()));
        }
    }

    pub fn render(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        self.0
            .iter()
            .map(|(name, value)| format!("  {name:<width$}  {value}\n"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> TextTable {
        let mut table = TextTable::new("PROCESS|>PID|~MESSAGE");
        table.row([
            Cell::from("web/nginx"),
            "7".into(),
            "exited with code 3, next try in 10 s".into(),
        ]);
        table.row([Cell::from("业务/进程"), "12345".into(), "".into()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_no_line_ends_in_blanks() {
        assert_eq!(
            sample().render(None, false),
            "PROCESS      PID  MESSAGE\n\
             web/nginx      7  exited with code 3, next try in 10 s\n\
             业务/进程  12345\n"
        );
    }

    #[test]
    fn names_are_the_first_column_without_repetitions() {
        let mut table = sample();
        table.row([Cell::from("web/nginx"), "8".into(), "".into()]);
        assert_eq!(table.names(), "web/nginx\n业务/进程\n");
    }

    #[test]
    fn a_narrow_terminal_cuts_the_elastic_column_only() {
        let text = sample().render(Some(30), false);
        assert!(text.contains("web/nginx      7  exited with…\n"), "{text}");
        assert!(text.lines().all(|line| width(line) <= 30), "{text}");
        let tiny = sample().render(Some(5), false);
        assert!(tiny.contains("web/nginx      7  exited …\n"), "{tiny}");
    }

    #[test]
    fn a_narrow_terminal_leaves_optional_columns_out() {
        let mut table = TextTable::new("PROCESS|STATE|>?PID|?LAST EXIT|~MESSAGE");
        table.row(["web/nginx", "running", "77", "code 1", "all is well here"].map(Cell::from));
        let title = |width| {
            let text = table.render(Some(width), false);
            assert!(
                text.lines().all(|line| super::width(line) <= width),
                "{text}"
            );
            text.lines().next().unwrap().to_owned()
        };
        assert_eq!(title(60), "PROCESS    STATE    PID  LAST EXIT  MESSAGE");
        assert_eq!(title(40), "PROCESS    STATE    PID  MESSAGE");
        assert_eq!(title(30), "PROCESS    STATE    MESSAGE");
        let whole = table.render(None, false);
        assert!(whole.contains("LAST EXIT"), "{whole}");
    }

    #[test]
    fn colours_do_not_count_as_width() {
        let mut table = TextTable::new("A|B");
        table.row([Cell::styled(Style::Good, "x"), "y".into()]);
        assert_eq!(
            table.render(None, true),
            "\x1b[1mA\x1b[0m  \x1b[1mB\x1b[0m\n\x1b[32mx\x1b[0m  y\n"
        );
    }

    #[test]
    fn control_characters_in_a_cell_are_replaced() {
        let mut table = TextTable::new("A");
        table.row([Cell::from("one\ntwo\x1b[31m")]);
        assert_eq!(table.render(None, false), "A\none two?[31m\n");
    }
}
