//! What a grant by labels allows an operation: registered processes whose labels pass when the operation is planned.

use fleet::Fleet;
use model::Namespace;
use model::access::{Caller, Permission};

use super::Operations;
use super::operate::{Line, Operate, OperateSpec};
use crate::access::may_with;
use crate::answers::resolve;
use crate::{ControlError, TargetHost};

impl Operations {
    /// An operation with a spec changes a registration, and a query with one is about no registered process: a grant by labels
    /// covers neither.
    pub(super) fn check_registered(
        &self,
        caller: &Caller,
        request: &Operate,
    ) -> Result<(), ControlError> {
        match request.with {
            OperateSpec::Registered => Ok(()),
            OperateSpec::Spec(..) | OperateSpec::Probe(_) | OperateSpec::Unusable(_) => self
                .access
                .check(caller, Permission::Operate, &request.name.namespace),
        }
    }

    /// Why a caller may not operate in a namespace, where a plan found that it may not.
    pub(super) fn refusal(&self, caller: &Caller, denied: &Namespace) -> ControlError {
        let refused = self.access.check(caller, Permission::Operate, denied);
        refused.err().unwrap_or_else(|| {
            ControlError::Conflict(format!(
                "the role for namespace {denied} was granted in the meantime: try again"
            ))
        })
    }
}

impl Line {
    /// The namespace, where the caller may not operate on one of the targets. One that is not registered has no labels.
    pub(super) fn denied(&self, fleet: &Fleet, caller: &Caller) -> Option<Namespace> {
        let namespace = &self.name.namespace;
        if caller.may(Permission::Operate, namespace) {
            return None;
        }
        let may = |asked: &TargetHost| {
            let host = resolve(fleet, asked).ok();
            let row = host.and_then(|host| fleet.find_process(&host, &self.name));
            row.is_some_and(|row| may_with(caller, Permission::Operate, &row))
        };
        (!self.hosts.iter().all(may)).then(|| namespace.clone())
    }
}
