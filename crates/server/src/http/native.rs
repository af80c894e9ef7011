//! The native API, `/api/v1`: plain REST names, ordinary status codes.
//!
//! One file per noun. `error` chooses the status codes, `caller` finds out who asks, `read` takes in bodies and queries.

mod error;

pub(crate) use error::ApiError;

use control::ControlError;
use model::Namespace;
use model::access::Caller;

/// Reads are answered straight from the fleet, so they are checked here.
pub(crate) fn may_touch(caller: &Caller, namespace: &Namespace) -> Result<(), ControlError> {
    match caller.may_touch(namespace) {
        true => Ok(()),
        false => Err(ControlError::Forbidden(format!(
            "app {:?} may not touch namespace {:?}",
            caller.app,
            namespace.as_str()
        ))),
    }
}
