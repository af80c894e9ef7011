//! Roles, as `muster app` and `muster user` give them and take them back.

use serde::Serialize;
use serde_json::Value;

use super::Context;
use crate::client::GrantRow;
use crate::failure::Failure;

/// Which role, and where.
#[derive(Debug, clap::Args)]
pub struct GrantArgs {
    /// viewer sees, operator also changes and reads logs, admin also decides who may
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "operator", "admin"])]
    pub role: String,
    #[command(flatten)]
    pub places: Places,
}

/// Which roles to take back; all if none is named.
#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// Only this role [default: every role]
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "operator", "admin"])]
    pub role: Option<String>,
    #[command(flatten)]
    pub places: Places,
}

#[derive(Debug, Default, clap::Args)]
pub struct Places {
    /// In these namespaces, separated by commas [default: everywhere]
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',')]
    pub namespace: Vec<String>,
    /// In these businesses, separated by commas [default: everywhere]
    #[arg(short, long, value_name = "ID", value_delimiter = ',')]
    pub business: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub struct GrantBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    namespaces: &'a [String],
    businesses: &'a [u32],
}

impl<'a> GrantBody<'a> {
    pub fn new(role: Option<&'a str>, places: &'a Places) -> Self {
        Self {
            role,
            namespaces: &places.namespace,
            businesses: &places.business,
        }
    }
}

/// `what` is `apps` or `users`.
pub fn give(context: &Context, what: &str, name: &str, args: &GrantArgs) -> Result<(), Failure> {
    let body = GrantBody::new(Some(&args.role), &args.places);
    let answer = context.client()?.grant(what, name, &body)?;
    told(context, name, &answer)
}

pub fn take(context: &Context, what: &str, name: &str, args: &RevokeArgs) -> Result<(), Failure> {
    let body = GrantBody::new(args.role.as_deref(), &args.places);
    let answer = context.client()?.revoke_grants(what, name, &body)?;
    told(context, name, &answer)
}

fn told(context: &Context, name: &str, answer: &Value) -> Result<(), Failure> {
    let grants = super::rows::<GrantRow>(answer, "grants")?;
    let has = in_words(&grants);
    context.out.did(answer, format!("{name} is now {has}"))
}

/// `viewer of everything; operator of gse, business 2`
pub fn in_words(grants: &[GrantRow]) -> String {
    if grants.is_empty() {
        return "nothing".to_owned();
    }
    let each: Vec<String> = grants.iter().map(of).collect();
    each.join("; ")
}

fn of(grant: &GrantRow) -> String {
    if grant.everything {
        return format!("{} of everything", grant.role);
    }
    let businesses = grant.businesses.iter().map(|id| format!("business {id}"));
    let places: Vec<String> = grant.namespaces.iter().cloned().chain(businesses).collect();
    format!("{} of {}", grant.role, places.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_told_in_words() {
        let everything = GrantRow {
            role: "viewer".into(),
            everything: true,
            ..Default::default()
        };
        let some = GrantRow {
            role: "operator".into(),
            namespaces: vec!["gse".into()],
            businesses: vec![2],
            ..Default::default()
        };
        assert_eq!(
            in_words(&[everything, some]),
            "viewer of everything; operator of gse, business 2"
        );
        assert_eq!(in_words(&[]), "nothing");
    }
}
