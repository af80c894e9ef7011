//! One table for a terminal and for Markdown alike.

/// Rows of what was measured, what came out, and what we aim for.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<[String; 3]>);

impl Table {
    pub(crate) fn row(
        &mut self,
        what: impl Into<String>,
        measured: impl Into<String>,
        aim: impl Into<String>,
    ) {
        self.0.push([what.into(), measured.into(), aim.into()]);
    }

    pub(crate) fn print(&self) {
        let header = ["what", "measured", "aim"].map(str::to_owned);
        let rows: Vec<&[String; 3]> = std::iter::once(&header).chain(&self.0).collect();
        let widths: Vec<usize> = (0..3)
            .map(|column| {
                rows.iter()
                    .map(|row| row[column].chars().count())
                    .max()
                    .unwrap_or(0)
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
