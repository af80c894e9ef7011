//! Declares response types.

/// Declares structs that the server writes and a client reads. A client fills in the default for a field that is missing, so
/// that it reads the response of an older server.
///
/// `#[serde(default)]` on the structs themselves would do the same, but utoipa takes it for "may be missing" in the OpenAPI
/// document, where every field of a response is always there.
macro_rules! responses {
    ($($(#[$attribute:meta])* pub struct $name:ident $(<$life:lifetime>)? {
        $($(#[$field_attribute:meta])* pub $field:ident: $type:ty,)*
    })*) => {$(
        #[derive(Debug, Default, serde::Serialize, utoipa::ToSchema)]
        $(#[$attribute])*
        pub struct $name $(<$life>)? {
            $($(#[$field_attribute])* pub $field: $type,)*
        }

        impl<'de $(, $life)?> serde::Deserialize<'de> for $name $(<$life>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Default, serde::Deserialize)]
                #[serde(default)]
                struct Fields $(<$life>)? {
                    $($field: $type,)*
                }

                let Fields { $($field,)* } = Fields::deserialize(deserializer)?;
                Ok(Self { $($field,)* })
            }
        }
    )*};
}
