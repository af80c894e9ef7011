//! Unregisters a process, which keeps running.

use model::FullName;
use model::access::{Audit, Caller, Permission};

use super::Registry;
use crate::answers::{answer_each, success, trail};
use crate::draft::Draft;
use crate::{ControlError, HostAnswer, TargetHost};

impl Registry {
    /// One answer per key. Idempotent.
    pub async fn unregister(
        &self,
        caller: &Caller,
        name: &FullName,
        hosts: Vec<TargetHost>,
    ) -> Result<Vec<HostAnswer>, ControlError> {
        self.access
            .check(caller, Permission::Operate, &name.namespace)?;
        let (caller, name, at) = (caller.clone(), name.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let mut draft = Draft::new(world, at);
            let answers = draft.unregister(&name, &hosts);
            let detail = trail(&answers);
            draft.audit(Audit::new(
                &caller,
                at,
                "unregister",
                name.to_string(),
                detail,
            ));
            Ok((draft.finish(), answers))
        })
        .await
    }
}

impl Draft<'_> {
    fn unregister(&mut self, name: &FullName, hosts: &[TargetHost]) -> Vec<HostAnswer> {
        let name = self.fleet.name_id(name);
        answer_each(self.fleet, hosts, |host| {
            let host = self.fleet.host_id(&host);
            let row = host
                .zip(name)
                .and_then(|(host, name)| self.fleet.process(host, name));
            if let Some(row) = &row {
                self.forget(row.id());
            }
            success(row.is_some())
        })
    }
}
