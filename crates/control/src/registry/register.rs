//! Registers a spec for many hosts. Durable before the answer.

use std::collections::HashMap;

use model::access::{Audit, Caller, Permission};
use model::{FullName, Host, Labels, Spec};

use super::Registry;
use super::after::refuse_cycles;
use crate::answers::trail;
use crate::draft::{Content, Draft};
use crate::{ControlError, HostAnswer, TargetHost};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Idempotent; another spec is refused with 850.
    Register,
    /// Creates or replaces.
    Update,
}

#[derive(Debug, Clone)]
pub struct Registration {
    pub name: FullName,
    pub labels: Labels,
    pub spec: Spec,
    pub hosts: Vec<TargetHost>,
    /// `bk_supplier_id` of the hosts that have one.
    pub suppliers: HashMap<Host, i64>,
    pub mode: Mode,
}

impl Registry {
    /// One answer per key, in the order of the request.
    pub async fn register(
        &self,
        caller: &Caller,
        request: Registration,
    ) -> Result<Vec<HostAnswer>, ControlError> {
        self.access
            .check(caller, Permission::Operate, &request.name.namespace)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let content = Content::new(request.spec, request.labels);
        let core = &self.core;
        core.commit(move |world| {
            let mut draft = Draft::new(world, at);
            let answers = draft.register(&request.name, &content, &request.hosts, request.mode);
            draft.note_suppliers(&request.suppliers, &answers);
            let action = match request.mode {
                Mode::Register => "register",
                Mode::Update => "update",
            };
            let detail = trail(&answers);
            draft.audit(Audit::new(
                &caller,
                at,
                action,
                request.name.to_string(),
                detail,
            ));
            let changes = draft.finish();
            refuse_cycles(world.fleet, &changes)?;
            Ok((changes, answers))
        })
        .await
    }
}
