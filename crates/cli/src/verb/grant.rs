//! Roles, as `muster app` and `muster user` grant and revoke them.

use api::{GrantBody, GrantList, GrantRow};
use serde_json::Value;

use super::Context;
use super::resource::Resource;
use crate::business::BusinessRef;
use crate::failure::Failure;
use crate::processes::parse_selector;

/// Which role, and where.
#[derive(Debug, clap::Args)]
pub struct GrantArgs {
    /// viewer: see; operator: also change, and read logs; admin: also manage apps, users and hosts
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "operator", "admin"])]
    pub role: String,
    #[command(flatten)]
    pub scope: GrantScope,
}

/// Which roles to revoke; all if none is named.
#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// Only this role [default: every role]
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "operator", "admin"])]
    pub role: Option<String>,
    #[command(flatten)]
    pub scope: GrantScope,
}

#[derive(Debug, Default, clap::Args)]
pub struct GrantScope {
    /// In these namespaces, separated by commas [default: everywhere]
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',')]
    pub namespace: Vec<String>,
    /// In these businesses, by ids or names, separated by commas [default: everywhere]
    #[arg(
        short,
        long,
        visible_alias = "biz",
        value_name = "BIZ",
        value_delimiter = ','
    )]
    pub business: Vec<BusinessRef>,
    /// Only processes with these labels: tier=front,env in (a,b) [default: all]
    #[arg(short = 'l', long, visible_alias = "selector", value_name = "LABELS", value_parser = parse_selector)]
    pub label: Option<String>,
}

impl GrantScope {
    pub fn is_everything(&self) -> bool {
        self.namespace.is_empty() && self.business.is_empty() && self.label.is_none()
    }

    pub fn body(&self, context: &Context, role: Option<&str>) -> Result<GrantBody, Failure> {
        let businesses = self.business.iter().map(|one| match one {
            BusinessRef::Id(id) => Ok(i64::from(*id)),
            BusinessRef::Name(_) => one.id(&context.client()?).map(i64::from),
        });
        Ok(GrantBody {
            role: role.map(str::to_owned),
            namespaces: Some(self.namespace.clone()),
            businesses: Some(businesses.collect::<Result<_, _>>()?),
            label: self.label.clone(),
        })
    }
}

pub fn give(
    context: &Context,
    resource: Resource,
    name: &str,
    args: &GrantArgs,
) -> Result<(), Failure> {
    let path = resource.path().join(name).join("grants");
    let body = args.scope.body(context, Some(&args.role))?;
    show(context, name, context.client()?.post(&path, &body)?)
}

pub fn revoke(
    context: &Context,
    resource: Resource,
    name: &str,
    args: &RevokeArgs,
) -> Result<(), Failure> {
    let path = resource.path().join(name).join("grants");
    let body = args.scope.body(context, args.role.as_deref())?;
    show(context, name, context.client()?.delete_with(&path, &body)?)
}

fn show(context: &Context, name: &str, response: Value) -> Result<(), Failure> {
    context.out.response(response, |list: GrantList| {
        let now = match list.grants.is_empty() {
            true => "has no role now".to_owned(),
            false => format!("is now {}", in_words(&list.grants)),
        };
        context.out.success(format!("{name} {now}"))
    })
}

/// `viewer of everything; operator of gse, business 2`
pub fn in_words(grants: &[GrantRow]) -> String {
    if grants.is_empty() {
        return "nothing".to_owned();
    }
    let each: Vec<String> = grants.iter().map(words_of).collect();
    each.join("; ")
}

fn words_of(grant: &GrantRow) -> String {
    let businesses = grant.businesses.iter().map(|id| format!("business {id}"));
    let mut places: Vec<String> = grant.namespaces.iter().cloned().chain(businesses).collect();
    if grant.everything || places.is_empty() && grant.label.is_some() {
        places = vec!["everything".to_owned()];
    }
    let labels = grant.label.as_ref();
    let labels = labels.map(|labels| format!(" with the labels {labels}"));
    let labels = labels.unwrap_or_default();
    format!("{} of {}{labels}", grant.role, places.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_shown_in_words() {
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
