//! `muster template`: config templates, their versions, bindings and files.

mod bind;
mod drift;
mod edit;
mod files;
mod versions;

use api::{TemplateList, TemplateShown};

use super::{Context, no_business};
use crate::business::BusinessRef;
use crate::client::{Client, Path, business_path};
use crate::failure::{Exit, Failure, Kind};
use crate::format::clean;
use crate::input::read_text;

pub(crate) use edit::{first_version, id_of, split_path};

pub const EXAMPLES: &str = "\
Examples:
  muster template create login.conf --biz 2 --path /opt/login/etc/login.conf --text login.mako
  muster template list --biz 2
  muster template edit login.conf --biz 2 --mode 0600 --owner game
  muster template draft login.conf login.mako --biz 2
  muster template preview login.conf --biz 2 --module login
  muster template activate login.conf --biz game      the draft is generated from now on
  muster template versions login.conf --biz 2
  muster template clone login.conf 3 --biz 2          version 3 becomes the draft
  muster template bind login.conf --biz 2 --process login
  muster template unbind login.conf --biz 2 --process login
  muster template files --biz 2 --module login        what was generated and released
  muster template drift login.conf --biz 2            what differs on its host from what was released
  muster template delete login.conf --biz 2

A template is named by its name or its id, and so is a business. muster job generate, release and
diff make its files. activate renders the version for every instance that it is bound to, and
refuses it where that fails. delete asks first; without a terminal it needs --yes.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the templates of a business
    #[command(after_help = EXAMPLES)]
    List(BusinessArg),
    /// Make a template
    #[command(after_help = EXAMPLES)]
    Create(edit::CreateArgs),
    /// Change the name of a template, or where and how its file is written
    #[command(alias = "update", after_help = EXAMPLES)]
    Edit(edit::EditArgs),
    /// Delete a template with its versions; files that it made stay on their hosts
    #[command(after_help = EXAMPLES)]
    Delete(edit::DeleteArgs),
    /// List the versions of a template, or print the text of one
    #[command(after_help = EXAMPLES)]
    Versions(versions::ListArgs),
    /// Write the draft of a template
    #[command(after_help = EXAMPLES)]
    Draft(versions::DraftArgs),
    /// Make a version the one that files are generated from
    #[command(after_help = EXAMPLES)]
    Activate(versions::ActivateArgs),
    /// Copy a version into the draft
    #[command(after_help = EXAMPLES)]
    Clone(versions::CloneArgs),
    /// Generate this file for these processes, too
    #[command(after_help = EXAMPLES)]
    Bind(bind::Args),
    /// Generate this file for these processes no more
    #[command(after_help = EXAMPLES)]
    Unbind(bind::Args),
    /// Show the file that a template would make for a process; nothing is stored
    #[command(after_help = EXAMPLES)]
    Preview(files::PreviewArgs),
    /// Show what was generated and released for processes
    #[command(after_help = EXAMPLES)]
    Files(files::FilesArgs),
    /// Show the files of a template that differ on their hosts from what was released
    #[command(after_help = EXAMPLES)]
    Drift(drift::DriftArgs),
}

#[derive(Debug, clap::Args)]
pub struct BusinessArg {
    /// The business, by its id or name
    #[arg(short, long, visible_alias = "business", value_name = "BIZ")]
    biz: BusinessRef,
}

/// A template of a business.
#[derive(Debug, clap::Args)]
pub struct TemplateArg {
    /// Its name or its id
    #[arg(value_name = "TEMPLATE")]
    template: String,
    #[command(flatten)]
    business: BusinessArg,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List(business) => edit::list(context, &business.biz)?,
        Action::Create(args) => edit::create(context, args)?,
        Action::Edit(args) => edit::edit(context, args)?,
        Action::Delete(args) => edit::delete(context, args)?,
        Action::Versions(args) => versions::list(context, args)?,
        Action::Draft(args) => versions::draft(context, args)?,
        Action::Activate(args) => versions::activate(context, args)?,
        Action::Clone(args) => versions::clone(context, args)?,
        Action::Bind(args) => bind::run(context, args, bind::BindMode::Bind)?,
        Action::Unbind(args) => bind::run(context, args, bind::BindMode::Unbind)?,
        Action::Preview(args) => files::preview(context, args)?,
        Action::Files(args) => files::files(context, args)?,
        Action::Drift(args) => drift::drift(context, args)?,
    }
    Ok(Exit::Ok)
}

/// A template that was found.
#[derive(Debug)]
struct FoundTemplate {
    biz: u32,
    shown: TemplateShown,
}

impl FoundTemplate {
    fn path(&self) -> Path {
        template_path(self.biz, self.shown.id)
    }

    fn name(&self) -> String {
        clean(&self.shown.template_name)
    }
}

impl TemplateArg {
    /// By its name; where no template has that name, by its id.
    fn find(&self, client: &Client) -> Result<FoundTemplate, Failure> {
        let biz = self.business.biz.id(client)?;
        let all = templates(client, biz)?;
        let id = self.template.parse::<u32>().ok();
        let named = all.iter().find(|row| row.template_name == self.template);
        let template = named.or_else(|| all.iter().find(|row| Some(row.id) == id));
        let shown = template.cloned().ok_or_else(|| {
            let what = format!("business {biz} has no template {:?}", self.template);
            let advice = format!("muster template list --biz {biz} shows what there is");
            Failure::new(Kind::NotFound, what).advise(advice)
        })?;
        Ok(FoundTemplate { biz, shown })
    }
}

pub(crate) fn templates_path(biz: u32) -> Path {
    business_path(biz).join("templates")
}

pub(crate) fn template_path(biz: u32, id: u32) -> Path {
    templates_path(biz).join(id)
}

pub(crate) fn templates(client: &Client, biz: u32) -> Result<Vec<TemplateShown>, Failure> {
    let list: TemplateList = client.get(&templates_path(biz)).map_err(no_business)?;
    Ok(list.templates)
}

/// The text of a file; `-` is standard input.
fn read_content(file: &str) -> Result<String, Failure> {
    // One byte more than the server takes, so that it refuses a text that is too long.
    let limit = model::config_template::MAX_CONTENT as u64 + 1;
    read_text(file, limit).map_err(|e| Failure::usage(format!("{file}: cannot be read: {e}")))
}
