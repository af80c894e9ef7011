//! Businesses on the command line: by id or by name.

use std::str::FromStr;

use api::BusinessList;

use crate::client::{Client, Path};
use crate::failure::{Failure, Kind};
use crate::format::clean;

/// A business as it is written: a number is its id, anything else its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusinessRef {
    Id(u32),
    Name(String),
}

impl FromStr for BusinessRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.trim(), text.trim().parse()) {
            ("", _) => Err("must be the id or the name of a business".to_owned()),
            (_, Ok(id)) => Ok(Self::Id(id)),
            (name, Err(_)) => Ok(Self::Name(name.to_owned())),
        }
    }
}

impl BusinessRef {
    /// The id; the server knows which business has the name.
    pub fn id(&self, client: &Client) -> Result<u32, Failure> {
        let name = match self {
            Self::Id(id) => return Ok(*id),
            Self::Name(name) => name,
        };
        let list: BusinessList = client.get(&Path::new("businesses"))?;
        let ids: Vec<u32> = list
            .businesses
            .iter()
            .filter(|row| row.name == *name)
            .map(|row| row.id)
            .collect();
        match ids.as_slice() {
            [id] => Ok(*id),
            [] => Err(Failure::new(
                Kind::NotFound,
                format!("no business is called {:?}", clean(name)),
            )
            .advise("muster topology show lists the businesses")),
            several => {
                let ids: Vec<String> = several.iter().map(u32::to_string).collect();
                Err(Failure::usage(format!(
                    "{} businesses are called {:?}: {}",
                    several.len(),
                    clean(name),
                    ids.join(", ")
                ))
                .advise("name it by its id"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_an_id_and_anything_else_a_name() {
        assert_eq!("2".parse(), Ok(BusinessRef::Id(2)));
        assert_eq!("shop".parse(), Ok(BusinessRef::Name("shop".into())));
        assert_eq!(" 业务 2".parse(), Ok(BusinessRef::Name("业务 2".into())));
        assert!("".parse::<BusinessRef>().is_err());
    }
}
