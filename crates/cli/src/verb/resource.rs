//! What `muster app`, `user`, `token` and `webhook` share: list, create, delete.

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::Context;
use crate::client::Path;
use crate::confirm::ConfirmArgs;
use crate::failure::Failure;
use crate::table::TextTable;

/// A collection of the API that is listed, added to and deleted from.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    /// `app`
    pub noun: &'static str,
    /// The field that names one: `code`
    pub key: &'static str,
}

pub const APPS: Resource = Resource {
    noun: "app",
    key: "code",
};
pub const USERS: Resource = Resource {
    noun: "user",
    key: "name",
};
pub const TOKENS: Resource = Resource {
    noun: "token",
    key: "id",
};
pub const WEBHOOKS: Resource = Resource {
    noun: "webhook",
    key: "id",
};

impl Resource {
    /// `/apps`
    pub fn path(self) -> Path {
        Path::new(&format!("{}s", self.noun))
    }

    /// Shows all; `hint` says what to do when there are none.
    pub fn list<T: DeserializeOwned>(
        self,
        context: &Context,
        hint: &str,
        table: impl FnOnce(T) -> TextTable,
    ) -> Result<(), Failure> {
        let response: Value = context.client()?.get(&self.path())?;
        context
            .out
            .response(response, |list| context.out.table_or(&table(list), hint))
    }

    /// Creates one, and shows by `show` what the server shows only once.
    pub fn create<T: DeserializeOwned>(
        self,
        context: &Context,
        body: &impl Serialize,
        show: impl FnOnce(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let response: Value = context.client()?.post(&self.path(), body)?;
        context.out.response(response, show)
    }

    pub fn delete(self, context: &Context, id: &str, confirm: ConfirmArgs) -> Result<(), Failure> {
        let Self { noun, key } = self;
        confirm.ask(&format!("delete {noun} {id}"))?;
        let path = self.path().join(id);
        context.client()?.delete::<IgnoredAny>(&path)?;
        let document = json!({key: id, "deleted": true});
        context
            .out
            .result(&document, format!("deleted {noun} {id}"))
    }
}
