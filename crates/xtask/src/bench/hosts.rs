//! Host addresses, as requests list them.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

/// The first host; the others follow. The simulator counts in the same way.
pub(crate) const FIRST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The first `n` hosts as a JSON list.
pub(super) fn list(n: usize) -> String {
    listed(0..n)
}

/// One of them.
pub(super) fn one(index: usize) -> String {
    listed(index..index + 1)
}

/// The hosts of a range.
pub(super) fn listed(indexes: std::ops::Range<usize>) -> String {
    let mut text = String::from("[");
    for index in indexes.clone() {
        let comma = if index == indexes.start { "" } else { "," };
        let ip = Ipv4Addr::from_bits(FIRST.to_bits() + index as u32);
        write!(
            text,
            r#"{comma}{{"ip":"{ip}","bk_cloud_id":0,"bk_supplier_id":0}}"#
        )
        .expect("writing to a string does not fail");
    }
    text.push(']');
    text
}
