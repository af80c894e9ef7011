//! Binds templates to the processes that they make files for.

use api::{Bindings, ViewProcess};
use serde_json::Value;

use super::super::Context;
use super::TemplateArg;
use crate::client::Client;
use crate::failure::{Failure, Kind};
use crate::format::counted;
use crate::selection::{SelectionArgs, pasteable};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    template: TemplateArg,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Every process that was made from these process templates, by ids, separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    process_template: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BindMode {
    Bind,
    Unbind,
}

pub(super) fn run(context: &Context, args: &Args, mode: BindMode) -> Result<(), Failure> {
    let client = context.client()?;
    let template = args.template.find(&client)?;
    let named = Bindings {
        processes: selected(&client, template.biz, &args.selection)?,
        process_templates: args.process_template.clone(),
    };
    if named == Bindings::default() {
        return Err(Failure::usage("nothing is named").advise(
            "name processes (--expr, --set, --module, --process, --id) or --process-template",
        ));
    }
    let bindings = changed(&template.shown.bindings, &named, mode);
    let path = template.path().join("bindings");
    let response: Value = client.put(&path, &bindings)?;
    let name = template.name();
    let text = format!(
        "{name} is bound to {} and {}",
        counted(bindings.processes.len(), "process"),
        counted(bindings.process_templates.len(), "process template")
    );
    context.out.result(&response, text)
}

/// The selected processes; none without a selection.
fn selected(client: &Client, biz: u32, selection: &SelectionArgs) -> Result<Vec<u32>, Failure> {
    let Some(expression) = selection.expression()? else {
        return Ok(Vec::new());
    };
    let path = selection.path(biz)?;
    let rows = client.pages::<ViewProcess>(&path, "processes", None)?.rows;
    match rows.is_empty() {
        true => Err(
            Failure::new(Kind::NotFound, format!("{expression} selects no process")).advise(
                format!(
                    "muster expression explain {} --biz {biz} says why",
                    pasteable(&expression.to_string())
                ),
            ),
        ),
        false => Ok(rows.iter().map(|row| row.id).collect()),
    }
}

fn changed(before: &Bindings, named: &Bindings, mode: BindMode) -> Bindings {
    let ids = |before: &[u32], named: &[u32]| -> Vec<u32> {
        let kept = before.iter().filter(|id| !named.contains(id)).copied();
        let mut ids: Vec<u32> = match mode {
            BindMode::Bind => kept.chain(named.iter().copied()).collect(),
            BindMode::Unbind => kept.collect(),
        };
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    Bindings {
        processes: ids(&before.processes, &named.processes),
        process_templates: ids(&before.process_templates, &named.process_templates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_adds_and_unbinding_takes_away() {
        let bindings = |processes: &[u32], templates: &[u32]| Bindings {
            processes: processes.to_vec(),
            process_templates: templates.to_vec(),
        };
        let before = bindings(&[1, 2], &[9]);
        let named = bindings(&[3, 2], &[]);
        let bound = changed(&before, &named, BindMode::Bind);
        assert_eq!(bound, bindings(&[1, 2, 3], &[9]));
        let unbound = changed(&before, &named, BindMode::Unbind);
        assert_eq!(unbound, bindings(&[1], &[9]));
    }
}
