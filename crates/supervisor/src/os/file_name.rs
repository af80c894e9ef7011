//! Process names as file names: a name may be longer than a file name can be.

use std::borrow::Cow;

/// The text itself if it fits into `max` bytes, else its beginning and a hash of the whole.
pub(crate) fn bounded(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let hash = format!("~{:016x}", model::digest::text_hash(text));
    let cut = text.floor_char_boundary(max.saturating_sub(hash.len()));
    Cow::Owned(format!("{}{hash}", &text[..cut]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_stay_distinct() {
        assert_eq!(bounded("short name", 255), "short name");
        let long = |last: char| format!("{}{last}", "长".repeat(254));
        let (one, other) = (long('1'), long('2'));
        let (one, other) = (bounded(&one, 240), bounded(&other, 240));
        assert!(one.len() <= 240 && other.len() <= 240);
        assert_ne!(one, other);
        assert!(one.starts_with("长长长"));
    }
}
