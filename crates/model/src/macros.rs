//! Macros for code that several types of this crate repeat.

/// Returns an [`Invalid`](crate::Invalid) for the field unless the condition holds. Formats the rule only then.
macro_rules! ensure {
    ($holds:expr, $field:expr, $($rule:tt)+) => {
        if !$holds {
            return Err(crate::Invalid::new($field, format_args!($($rule)+).to_string()));
        }
    };
}

/// Lists the variants of an enum with their names in API and store.
macro_rules! variant_names {
    ($type:ident, $name:ident, { $($variant:ident = $text:literal,)+ }) => {
        impl $type {
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            pub fn $name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

/// Implements the conversions of `#[serde(try_from = "String", into = "String")]`.
macro_rules! string_conversions {
    ($type:ident, $parse:expr, $into:expr) => {
        impl TryFrom<String> for $type {
            type Error = crate::Invalid;

            fn try_from(text: String) -> Result<Self, crate::Invalid> {
                $parse(&text)
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                $into(value)
            }
        }
    };
}

/// Declares an id that serializes as its number.
macro_rules! number_id {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $type(pub u32);

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}
