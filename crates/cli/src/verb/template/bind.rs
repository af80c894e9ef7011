//! What a template makes files for.

use super::super::Context;
use super::Which;
use crate::client::{Bindings, Client, ViewFilter, ViewRow};
use crate::failure::{Failure, Kind};
use crate::selection::SelectionArgs;
use crate::show::{clean, counted};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Every process that was made from these process templates, by ids, separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    process_template: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Bind,
    Unbind,
}

pub(super) fn run(context: &Context, args: &Args, way: Way) -> Result<(), Failure> {
    let client = context.client()?;
    let biz = args.which.biz();
    let wanted = Bindings {
        processes: selected(&client, biz, &args.selection)?,
        process_templates: args.process_template.clone(),
    };
    if wanted == Bindings::default() {
        return Err(Failure::usage("nothing is named").advise(
            "name processes (--expr, --set, --module, --process, --id) or --process-template",
        ));
    }
    let template = args.which.find(&client)?;
    let bindings = changed(&template.bindings, &wanted, way);
    let answer = client.bind_template(biz, template.id, &bindings)?;
    let name = clean(&template.template_name);
    let text = format!(
        "{name} is bound to {} and {}",
        counted(bindings.processes.len() as u64, "process"),
        counted(bindings.process_templates.len() as u64, "process template")
    );
    context.out.did(&answer, text)
}

/// The processes that are named; none when nothing is said of them.
fn selected(client: &Client, biz: u32, selection: &SelectionArgs) -> Result<Vec<u32>, Failure> {
    let Some(expression) = selection.expression()? else {
        return Ok(Vec::new());
    };
    let filter = ViewFilter {
        business: biz,
        env: selection.env(),
        expr: Some(expression.to_string()),
        ..ViewFilter::default()
    };
    let rows = client.view::<ViewRow>(&filter, 0, None)?.rows;
    match rows.is_empty() {
        true => Err(
            Failure::new(Kind::NotFound, format!("{expression} selects no process")).advise(
                format!("muster expression explain '{expression}' --biz {biz} says why"),
            ),
        ),
        false => Ok(rows.iter().map(|row| row.id).collect()),
    }
}

fn changed(before: &Bindings, wanted: &Bindings, way: Way) -> Bindings {
    let ids = |before: &[u32], wanted: &[u32]| -> Vec<u32> {
        let kept = before.iter().filter(|id| !wanted.contains(id)).copied();
        let mut ids: Vec<u32> = match way {
            Way::Bind => kept.chain(wanted.iter().copied()).collect(),
            Way::Unbind => kept.collect(),
        };
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    Bindings {
        processes: ids(&before.processes, &wanted.processes),
        process_templates: ids(&before.process_templates, &wanted.process_templates),
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
        let wanted = bindings(&[3, 2], &[]);
        let bound = changed(&before, &wanted, Way::Bind);
        assert_eq!(bound, bindings(&[1, 2, 3], &[9]));
        let unbound = changed(&before, &wanted, Way::Unbind);
        assert_eq!(unbound, bindings(&[1], &[9]));
    }
}
