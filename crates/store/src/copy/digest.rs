//! One digest for all rows of a table.

use ring::digest::{Context, SHA256};

use crate::sql::Value;

pub(super) struct Digest(Context);

impl Default for Digest {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Digest {
    /// Adds a row; answers its size in bytes.
    pub(super) fn add(&mut self, row: &[Value]) -> usize {
        row.iter()
            .map(|value| match value {
                Value::Int(number) => self.field(b'i', number.map(i64::to_le_bytes).as_ref()),
                Value::Text(text) => self.field(b't', text.as_ref()),
                Value::Shared(text) => {
                    self.field(b't', text.as_deref().map(str::as_bytes).as_ref())
                }
                Value::Bytes(bytes) => self.field(b'b', bytes.as_ref()),
            })
            .sum()
    }

    /// Adds kind and length before the value, so that different rows have different digests.
    fn field(&mut self, kind: u8, value: Option<&impl AsRef<[u8]>>) -> usize {
        let Some(value) = value.map(AsRef::as_ref) else {
            self.0.update(&[kind, 0]);
            return 1;
        };
        self.0.update(&[kind, 1]);
        self.0.update(&(value.len() as u64).to_le_bytes());
        self.0.update(value);
        value.len() + 1
    }

    pub(super) fn finish(self) -> String {
        let digest = self.0.finish();
        let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
        hex.collect()
    }
}
