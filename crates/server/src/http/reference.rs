//! What `docs/reference/` lists and the code defines: metrics and error codes. Only the tests of those pages call it.

use super::envelope::{DialectCodes, FIXED_CODES};
use super::{gse, gsekit, native};

pub use super::metrics::{FAMILIES, Family, Kind};

/// Name, HTTP status and meaning of each error of the native API.
pub fn native_errors() -> Vec<(&'static str, u16, &'static str)> {
    let codes = native::ERROR_CODES.iter();
    codes
        .map(|(name, status, meaning)| (*name, status.as_u16(), *meaning))
        .collect()
}

/// Code, dialects and meaning of each refusal in the envelope of the BlueKing dialects.
pub fn envelope_codes() -> Vec<(i64, &'static str, &'static str)> {
    let fixed = FIXED_CODES.iter();
    let mut codes: Vec<_> = fixed
        .map(|(code, meaning)| (*code, "all", *meaning))
        .collect();
    for (dialect, dialect_codes, own) in [
        ("GSE", &gse::CODES, gse::OWN_CODES),
        ("GSEKit", &gsekit::CODES, gsekit::OWN_CODES),
    ] {
        let DialectCodes {
            invalid,
            not_found,
            conflict,
        } = *dialect_codes;
        let shared = [
            (
                invalid,
                "the request is invalid; the message names the field and the rule; nothing was changed",
            ),
            (not_found, "what the request names does not exist"),
            (conflict, "the current state does not allow it"),
        ];
        for (code, meaning) in shared.iter().chain(own) {
            if codes.iter().all(|(known, ..)| known != code) {
                codes.push((*code, dialect, meaning));
            }
        }
    }
    codes.sort();
    codes
}
