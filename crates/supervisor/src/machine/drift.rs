//! Configuration files that are not what the spec says. Told once for each change, shown as long as it lasts, and never a
//! reason to do anything.

use std::collections::BTreeMap;

use model::event::EventKind;
use model::spec::ConfigFile;
use serde::{Deserialize, Serialize};

use super::keep::emit;
use super::{Action, Context, Process};

/// A file of `configmap` as it is on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: String,
    /// Its MD5, or why it cannot be told.
    pub(crate) md5: Result<String, String>,
}

/// Which files differ, with the sentence that says how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Drift(BTreeMap<String, String>);

impl Drift {
    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// What is shown; empty when every file is as it should be.
    pub(super) fn sentence(&self) -> String {
        let sentences: Vec<&str> = self.0.values().map(String::as_str).collect();
        sentences.join("; ")
    }

    /// What is not watched any more does not differ from anything.
    pub(super) fn keep_only(&mut self, wanted: &[ConfigFile]) {
        self.0
            .retain(|path, _| wanted.iter().any(|file| file.path == *path));
    }

    /// Takes what there is. The sentences that are new.
    fn update(&mut self, wanted: &[ConfigFile], found: &[Found]) -> Vec<String> {
        let before = std::mem::take(&mut self.0);
        let mut news = Vec::new();
        for file in wanted {
            let Some(there) = found.iter().find(|found| found.path == file.path) else {
                continue;
            };
            let path = &file.path;
            let sentence = match &there.md5 {
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

impl Process {
    pub(super) fn config_read(&mut self, found: &[Found], cx: &Context<'_>, out: &mut Vec<Action>) {
        for sentence in self.drift.update(&cx.spec.configmap, found) {
            out.push(emit(EventKind::ConfigDrift, &sentence, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(md5: Result<&str, &str>) -> Vec<Found> {
        vec![Found {
            path: "/a".into(),
            md5: md5.map(str::to_owned).map_err(str::to_owned),
        }]
    }

    #[test]
    fn each_change_is_told_once_and_shown_while_it_lasts() {
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
