//! Unregistering: forgets a process and leaves it running.

use std::collections::HashSet;

use model::access::{Audit, Caller};
use model::{Code, FullName};

use crate::access::check_namespace;
use crate::ask::resolve;
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
        check_namespace(caller, &name.namespace)?;
        let (caller, name, at) = (caller.clone(), name.clone(), self.now());
        self.commit(move |world| {
            let mut draft = Draft::new(world, at);
            let answers = draft.unregister(&name, &hosts);
            let detail = format!(
                "{} of {} hosts",
                draft.changes.processes_gone.len(),
                answers.len()
            );
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
        let mut seen = HashSet::with_capacity(hosts.len());
        let mut answers = Vec::with_capacity(hosts.len());
        let name = self.fleet.name_id(name);
        for asked in hosts {
            let host = resolve(self.fleet, asked);
            let key = host.as_ref().copied().map_err(|_| asked.key_prefix.clone());
            if !seen.insert(key) {
                continue;
            }
            let host = match host {
                Ok(host) => host,
                Err(refusal) => {
                    answers.push(refusal);
                    continue;
                }
            };
            let registered = self
                .fleet
                .host_id(&host)
                .zip(name)
                .and_then(|(host, name)| self.fleet.process(host, name));
            if let Some(row) = registered {
                self.release(row.to_change().definition);
                self.changes.processes_gone.push(row.id());
            }
            let key_prefix = asked.key_prefix.clone();
            answers.push(Answer {
                key_prefix,
                host: Some(host),
                code: Code::OK,
                message: "success".to_owned(),
            });
        }
        answers
    }
}
