//! What words find hosts by, as one text: made when a query first needs it after a host has changed.

use std::sync::{Arc, OnceLock};

use memchr::memmem;
use model::change::HostId;

use crate::filter::FoldedText;
use crate::hosts::Hosts;

/// Between the address of a host and its name.
const NEXT_TEXT: char = '\n';
/// After the texts of a host.
const NEXT_HOST: char = '\0';

#[derive(Debug, Clone, Default)]
pub(crate) struct HostTexts(Arc<OnceLock<Texts>>);

#[derive(Debug)]
struct Texts {
    /// In lower case.
    text: Box<str>,
    /// Where the texts of each host end.
    ends: Box<[(u32, HostId)]>,
}

impl HostTexts {
    /// A host has changed.
    pub(crate) fn forget(&mut self) {
        if self.0.get().is_some() {
            *self = Self::default();
        }
    }

    /// Calls `found` with each host that has the word in its address or its name.
    pub(crate) fn containing(&self, hosts: &Hosts, word: &str, mut found: impl FnMut(HostId)) {
        if word.contains([NEXT_TEXT, NEXT_HOST]) {
            return;
        }
        let texts = self.0.get_or_init(|| Texts::of(hosts));
        let finder = memmem::Finder::new(word);
        let (mut at, mut from) = (0, 0);
        while let Some(hit) = finder.find(&texts.text.as_bytes()[from..]) {
            let hit = (from + hit) as u32;
            let later = &texts.ends[at..];
            at += match later.first() {
                Some((end, _)) if *end <= hit => later.partition_point(|(end, _)| *end <= hit),
                _ => 0,
            };
            let Some((end, host)) = texts.ends.get(at) else {
                return;
            };
            found(*host);
            from = *end as usize;
            at += 1;
        }
    }
}

impl Texts {
    fn of(hosts: &Hosts) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::with_capacity(hosts.len()));
        for view in hosts.iter() {
            view.host.write_to(&mut text);
            if let Some(info) = view.info.filter(|info| !info.hostname.is_empty()) {
                text.push(NEXT_TEXT);
                FoldedText::fold(&mut text, &info.hostname);
            }
            text.push(NEXT_HOST);
            ends.push((text.len() as u32, view.id));
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }
}
