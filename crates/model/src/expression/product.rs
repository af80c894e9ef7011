//! The product of several brackets: every combination of one alternative of each.

/// The most memory that the combinations may take.
const MAX_BYTES: usize = 8 << 20;

/// The combinations, in the order of the alternatives; None if there are more than `limit` or they take too much memory.
pub(super) fn product(alternatives: &[Vec<String>], limit: usize) -> Option<Vec<String>> {
    let mut joined = vec![String::new()];
    for words in alternatives {
        let count = joined.len().checked_mul(words.len())?;
        let begun: usize = joined.iter().map(String::len).sum();
        let added: usize = words.iter().map(String::len).sum();
        if count > limit || begun * words.len() + added * joined.len() > MAX_BYTES {
            return None;
        }
        joined = joined
            .iter()
            .flat_map(|begun| words.iter().map(move |word| format!("{begun}{word}")))
            .collect();
    }
    Some(joined)
}
