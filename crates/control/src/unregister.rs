//! Unregistering: forgets a process and leaves it running.

use model::FullName;
use model::access::{Audit, Caller, Permission};

use crate::ask::{answer_each, success, trail};
use crate::register::Draft;
use crate::{Answer, Asked, Control, ControlError};

impl Control {
    /// One answer per host; what was not registered is answered as if it had been.
    pub async fn unregister(
        &self,
        caller: &Caller,
        name: &FullName,
        hosts: Vec<Asked>,
    ) -> Result<Vec<Answer>, ControlError> {
        self.check(caller, Permission::Operate, &name.namespace)?;
        let (caller, name, at) = (caller.clone(), name.clone(), self.now());
        self.commit(move |world| {
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
    fn unregister(&mut self, name: &FullName, hosts: &[Asked]) -> Vec<Answer> {
        let name = self.fleet.name_id(name);
        answer_each(self.fleet, hosts, |host| {
            let host = self.fleet.host_id(&host);
            if let Some(row) = host
                .zip(name)
                .and_then(|(host, name)| self.fleet.process(host, name))
            {
                self.forget(row.id());
            }
            success()
        })
    }
}
