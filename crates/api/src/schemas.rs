//! Schemas that are written by hand in `schemas.json`: of the GSE and GSEKit dialects, and of native types whose fields
//! callers may write in several forms.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// JSON Schemas by their names.
pub static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("schemas.json"))
        .expect("schemas.json is an object: a test reads it")
});

fn schema(name: &str) -> RefOr<Schema> {
    let value = SCHEMAS.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).expect("schemas.json holds schemas: a test reads them")
}

/// A type that stands for a schema of `schemas.json` in `#[schema(value_type = …)]`.
macro_rules! described {
    ($(#[$doc:meta])* $type:ident, $name:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $type;

        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                schema($name)
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    };
}

described!(
    /// How to run a process.
    SpecSchema, "Spec"
);
described!(
    /// A host as the native API takes it.
    HostSchema, "HostRef"
);
described!(
    /// A process group.
    GroupSchema, "ProcessGroup"
);
described!(
    /// A business as people write it down.
    BusinessSchema, "BusinessDocument"
);
described!(
    /// What changes, or would change, of a business.
    DifferenceSchema, "Difference"
);
described!(
    /// An expression, joined or in parts.
    ExpressionSchema, "Expression"
);
described!(
    /// How a job goes about its tasks.
    JobOptionsSchema, "JobOptions"
);
described!(
    /// How a job is to go about its tasks.
    JobOptionsBodySchema, "JobOptionsBody"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_in_the_document_as_it_is_written() {
        for (name, written) in SCHEMAS.iter() {
            let kept = serde_json::to_value(schema(name)).unwrap();
            assert_eq!(&kept, written, "{name}");
        }
    }
}
