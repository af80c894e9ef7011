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
    /// A host has changed. A snapshot from before may still fill the cell that it shares with this one.
    pub(crate) fn forget(&mut self) {
        match Arc::get_mut(&mut self.0) {
            Some(cell) => drop(cell.take()),
            None => *self = Self::default(),
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

#[cfg(test)]
mod tests {
    use model::Host;
    use model::change::HostRow;

    use super::*;

    fn found(hosts: &Hosts, word: &str) -> Vec<u32> {
        let mut found = Vec::new();
        hosts.containing(word, |id| found.push(id.0));
        found
    }

    fn put(hosts: &mut Hosts, id: u32, ip: &str) {
        let host = Host::new(0, ip.parse().unwrap());
        hosts.put(&HostRow::new(HostId(id), host));
    }

    #[test]
    fn hosts_are_found_by_a_part_of_their_address_or_name() {
        let mut hosts = Hosts::default();
        put(&mut hosts, 0, "10.0.0.1");
        put(&mut hosts, 1, "10.0.0.21");
        hosts.set_info(
            HostId(0),
            crate::AgentInfo {
                hostname: "Web-1".to_owned(),
                ..Default::default()
            },
        );
        assert_eq!(found(&hosts, "0.1"), [0]);
        assert_eq!(found(&hosts, "web-1"), [0]);
        assert_eq!(found(&hosts, "1"), [0, 1]);
        assert_eq!(found(&hosts, ""), [0, 1]);
        assert!(found(&hosts, "1\nweb").is_empty() && found(&hosts, "1\0").is_empty());
        assert!(found(&hosts, "10:").is_empty());
    }

    #[test]
    fn hosts_never_show_the_texts_of_a_snapshot_before_them() {
        let mut hosts = Hosts::default();
        put(&mut hosts, 0, "10.0.0.1");
        let before = hosts.clone();
        put(&mut hosts, 1, "10.0.0.2");
        assert_eq!(found(&before, "10."), [0]);
        assert_eq!(found(&hosts, "10."), [0, 1]);
    }
}
