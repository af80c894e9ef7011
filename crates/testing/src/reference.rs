//! Pages of `docs/reference/` that are made from the code. A test fails when a page is stale; with `UPDATE_REFERENCE=1` it
//! writes the page instead.

use std::path::{Path, PathBuf};

const UPDATE: &str = "UPDATE_REFERENCE";

/// Compares the part of `docs/reference/PAGE` between `<!-- NAME -->` and `<!-- end of NAME -->` with what the code says.
#[track_caller]
pub fn check_part(page: &str, name: &str, made: &str) {
    let path = path(page);
    let text = read(&path);
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let parts = text
        .split_once(&begin)
        .and_then(|(before, rest)| Some((before, rest.split_once(&end)?)));
    let Some((before, (_, after))) = parts else {
        panic!("{} has no part {begin}…{end}", path.display());
    };
    let made = format!("{before}{begin}\n{}\n\n{end}{after}", made.trim());
    check(&path, &text, &made);
}

/// The same for a page that is made as a whole.
#[track_caller]
pub fn check_page(page: &str, made: &str) {
    let path = path(page);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    check(&path, &text, made);
}

#[track_caller]
fn check(path: &Path, kept: &str, made: &str) {
    if kept == made {
        return;
    }
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(path, made).expect("the page can be written");
        return;
    }
    let (mut kept, mut made) = (kept.lines(), made.lines());
    let (kept, made) = loop {
        match (kept.next(), made.next()) {
            (kept, made) if kept == made && kept.is_some() => {}
            differing => break differing,
        }
    };
    let (kept, made) = (kept.unwrap_or("(the end)"), made.unwrap_or("(the end)"));
    let file = path.file_name().unwrap_or_default().display();
    panic!(
        "docs/reference/{file} is not what the code says: run the test with {UPDATE}=1 and read the difference\n  page: {kept}\n  code: {made}"
    );
}

fn path(page: &str) -> PathBuf {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    Path::new(docs).join(page)
}

#[track_caller]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A table in Markdown; `|` in a cell is escaped.
pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(head.iter().map(|cell| (*cell).to_owned()).collect());
    out.push_str(&"|---".repeat(head.len()));
    out.push_str("|\n");
    for row in rows {
        assert_eq!(row.len(), head.len(), "{row:?}");
        out.push_str(&line(
            row.into_iter()
                .map(|cell| cell.replace('|', "\\|"))
                .collect(),
        ));
    }
    out
}
