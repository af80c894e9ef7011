//! A table that is readable in a terminal and valid Markdown.

/// Rows under a heading. A row may be shorter than the heading; the rest stays empty.
#[derive(Debug)]
pub(crate) struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            heading: heading.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.heading.len(), String::new());
        self.rows.push(cells);
    }

    pub(crate) fn print(&self) {
        let rows: Vec<&Vec<String>> = std::iter::once(&self.heading).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..self.heading.len())
            .map(|column| {
                let lengths = rows.iter().map(|row| row[column].chars().count());
                lengths.max().unwrap_or(0)
            })
            .collect();
        for (index, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}", width = *width))
                .collect();
            println!("| {} |", cells.join(" | "));
            if index == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                println!("| {} |", rules.join(" | "));
            }
        }
    }
}

/// `1,234,567`
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
