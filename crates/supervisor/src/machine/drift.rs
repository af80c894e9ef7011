//! Config drift: files that differ from the md5 in the spec, or that changed although the spec names no md5.
//!
//! Each change is one event. Drift never stops or restarts a process.

use std::collections::BTreeMap;

use model::event::EventKind;
use model::spec::ConfigFile;
use serde::{Deserialize, Serialize};

use super::restart::emit;
use super::{Action, Context, Process};

/// A file of `configmap` as it is on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigFileDigest {
    pub(crate) path: String,
    /// Its MD5, or why it cannot be read.
    pub(crate) md5: Result<String, String>,
}

/// Files that differ, by path, each with the message that says how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Drift(BTreeMap<String, String>);

impl Drift {
    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// For the status; empty when every file is as it should be.
    pub(super) fn sentence(&self) -> String {
        let sentences: Vec<&str> = self.0.values().map(String::as_str).collect();
        sentences.join("; ")
    }

    /// Drops files that the spec no longer names.
    pub(super) fn keep_only(&mut self, wanted: &[ConfigFile]) {
        self.0
            .retain(|path, _| wanted.iter().any(|file| file.path == *path));
    }

    /// Takes the files as they are now. Returns the messages that are new.
    fn update(&mut self, wanted: &[ConfigFile], found: &[ConfigFileDigest]) -> Vec<String> {
        let before = std::mem::take(&mut self.0);
        let mut news = Vec::new();
        for file in wanted {
            let Some(there) = found.iter().find(|found| found.path == file.path) else {
                continue;
            };
            let path = &file.path;
            let sentence = match &there.md5 {
                Ok(_) if file.md5.is_empty() => continue,
                Ok(md5) if md5.eq_ignore_ascii_case(&file.md5) => continue,
                Ok(md5) => format!("config drift: {path} has md5 {md5} and not {}", file.md5),
                Err(why) => format!("config drift: {path} cannot be read: {why}"),
            };
            if before.get(path) != Some(&sentence) {
                news.push(sentence.clone());
            }
            self.0.insert(path.clone(), sentence);
        }
        news
    }
}

/// Files without an `md5` in the spec, by path, with their last content. The first reading is the baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct WatchedFiles(BTreeMap<String, Content>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    md5: String,
    /// The md5 before its last change in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
}

impl WatchedFiles {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For the status: what changed since the current run began.
    pub(super) fn sentence(&self) -> String {
        let sentences: Vec<String> = self.0.iter().filter_map(changed).collect();
        sentences.join("; ")
    }

    /// A new run reads the files as they are.
    pub(super) fn begin_anew(&mut self) {
        for content in self.0.values_mut() {
            content.before = None;
        }
    }

    pub(super) fn keep_only(&mut self, wanted: &[ConfigFile]) {
        let is_watched =
            |path: &str| (wanted.iter()).any(|file| file.path == path && file.md5.is_empty());
        self.0.retain(|path, _| is_watched(path));
    }

    /// Takes the files as they are now. Returns a message for each that changed since the last reading.
    fn update(&mut self, wanted: &[ConfigFile], found: &[ConfigFileDigest]) -> Vec<String> {
        self.keep_only(wanted);
        let mut news = Vec::new();
        for file in wanted.iter().filter(|file| file.md5.is_empty()) {
            let there = found.iter().find(|found| found.path == file.path);
            let Some(Ok(md5)) = there.map(|there| &there.md5) else {
                continue;
            };
            let known = self.0.get(&file.path);
            if known.is_some_and(|known| known.md5 == *md5) {
                continue;
            }
            let content = Content {
                md5: md5.clone(),
                before: known.map(|known| known.md5.clone()),
            };
            news.extend(changed((&file.path, &content)));
            self.0.insert(file.path.clone(), content);
        }
        news
    }
}

fn changed((path, content): (&String, &Content)) -> Option<String> {
    let before = content.before.as_ref()?;
    let md5 = &content.md5;
    Some(format!(
        "config drift: {path} changed: it had md5 {before} and has {md5}"
    ))
}

impl Process {
    pub(super) fn config_read(
        &mut self,
        found: &[ConfigFileDigest],
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let mut news = self.drift.update(&cx.spec.configmap, found);
        news.extend(self.watched_files.update(&cx.spec.configmap, found));
        for sentence in news {
            out.push(emit(EventKind::ConfigDrift, &sentence, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(md5: Result<&str, &str>) -> Vec<ConfigFileDigest> {
        vec![ConfigFileDigest {
            path: "/a".into(),
            md5: md5.map(str::to_owned).map_err(str::to_owned),
        }]
    }

    #[test]
    fn a_file_without_md5_is_watched_for_changes() {
        let wanted = [ConfigFile {
            path: "/a".into(),
            md5: String::new(),
        }];
        let mut files = WatchedFiles::default();
        let mut drift = Drift::default();
        let changed = "config drift: /a changed: it had md5 aa and has bb";
        for (now, news, shown) in [
            (Ok("aa"), 0, ""),
            (Ok("aa"), 0, ""),
            (Ok("bb"), 1, changed),
            (Ok("bb"), 0, changed),
            (Err("no such file"), 0, changed),
        ] {
            assert_eq!(files.update(&wanted, &found(now)).len(), news, "{now:?}");
            assert_eq!(files.sentence(), shown);
            let unreadable = drift.update(&wanted, &found(now)).len();
            assert_eq!(unreadable, usize::from(now.is_err()), "{now:?}");
        }
        files.begin_anew();
        assert_eq!(files.sentence(), "", "a new run has read the new content");
        assert!(files.update(&wanted, &found(Ok("bb"))).is_empty());
        files.update(&[], &found(Ok("bb")));
        assert!(files.is_empty(), "no longer watched");
    }

    #[test]
    fn an_md5_without_path_does_nothing() {
        let wanted = [ConfigFile {
            path: String::new(),
            md5: "aa".into(),
        }];
        assert!(Drift::default().update(&wanted, &[]).is_empty());
        assert!(WatchedFiles::default().update(&wanted, &[]).is_empty());
    }

    #[test]
    fn each_change_is_one_event_and_shown_while_it_lasts() {
        let wanted = [ConfigFile {
            path: "/a".into(),
            md5: "aa".into(),
        }];
        let mut drift = Drift::default();
        for (now, news, shown) in [
            (Ok("AA"), 0, ""),
            (Ok("bb"), 1, "config drift: /a has md5 bb and not aa"),
            (Ok("bb"), 0, "config drift: /a has md5 bb and not aa"),
            (Ok("cc"), 1, "config drift: /a has md5 cc and not aa"),
            (
                Err("no such file"),
                1,
                "config drift: /a cannot be read: no such file",
            ),
            (Ok("aa"), 0, ""),
            (Ok("bb"), 1, "config drift: /a has md5 bb and not aa"),
        ] {
            assert_eq!(drift.update(&wanted, &found(now)).len(), news, "{now:?}");
            assert_eq!(drift.sentence(), shown);
        }
        assert!(drift.update(&[], &found(Ok("bb"))).is_empty());
        assert!(drift.is_none(), "no longer watched");
    }
}
