//! How the last runs of a process ended: a file of JSON lines beside their outputs, which it outlives.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use model::UnixMillis;
use model::run_history::MAX_RUNS;
use model::status::LastExit;
use serde::{Deserialize, Serialize};

/// The name of the file in the folder of a process.
pub(crate) const FILE: &str = "ends";

/// A run that has ended. New fields need a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedRun {
    pub(crate) number: u32,
    pub(crate) began: UnixMillis,
    pub(crate) end: LastExit,
}

/// Adds the end of a run. A run that has one keeps it.
pub(crate) fn add(path: &Path, run: EndedRun) -> io::Result<()> {
    let known = fs::read(path).unwrap_or_default();
    let lines = known.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let start = format!("{{\"number\":{},", run.number);
    if lines
        .clone()
        .any(|line| line.starts_with(start.as_bytes()) && parse(line).is_some())
    {
        return Ok(());
    }
    if lines.count() >= 2 * MAX_RUNS {
        let mut runs = read(path);
        let n_old = (runs.len() + 1).saturating_sub(MAX_RUNS);
        runs.drain(..n_old);
        runs.push(run);
        let lines = runs.iter().map(line).collect::<io::Result<Vec<String>>>()?;
        return fs::write(path, lines.concat());
    }
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW)
        .open(path)?;
    file.write_all(line(&run)?.as_bytes())
}

/// The runs that have ended, in the order of their ends. A line that was cut by a crash is left out.
pub(crate) fn read(path: &Path) -> Vec<EndedRun> {
    let bytes = fs::read(path).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(parse).collect()
}

fn parse(line: &[u8]) -> Option<EndedRun> {
    serde_json::from_slice(line).ok()
}

/// Begins with a newline too: the line before it may have been cut.
fn line(run: &EndedRun) -> io::Result<String> {
    let text = serde_json::to_string(run).map_err(io::Error::other)?;
    Ok(format!("\n{text}\n"))
}

#[cfg(test)]
mod tests {
    use model::status::Exit;

    use super::*;

    fn run(number: u32) -> EndedRun {
        let end = LastExit::new(Exit::Code(3), UnixMillis(i64::from(number) + 5));
        EndedRun {
            number,
            began: UnixMillis(number.into()),
            end,
        }
    }

    #[test]
    fn the_last_ends_are_kept_and_a_torn_line_costs_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        assert!(read(&path).is_empty());
        for number in [1, 2, 2] {
            add(&path, run(number)).unwrap();
        }
        assert_eq!(read(&path), [run(1), run(2)]);
        let mut torn = fs::read(&path).unwrap();
        torn.truncate(torn.len() - 9);
        fs::write(&path, torn).unwrap();
        add(&path, run(3)).unwrap();
        assert_eq!(read(&path), [run(1), run(3)]);
        for number in 4..1000 {
            add(&path, run(number)).unwrap();
        }
        let kept = read(&path);
        assert!(
            (MAX_RUNS..=2 * MAX_RUNS).contains(&kept.len()),
            "{}",
            kept.len()
        );
        assert_eq!(kept.last(), Some(&run(999)));
    }
}
