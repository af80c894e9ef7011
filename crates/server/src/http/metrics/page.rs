//! Prometheus' text format: writes families and their samples.

use std::fmt::{Display, Write};

use super::Family;

#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    pub(super) fn into_text(self) -> String {
        self.0
    }

    pub(super) fn head(&mut self, family: &Family) {
        let Family {
            name, kind, help, ..
        } = family;
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    /// A family with one series and no labels.
    pub(super) fn single(&mut self, family: &Family, value: impl Display) {
        self.head(family);
        self.sample(family, &[], value);
    }

    /// `values` are those of the family's labels, in their order.
    pub(super) fn sample(&mut self, family: &Family, values: &[&str], value: impl Display) {
        let labels = labels(family, values, None);
        self.line(format_args!("{}{labels} {value}", family.name));
    }

    pub(super) fn bucket(&mut self, family: &Family, values: &[&str], le: &str, n: u64) {
        let labels = labels(family, values, Some(le));
        self.line(format_args!("{}_bucket{labels} {n}", family.name));
    }

    pub(super) fn sum_and_count(&mut self, family: &Family, values: &[&str], sum: f64, count: u64) {
        let (name, labels) = (family.name, labels(family, values, None));
        self.line(format_args!(
            "{name}_sum{labels} {sum}\n{name}_count{labels} {count}"
        ));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{text}").expect("writing to a String does not fail");
    }
}

fn labels(family: &Family, values: &[&str], le: Option<&str>) -> String {
    debug_assert_eq!(family.labels.len(), values.len(), "{}", family.name);
    let named = family.labels.iter().copied().zip(values.iter().copied());
    let all = named.chain(le.map(|le| ("le", le)));
    let pairs: Vec<String> = all
        .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
        .collect();
    match pairs.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", pairs.join(",")),
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::metrics::families;

    #[test]
    fn label_values_are_escaped() {
        let mut page = Page::default();
        page.sample(&families::SHED, &["a\"b\\c\nd"], 1);
        assert_eq!(
            page.into_text(),
            "muster_shed_total{reason=\"a\\\"b\\\\c\\nd\"} 1\n"
        );
    }
}
