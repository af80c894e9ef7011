//! `muster topology`: businesses with their sets, modules and processes, as a file tells them.

mod difference;
mod file;
mod tree;

use serde_json::{Value, json};

use super::{Context, no_business};
use crate::client::{Client, Difference, Import};
use crate::confirm::{can_ask, confirm};
use crate::failure::{Exit, Failure};
use crate::show::counted;
use model::topology::document::BusinessDocument;

pub const EXAMPLES: &str = "\
Examples:
  muster topology import game.yaml --dry-run     what would change
  muster topology import game.yaml --yes         without asking, whatever goes
  muster topology export 2 > game.yaml           as a file that import takes
  muster topology export 2 -o json
  muster topology show                           the businesses
  muster topology show 2                         its sets and modules, and what runs in them
  muster topology refresh 2                      read it from the CMDB again
  muster topology remove 2

In what changes, + is new, ~ changed, - gone, and ! gone but still running: it is shown until it
is stopped. A row that is wrong is named and left out, and the others count; the command ends
with 1 then.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Make businesses what a file says
    #[command(after_help = EXAMPLES)]
    Import(ImportArgs),
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
        /// Its id [default: all, in short]
        #[arg(value_name = "BIZ")]
        business: Option<u32>,
    },
    /// Read a business from its CMDB again
    #[command(after_help = EXAMPLES)]
    Refresh(BusinessArg),
    /// Take a business out of the view; what runs goes on running
    #[command(after_help = EXAMPLES)]
    Remove {
        #[command(flatten)]
        business: BusinessArg,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
pub struct BusinessArg {
    /// The business, by its id
    #[arg(value_name = "BIZ")]
    id: u32,
}

#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// YAML or JSON with one business, or several under `businesses`; - reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask where processes go
    #[arg(short, long)]
    yes: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::Import(args) => import(context, args),
        Action::Export { business, yaml } => export(context, business.id, *yaml),
        Action::Show { business: None } => tree::businesses(context),
        Action::Show {
            business: Some(business),
        } => tree::business(context, *business),
        Action::Refresh(BusinessArg { id }) => {
            let answer = context
                .client()?
                .refresh_topology(*id)
                .map_err(no_business)?;
            told(context, &[(*id, String::new(), answer)], Import::Really)
        }
        Action::Remove { business, yes } => remove(context, business.id, *yes),
    }
}

/// A business, its name, and what changes in it.
type Changed = (u32, String, Value);

fn import(context: &Context, args: &ImportArgs) -> Result<Exit, Failure> {
    let documents = file::read(&args.file)?;
    let client = context.client()?;
    if args.dry_run {
        let changed = put(&client, &documents, Import::DryRun)?;
        return told(context, &changed, Import::DryRun);
    }
    if args.yes || !can_ask() {
        let changed = put(&client, &documents, Import::Really)?;
        return told(context, &changed, Import::Really);
    }
    let planned = put(&client, &documents, Import::DryRun)?;
    let mut gone = 0;
    for (_, _, answer) in &planned {
        let difference = difference::read(answer)?;
        gone += difference.processes.gone + difference.vanished;
    }
    if gone == 0 {
        let changed = put(&client, &documents, Import::Really)?;
        return told(context, &changed, Import::Really);
    }
    if !context.out.is_json() {
        told(context, &planned, Import::DryRun)?;
    }
    confirm(&format!("{} would go. Go on?", counted(gone, "process")))?;
    let changed = put(&client, &documents, Import::Really)?;
    match context.out.is_json() {
        true => told(context, &changed, Import::Really),
        // What was shown before the question need not be shown again.
        false => {
            context.out.done("done")?;
            exit_of(&changed)
        }
    }
}

fn put(
    client: &Client,
    documents: &[BusinessDocument],
    import: Import,
) -> Result<Vec<Changed>, Failure> {
    let one = |document: &BusinessDocument| {
        let answer = client.import_topology(document, import)?;
        Ok((document.bk_biz_id, document.bk_biz_name.clone(), answer))
    };
    documents.iter().map(one).collect()
}

fn told(context: &Context, changed: &[Changed], import: Import) -> Result<Exit, Failure> {
    let out = &context.out;
    if out.is_json() {
        let businesses: Vec<Value> = changed
            .iter()
            .map(|(id, _, answer)| json!({"id": id, "difference": answer}))
            .collect();
        out.json(&json!({"dry_run": import == Import::DryRun, "businesses": businesses}))?;
        return exit_of(changed);
    }
    for (id, name, answer) in changed {
        difference::show(out, *id, name, &difference::read(answer)?, import)?;
    }
    exit_of(changed)
}

fn exit_of(changed: &[Changed]) -> Result<Exit, Failure> {
    for (_, _, answer) in changed {
        let Difference { troubles, .. } = difference::read(answer)?;
        if !troubles.is_empty() {
            return Ok(Exit::SomeFailed);
        }
    }
    Ok(Exit::Ok)
}

fn export(context: &Context, business: u32, yaml: bool) -> Result<Exit, Failure> {
    let document = context.client()?.topology(business).map_err(no_business)?;
    let out = &context.out;
    match out.is_json() && !yaml {
        true => out.json(&document)?,
        false => out.text(&file::to_yaml(&document)?)?,
    }
    Ok(Exit::Ok)
}

fn remove(context: &Context, business: u32, yes: bool) -> Result<Exit, Failure> {
    let client = context.client()?;
    if !yes {
        confirm(&format!(
            "Business {business} goes from the view, with its config templates. Go on?"
        ))?;
    }
    let answer = client.remove_topology(business).map_err(no_business)?;
    told(
        context,
        &[(business, String::new(), answer)],
        Import::Really,
    )
}
