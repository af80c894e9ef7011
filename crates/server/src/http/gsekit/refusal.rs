//! The codes of refusals in the GSEKit dialect.

pub(crate) use crate::http::envelope::Refusal;

use control::ControlError;
use model::expression::{ExpressionError, TooManyShellPatterns};
use model::scope::ScopeError;

use crate::http::envelope::DialectCodes;

pub(crate) const CODES: DialectCodes = DialectCodes {
    invalid: 4_100_001,
    // A business.
    not_found: 4_100_002,
    conflict: 4_100_009,
};
const NO_SUCH_JOB: i64 = 4_103_005;
const BAD_EXPRESSION: i64 = 4_111_001;
/// Codes that only this dialect has, for the reference in docs.
pub(crate) const OWN_CODES: &[(i64, &str)] = &[
    (NO_SUCH_JOB, "unknown job, or one that is no longer kept"),
    (
        BAD_EXPRESSION,
        "the expression cannot be parsed; the message names the character",
    ),
];

/// The refusal of a request that names a job.
pub(super) fn of_job(error: ControlError) -> Refusal {
    match error {
        ControlError::NotFound(message) => Refusal::fixed(NO_SUCH_JOB, message),
        error => error.into(),
    }
}

pub(super) fn no_such_job(id: i64) -> Refusal {
    let message = format!("job {id} does not exist or is no longer kept");
    Refusal::fixed(NO_SUCH_JOB, message)
}

impl From<ExpressionError> for Refusal {
    fn from(error: ExpressionError) -> Self {
        Self::fixed(BAD_EXPRESSION, error.to_string())
    }
}

impl From<TooManyShellPatterns> for Refusal {
    fn from(error: TooManyShellPatterns) -> Self {
        Self::fixed(BAD_EXPRESSION, error.to_string())
    }
}

impl From<ScopeError> for Refusal {
    fn from(error: ScopeError) -> Self {
        match error {
            ScopeError::Invalid(invalid) => invalid.into(),
            ScopeError::Expression(error) => error.into(),
        }
    }
}
