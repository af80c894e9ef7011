//! `muster topology`: imports, exports and shows businesses with their sets, modules and processes.

mod difference;
mod file;
mod tree;

use api::Difference;
use model::topology::document::BusinessDocument;
use serde_json::{Value, json};

use super::{Context, no_business};
use crate::business::BusinessRef;
use crate::client::{Client, Path, business_path, read};
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::counted;

pub const EXAMPLES: &str = "\
Examples:
  muster topology diff game.yaml                 what an import would change
  muster topology import game.yaml --dry-run     the same, without the exit code
  muster topology import game.yaml --yes         without asking, even if it removes processes
  muster topology export game > game.yaml        as a file that import takes
  muster topology export 2 -o json               a business is named by its id or its name
  muster topology show                           the businesses
  muster topology show 2                         its sets and modules, and what runs in them
  muster topology refresh 2                      read it from the CMDB again
  muster topology remove 2

In what changes, + is new, ~ changed, - gone, and ! gone but still running: it is shown until it
is stopped. A row that is wrong is named and left out, and the others count; the command ends
with 1 then. diff ends with 0 when nothing would change, and with 1 when something would.
An import that takes processes out, and remove, ask first; without a terminal they need --yes.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Make businesses match a file
    #[command(after_help = EXAMPLES)]
    Import(ImportArgs),
    /// Show what an import of a file would change
    #[command(after_help = EXAMPLES)]
    Diff {
        /// As import takes it; - reads standard input
        #[arg(value_name = "FILE")]
        file: String,
    },
    /// Write a business as a file that import takes
    #[command(after_help = EXAMPLES)]
    Export {
        #[command(flatten)]
        business: BusinessArg,
        /// YAML, also where -o json is set
        #[arg(long)]
        yaml: bool,
    },
    /// List the businesses, or show one as a tree
    #[command(after_help = EXAMPLES)]
    Show {
        /// Its id or name [default: all, in short]
        #[arg(value_name = "BIZ")]
        business: Option<BusinessRef>,
    },
    /// Read a business from its CMDB again
    #[command(after_help = EXAMPLES)]
    Refresh(BusinessArg),
    /// Remove a business from the view; its processes keep running
    #[command(after_help = EXAMPLES)]
    Remove {
        #[command(flatten)]
        business: BusinessArg,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

#[derive(Debug, clap::Args)]
pub struct BusinessArg {
    /// The business, by its id or name
    #[arg(value_name = "BIZ")]
    business: BusinessRef,
}

#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// YAML or JSON with one business, or several under `businesses`; - reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::Import(args) => import(context, args),
        Action::Diff { file } => diff(context, file),
        Action::Export { business, yaml } => export(context, &business.business, *yaml),
        Action::Show { business: None } => tree::businesses(context),
        Action::Show {
            business: Some(business),
        } => tree::business(context, business),
        Action::Refresh(BusinessArg { business }) => {
            let client = context.client()?;
            let id = business.id(&client)?;
            let path = business_path(id).join("refresh");
            let response = client.post(&path, &()).map_err(no_business)?;
            show(context, &[Changed::new(id, "", response)?], Import::Really)
        }
        Action::Remove { business, confirm } => remove(context, &business.business, *confirm),
    }
}

/// Whether an import is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Import {
    Really,
    DryRun,
}

/// What changes in a business.
struct Changed {
    id: u32,
    name: String,
    /// As the server wrote it.
    response: Value,
    difference: Difference,
}

impl Changed {
    fn new(id: u32, name: &str, response: Value) -> Result<Self, Failure> {
        Ok(Self {
            id,
            name: name.to_owned(),
            difference: read(response.clone())?,
            response,
        })
    }
}

fn import(context: &Context, args: &ImportArgs) -> Result<Exit, Failure> {
    let documents = file::read(&args.file)?;
    let client = context.client()?;
    if args.dry_run {
        let changed = put(&client, &documents, Import::DryRun)?;
        return show(context, &changed, Import::DryRun);
    }
    let mut is_shown = false;
    if !args.confirm.is_given() {
        let planned = put(&client, &documents, Import::DryRun)?;
        let gone = planned.iter().map(|one| &one.difference);
        let gone: u32 = gone.map(|one| one.processes.gone + one.vanished).sum();
        if gone > 0 {
            if !context.out.is_document() {
                show(context, &planned, Import::DryRun)?;
                is_shown = true;
            }
            let gone = counted(gone, "process");
            args.confirm.ask(&format!("take {gone} out of the view"))?;
        }
    }
    let changed = put(&client, &documents, Import::Really)?;
    if !is_shown {
        return show(context, &changed, Import::Really);
    }
    context.out.success("done")?;
    Ok(exit_of(&changed))
}

fn diff(context: &Context, file: &str) -> Result<Exit, Failure> {
    let documents = file::read(file)?;
    let changed = put(&context.client()?, &documents, Import::DryRun)?;
    let is_any = changed
        .iter()
        .any(|one| difference::is_any(&one.difference));
    match show(context, &changed, Import::DryRun)? {
        Exit::Ok => Ok(Exit::some_failed(is_any)),
        other => Ok(other),
    }
}

fn put(
    client: &Client,
    documents: &[BusinessDocument],
    import: Import,
) -> Result<Vec<Changed>, Failure> {
    let dry_run = (import == Import::DryRun).then_some(true);
    let one = |document: &BusinessDocument| {
        let path = topology_path(document.bk_biz_id).maybe("dry_run", dry_run);
        let response = client.put(&path, document)?;
        Changed::new(document.bk_biz_id, &document.bk_biz_name, response)
    };
    documents.iter().map(one).collect()
}

fn show(context: &Context, changed: &[Changed], import: Import) -> Result<Exit, Failure> {
    let out = &context.out;
    if out.is_document() {
        let businesses: Vec<Value> = changed
            .iter()
            .map(|one| json!({"id": one.id, "difference": one.response}))
            .collect();
        out.document(&json!({"dry_run": import == Import::DryRun, "businesses": businesses}))?;
        return Ok(exit_of(changed));
    }
    for one in changed {
        difference::show(out, one, import)?;
    }
    Ok(exit_of(changed))
}

fn exit_of(changed: &[Changed]) -> Exit {
    let is_partial = |one: &Changed| !one.difference.troubles.is_empty();
    Exit::some_failed(changed.iter().any(is_partial))
}

fn export(context: &Context, business: &BusinessRef, yaml: bool) -> Result<Exit, Failure> {
    let client = context.client()?;
    let path = topology_path(business.id(&client)?);
    let document = client.get(&path).map_err(no_business)?;
    let out = &context.out;
    match out.is_document() && !yaml {
        true => out.document(&document)?,
        false => out.text(&file::to_yaml(&document)?)?,
    }
    Ok(Exit::Ok)
}

fn remove(
    context: &Context,
    business: &BusinessRef,
    confirm: ConfirmArgs,
) -> Result<Exit, Failure> {
    let client = context.client()?;
    let business = business.id(&client)?;
    confirm.ask(&format!(
        "take business {business} out of the view, and delete its config templates"
    ))?;
    let path = topology_path(business);
    let response = client.delete(&path).map_err(no_business)?;
    let changed = Changed::new(business, "", response)?;
    show(context, &[changed], Import::Really)
}

fn topology_path(business: u32) -> Path {
    business_path(business).join("topology")
}
