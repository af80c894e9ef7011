//! The output of the last runs of each process, in a folder of the agent. It outlives the run and the agent.
//!
//! ```text
//!   runs/web@nginx/7.19a8c3f2b10        what the 7th run wrote; it began at that time (milliseconds, hexadecimal)
//!                  7.times              which length that file had when, see `output_times`
//!                  8.19a8c3f9c44.log    the 8th run wrote into its `log_path`: the file, and where in it the run began
//!                  ends                 how the last runs ended, see `run_ends`
//! ```
//!
//! The folder is its own index, so that it needs neither the journal nor memory for each process. A run begins with its
//! start command: a start that failed is a run, too, and so is the command that launches a daemon. Only the agent can read
//! or enter the folders; a run has one descriptor that only appends.

mod history;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use model::{FullName, UnixMillis};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{output_times, regular, sink, spools};
use crate::machine::{Moment, Sink};

/// The longest name of a folder, in bytes.
const MAX_FOLDER: usize = 200;
/// The shortest time between two records of the length of an output.
const RECORD_EVERY_MS: u64 = 10_000;
const LOG: &str = "log";
const TIMES: &str = "times";

#[derive(Debug)]
pub(crate) struct KeptRuns {
    dir: PathBuf,
    /// How many runs of a process are kept.
    keep: usize,
    /// How much of the output of one run is kept, in bytes on disk.
    max_bytes: u64,
}

/// One run of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunId {
    /// Counts up by one with each run; the wall clock may jump.
    pub(crate) number: u32,
    pub(crate) began: UnixMillis,
}

/// A run whose output is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptRun {
    pub(crate) id: RunId,
    /// Its output, or a description of where in its log that is.
    pub(crate) path: PathBuf,
    pub(crate) is_log: bool,
}

/// Where in a log the output of a run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogPlace {
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
}

/// The runs of one process that are still written to, as far as the agent must bound their output.
#[derive(Debug, Default)]
pub(crate) struct OpenRuns {
    pub(crate) newest: Option<RunId>,
    /// The newest run writes into its log.
    pub(crate) is_log: bool,
    /// Earlier runs whose output a process still has open: a daemon that outlived its restart.
    pub(crate) inherited: Vec<RunId>,
    /// The length of the newest output that was recorded last, and when that was.
    timed_length: u64,
    timed_boot_ms: u64,
}

impl OpenRuns {
    /// Whether a process besides the agent may have the output of this run open.
    fn may_be_open(&self, run: RunId) -> bool {
        let is_unknown = self.newest.is_none();
        is_unknown || self.newest == Some(run) || self.inherited.contains(&run)
    }
}

impl KeptRuns {
    pub(crate) fn in_dir(dir: PathBuf, keep: u32, max_bytes: u64) -> Self {
        Self {
            dir,
            keep: keep.max(1) as usize,
            max_bytes,
        }
    }

    /// The folder of a process.
    pub(crate) fn folder(&self, name: &FullName) -> PathBuf {
        self.dir.join(folder_name(name))
    }

    pub(crate) fn output_path(&self, name: &FullName, id: RunId) -> PathBuf {
        self.folder(name).join(file_name(id))
    }

    /// Makes an empty output for a new run, and removes what is too old; `keep` is how many the process wants kept, 0 for
    /// as many as of every process. The newest `known` run may have been deleted: its number is not given to another.
    pub(crate) fn begin(
        &self,
        name: &FullName,
        began: UnixMillis,
        known: &OpenRuns,
        keep: u32,
    ) -> io::Result<(Sink, OwnedFd, OpenRuns)> {
        let (folder, open) = self.make_room(name, began, known, (keep, false))?;
        let path = folder.join(open.newest.map_or_else(String::new, file_name));
        let file = spools::create_output(&path)?;
        let sink = Sink {
            path,
            offset: 0,
            spool: true,
            instead_of_log: String::new(),
        };
        Ok((sink, file.into(), open))
    }

    /// Records a new run that writes into its log.
    pub(crate) fn begin_log(
        &self,
        name: &FullName,
        began: UnixMillis,
        known: &OpenRuns,
        keep: u32,
        sink: &Sink,
    ) -> io::Result<OpenRuns> {
        let (folder, open) = self.make_room(name, began, known, (keep, true))?;
        let file = open.newest.map_or_else(String::new, file_name);
        let place = LogPlace {
            path: sink.path.clone(),
            offset: sink.offset,
        };
        let text = serde_json::to_vec(&place).map_err(io::Error::other)?;
        let mut record = spools::create_output(&folder.join(format!("{file}.{LOG}")))?;
        io::Write::write_all(&mut record, &text)?;
        Ok(open)
    }

    /// Removes the newest run: its command could not be executed.
    pub(crate) fn take_back(&self, name: &FullName, id: RunId) {
        let folder = self.folder(name);
        let output = file_name(id);
        for file in [format!("{output}.{LOG}"), output] {
            // It has one of both.
            let _ = fs::remove_file(folder.join(file));
        }
    }

    fn make_room(
        &self,
        name: &FullName,
        began: UnixMillis,
        known: &OpenRuns,
        (keep, is_log): (u32, bool),
    ) -> io::Result<(PathBuf, OpenRuns)> {
        let folder = self.folder(name);
        let is_new = make_private(&folder)?;
        let FolderContent { runs, times } = match is_new {
            true => FolderContent::default(),
            false => FolderContent::read(&folder)?,
        };
        let newest = known.newest;
        let found = runs.last().map(|run| run.id);
        let last = [found, newest].into_iter().flatten();
        let last = last.map(|run| run.number).max();
        let last = match last {
            None if !is_new => history::last_ended(&folder),
            known => known,
        };
        let last = last.unwrap_or(0);
        let id = RunId {
            number: last.checked_add(1).unwrap_or(1),
            began,
        };
        let forget_times = |number: u32| {
            if times.contains(&number) {
                let _ = fs::remove_file(times_path(&folder, number));
            }
        };
        for gone in [newest.filter(|newest| Some(*newest) != found), Some(id)] {
            // The recorded lengths of an output that was deleted.
            let _ = gone.map(|run| forget_times(run.number));
        }
        let keep = match keep {
            0 => self.keep,
            keep => keep as usize,
        };
        let n_old = (runs.len() + 1).saturating_sub(keep);
        let n_much_too_old = (runs.len() + 1).saturating_sub(2 * keep);
        let mut open = OpenRuns {
            newest: Some(id),
            is_log,
            ..OpenRuns::default()
        };
        for (index, run) in runs.iter().enumerate() {
            // No process can open an output again that all have closed.
            let may_be_open = known.may_be_open(run.id);
            let is_open = may_be_open && is_open_elsewhere(run);
            // An output that a process still has open would grow on unseen without its name.
            if index < n_much_too_old || (index < n_old && !is_open) {
                // It may be gone already.
                let _ = fs::remove_file(&run.path);
                forget_times(run.id.number);
                continue;
            }
            if may_be_open && !run.is_log {
                // It may be gone with the process that it belonged to.
                let _ = sink::cut_if_long(&run.path, self.max_bytes);
            }
            if is_open {
                open.inherited.push(run.id);
            }
        }
        Ok((folder, open))
    }

    /// Records the length of the output of the newest run, if it has changed, and not too often.
    pub(crate) fn record_length(
        &self,
        name: &FullName,
        open: &mut OpenRuns,
        now: Moment,
        length: u64,
    ) {
        let Some(run) = open.newest else {
            return;
        };
        let is_due = open.timed_boot_ms == 0
            || now.boot_ms.saturating_sub(open.timed_boot_ms) >= RECORD_EVERY_MS;
        if length == open.timed_length || !is_due {
            return;
        }
        open.timed_length = length;
        open.timed_boot_ms = now.boot_ms;
        let path = times_path(&self.folder(name), run.number);
        if let Err(error) = output_times::add(&path, now.unix, length) {
            tracing::debug!(process = %name, %error, "cannot record the length of its output");
        }
    }

    /// What an earlier agent left of a process.
    pub(crate) fn find_open(&self, name: &FullName) -> OpenRuns {
        let mut runs = self.runs_of(name);
        let newest = runs.pop();
        runs.retain(is_open_elsewhere);
        OpenRuns {
            newest: newest.as_ref().map(|run| run.id),
            is_log: newest.is_some_and(|run| run.is_log),
            inherited: runs.into_iter().map(|run| run.id).collect(),
            ..OpenRuns::default()
        }
    }

    /// The kept runs, oldest first.
    pub(crate) fn runs_of(&self, name: &FullName) -> Vec<KeptRun> {
        list(&self.folder(name)).unwrap_or_default()
    }

    /// Removes everything that is kept of a process.
    pub(crate) fn forget(&self, name: &FullName) {
        if let Err(error) = fs::remove_dir_all(self.folder(name))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(process = %name, %error, "cannot remove the output that was kept");
        }
    }

    /// Removes what is kept of processes that are not held.
    pub(crate) fn remove_strays<'a>(&self, held: impl Iterator<Item = &'a FullName>) {
        let held: std::collections::HashSet<String> = held.map(folder_name).collect();
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let is_held = entry.file_name().to_str().is_some_and(|n| held.contains(n));
            if !is_held {
                // Tried again at the next start of the agent.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The next run after this one in a process's folder.
pub(crate) fn next_after(folder: &Path, number: u32) -> Option<KeptRun> {
    let runs = list(folder).ok()?;
    runs.into_iter().find(|run| run.id.number > number)
}

pub(crate) fn times_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number}.{TIMES}"))
}

impl KeptRun {
    pub(crate) fn log_place(&self) -> io::Result<LogPlace> {
        const MAX_PLACE: usize = 64 * 1024;
        let file = regular::open(&self.path, OFlags::RDONLY | OFlags::NOFOLLOW, 0)?;
        let text = regular::read_at(&file, 0, MAX_PLACE)?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }
}

/// Creates a folder that only the agent can enter; false if it is there already.
pub(crate) fn make_private(folder: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The folder above was removed while the agent runs.
            let made = DirBuilder::new().mode(0o700).recursive(true).create(folder);
            made.map(|()| true)
        }
        made => made.map(|()| true),
    }
}

/// The same for a folder of an earlier agent, which may have wider rights.
pub(crate) fn make_private_at_start(folder: &Path) -> io::Result<()> {
    make_private(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// `NAMESPACE@NAME` with every other character than letters, digits, `.`, `_` and `-` as `%XX`; a long one is cut, with a
/// hash of the whole.
fn folder_name(name: &FullName) -> String {
    let escaped = |text: &str, out: &mut String| {
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
                    out.push(char::from(byte));
                }
                byte => out.push_str(&format!("%{byte:02x}")),
            }
        }
    };
    let mut whole = String::new();
    escaped(name.namespace.as_str(), &mut whole);
    whole.push('@');
    escaped(name.name.as_str(), &mut whole);
    if whole.len() <= MAX_FOLDER {
        return whole;
    }
    let hash: String = Md5::digest(whole.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    whole.truncate(MAX_FOLDER - hash.len() - 1);
    // No escaped name holds it, so no short name equals a long one.
    format!("{whole}~{hash}")
}

fn file_name(id: RunId) -> String {
    format!("{}.{:x}", id.number, id.began.0)
}

fn parse_file_name(name: &str) -> Option<(RunId, bool)> {
    let (name, is_log) = match name.strip_suffix(".log") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let (number, began) = name.split_once('.')?;
    let id = RunId {
        number: number.parse().ok()?,
        began: UnixMillis(i64::from_str_radix(began, 16).ok()?),
    };
    Some((id, is_log))
}

/// What the folder of a process has.
#[derive(Debug, Default)]
struct FolderContent {
    /// The runs, oldest first.
    runs: Vec<KeptRun>,
    /// The numbers of runs with recorded lengths.
    times: Vec<u32>,
}

impl FolderContent {
    /// Nothing if there is no folder.
    fn read(folder: &Path) -> io::Result<Self> {
        let mut content = Self::default();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(content),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                continue;
            };
            if let Some((id, is_log)) = parse_file_name(name) {
                let path = entry.path();
                content.runs.push(KeptRun { id, path, is_log });
            } else if let Some((number, TIMES)) = name.split_once('.') {
                content.times.extend(number.parse::<u32>());
            }
        }
        content.runs.sort_by_key(|run| run.id.number);
        Ok(content)
    }
}

/// The runs in a folder, oldest first; none if there is no folder.
fn list(folder: &Path) -> io::Result<Vec<KeptRun>> {
    Ok(FolderContent::read(folder)?.runs)
}

/// Whether a process besides the agent has the output open, as far as can be known.
fn is_open_elsewhere(run: &KeptRun) -> bool {
    if run.is_log {
        return false;
    }
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW;
    match regular::open(&run.path, flags, 0) {
        Ok(file) => spools::require_sole_user(&file).is_err(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    fn name(text: &str) -> FullName {
        text.parse().unwrap()
    }

    fn kept(dir: &Path, keep: u32) -> KeptRuns {
        KeptRuns::in_dir(dir.join("runs"), keep, 1024 * 1024)
    }

    fn begin(runs: &KeptRuns, at: i64, text: &str) -> (Sink, OpenRuns) {
        let (sink, output, open) = runs
            .begin(&name("a/b"), UnixMillis(at), &OpenRuns::default(), 0)
            .unwrap();
        File::from(output).write_all(text.as_bytes()).unwrap();
        (sink, open)
    }

    #[test]
    fn the_last_runs_are_kept_in_order_whatever_the_clock_does() {
        let dir = tempfile::tempdir().unwrap();
        let runs = kept(dir.path(), 3);
        for (at, text) in [(500, "one"), (400, "two"), (900, "three"), (100, "four")] {
            begin(&runs, at, text);
        }
        let kept: Vec<(u32, i64, String)> = runs
            .runs_of(&name("a/b"))
            .into_iter()
            .map(|run| {
                let text = fs::read_to_string(run.path).unwrap();
                (run.id.number, run.id.began.0, text)
            })
            .collect();
        let kept: Vec<(u32, i64, &str)> = kept.iter().map(|(n, at, t)| (*n, *at, &**t)).collect();
        assert_eq!(kept, [(2, 400, "two"), (3, 900, "three"), (4, 100, "four")]);
        let found = runs.find_open(&name("a/b"));
        assert_eq!(found.newest.unwrap().number, 4);
        assert!(found.inherited.is_empty());
    }

    #[test]
    fn an_output_that_is_still_open_is_kept_and_bounded_up_to_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let runs = kept(dir.path(), 1);
        let (first, output, _) = runs
            .begin(&name("a/b"), UnixMillis(1), &OpenRuns::default(), 0)
            .unwrap();
        let (_, open) = begin(&runs, 2, "");
        assert_eq!(open.inherited.len(), 1);
        assert!(first.path.exists());
        drop(output);
        let (_, open) = begin(&runs, 3, "");
        assert!(open.inherited.is_empty());
        assert!(!first.path.exists());
        let many: Vec<_> = (4..10)
            .map(|at| {
                runs.begin(&name("a/b"), UnixMillis(at), &OpenRuns::default(), 0)
                    .unwrap()
            })
            .collect();
        assert_eq!(runs.runs_of(&name("a/b")).len(), 2);
        drop(many);
    }

    #[test]
    fn folders_and_files_are_private_and_go_with_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let runs = kept(dir.path(), 3);
        let (sink, _) = begin(&runs, 1, "secret");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&runs.folder(&name("a/b"))), 0o700);
        assert_eq!(mode(&sink.path), 0o600);
        let log = Sink {
            path: "/var/log/x".into(),
            offset: 7,
            ..sink
        };
        runs.begin_log(&name("a/b"), UnixMillis(2), &OpenRuns::default(), 0, &log)
            .unwrap();
        let place = runs.runs_of(&name("a/b")).pop().unwrap();
        assert_eq!(mode(&place.path), 0o600);
        assert_eq!(place.log_place().unwrap().offset, 7);
        runs.remove_strays([name("a/b")].iter());
        assert!(runs.folder(&name("a/b")).exists());
        runs.forget(&name("a/b"));
        runs.forget(&name("a/b"));
        assert!(!runs.folder(&name("a/b")).exists());
        begin(&runs, 3, "");
        runs.remove_strays([].iter());
        assert!(!runs.folder(&name("a/b")).exists());
    }

    #[test]
    fn every_name_has_a_folder_of_its_own_within_the_agents() {
        let long = |last: char| format!("{}{last}", "长".repeat(250));
        let names = [
            name("a/b"),
            name("a@b/c"),
            name("a/b@c"),
            name("a/b c"),
            name("a/b%20c"),
            name("a/..x"),
            name("~a/$(reboot)"),
            name(&format!("{}/{}", long('x'), long('y'))),
            name(&format!("{}/{}", long('x'), long('z'))),
        ];
        let folders: std::collections::HashSet<String> = names.iter().map(folder_name).collect();
        assert_eq!(folders.len(), names.len(), "{folders:?}");
        for folder in &folders {
            assert!(folder.len() <= MAX_FOLDER && !folder.contains('/'));
            assert!(folder.contains('@') || folder.contains('~'), "{folder}");
        }
    }
}
