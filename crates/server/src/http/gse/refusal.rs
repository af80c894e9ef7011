//! The codes of refusals in the GSE family.

pub(crate) use crate::http::envelope::Refusal;

use crate::http::envelope::DialectCodes;

pub(crate) const CODES: DialectCodes = DialectCodes {
    invalid: 1_000_400,
    not_found: 1_000_404,
    conflict: 1_000_409,
};
const NO_AGENT: i64 = 1_011_003;
/// Codes that only this dialect has, for the reference in docs.
pub(crate) const OWN_CODES: &[(i64, &str)] = &[(NO_AGENT, "none of the requested agents is known")];

pub(super) fn no_known_agent() -> Refusal {
    Refusal::fixed(NO_AGENT, "none of the agents asked for is known")
}
